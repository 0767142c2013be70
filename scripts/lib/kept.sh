# A guest that stays, for this folder of the project. Needs guest.sh and the files that it needs. Source this file.
# shellcheck shell=bash
#
# The process 'keep' of kept.pl starts the guest, listens for commands, and ends the guest. It holds a lock in the cache folder,
# which tells whether there is a guest. Its files are in a folder that goes with it:
#   socket    where it listens
#   options   what the guest was made of, a line NAME VALUE for each option of 'run'
#   log       messages of its scripts
#   soft-roce.*  the guest's own folder

GIVEN=() # the options of this run that decide of what the guest is made, each as 'NAME VALUE'
IDLE=3600
SPARE=no # for kept.pl's part 'run'
KEPT_NAME=$(cksum <<< "$PROJECT")
KEPT_NAME=guest-${KEPT_NAME// /-}
KEPT=$CACHE/guests/$KEPT_NAME
KEPT_LOCK=$CACHE/locks/$KEPT_NAME
END_LIMIT=30 # seconds for the end of a guest
# What the guest runs for its commands, with kept.pl and a folder.
# shellcheck disable=SC2016,SC2034  # for the guest's shell, by scripts/soft-roce
SERVE='mkdir -p "$1/groups" && /run/verbena/bin/busybox mount -t cgroup2 none "$1/groups" &&
    exec perl "$0" serve "$1" /proc/sys/vm/drop_caches'

# True if a guest stays, or is about to: its keeper holds the lock.
guest_stays() { [[ -e $KEPT_LOCK ]] && ! flock -n "$KEPT_LOCK" true; }

# True if the guest that stays is what the options of this run ask for. What they don't say may be as it is.
kept_guest_fits() {
    local option
    for option in "${GIVEN[@]}"; do
        if ! grep -qxF -- "$option" "$KEPT/options" 2> /dev/null; then return 1; fi
    done
}

# run_in_kept INTERACTIVE COMMAND...: runs COMMAND in the guest that stays, in place of this script. If it has just ended, OTHERWISE
# runs.
run_in_kept() {
    look_at_streams "$1"
    shift
    if [[ $INPUT != piped ]]; then SPARE=no; fi
    DEVICE=$(kept_option device)
    ROOT_JDK=$(kept_option jdk-folder)
    exec perl "$LIB/kept.pl" run "$KEPT" "$SPARE" "$INPUT" "$MERGED" "$TIMEOUT" "${OTHERWISE[@]}" 3< <(guest_command "$@")
}

# Prints an option of the guest that stays; nothing if it has just ended.
kept_option() { sed -n "s/^$1 //p" "$KEPT/options" 2> /dev/null || true; }

# shellcheck disable=SC2153  # DEVICES is another variable than DEVICE
kept_options() {
    printf '%s\n' "${GIVEN[@]}" "kernel $KERNEL_VERSION" "device $DEVICE" "devices $DEVICES" "cpus $CPUS" "memory $MEMORY" \
        "arch $ARCH" "jdk-folder $ROOT_JDK" | sort -u
}

# up OPTION...: starts a guest that stays, and waits until it runs commands.
up() {
    # shellcheck disable=SC2034  # for choose_machine
    local initramfs kernel accel status=0
    if [[ -n ${VERBENA_GUEST:-} ]]; then
        say 'this is a guest'
        return 125
    fi
    if runs_here; then
        say 'commands run on this machine, which has a device or gets one: no guest is needed (--guest starts one)'
        return 0
    fi
    need_packages 'a guest that stays' perl-base util-linux || return 125
    mkdir -p "$CACHE"/{locks,guests}
    exec 7>> "$KEPT_LOCK"
    if ! flock -n 7; then
        exec 7>&-
        if await_kept; then return 0; fi
        if guest_stays; then return 125; fi
        exec "$LIB/../soft-roce" up "$@" # it was about to end
    fi
    rm -rf "$KEPT" # of a keeper that was killed with all its processes
    mkdir -m 700 "$KEPT"
    trap 'rm -rf "$KEPT"' EXIT
    prepare
    choose_machine || return 125
    kept_options > "$KEPT/options"
    trap 'end_keeper; exit 130' INT
    trap 'end_keeper; exit 143' TERM HUP
    say "starting a guest with kernel $KERNEL_VERSION, which stays until 'scripts/soft-roce down' or $IDLE s without a command"
    setsid perl "$LIB/kept.pl" keep "$KEPT" "$IDLE" "$LIB/../soft-roce" kept-guest "$@" --cpus "$CPUS" --timeout "$TIMEOUT" \
        < /dev/null > "$KEPT/log" 2>&1 &
    echo "$!" > "$KEPT/pid"
    exec 7>&-
    await_kept || status=$?
    if ((status)); then
        end_keeper
        return "$status"
    fi
    trap - EXIT
    start_agent
}

# Starts the process that runs the snippets of the next shell, if the tools are built.
start_agent() {
    local AGENT
    if [[ -z ${JAVA_HOME:-} ]] || ! up_to_date "$PROJECT/target/built-tools" || ! agent_of_shell; then return 0; fi
    if ! (TIMEOUT=0 SPARE=make OTHERWISE=(false) && run_in_kept no "${AGENT[@]}" < <(:) | cat); then
        say 'the first shell will start without an agent that waits for it'
    fi
}

# Waits until the guest that stays runs commands.
await_kept() {
    local log
    until [[ -S $KEPT/socket ]] || ! guest_stays; do sleep 0.05; done
    if guest_stays && ! kept_guest_fits; then
        say "a guest stays that has other options: end it with 'scripts/soft-roce down'"
        return 125
    fi
    # The log has the reason of a failure, and is gone with the guest.
    exec {log}< "$KEPT/log" || return
    if (TIMEOUT=0 OTHERWISE=(false) && run_in_kept no true < /dev/null) 2> /dev/null; then return 0; fi
    cat <&"$log" >&2
    return 125
}

# Ends the keeper, and with it the guest.
end_keeper() { kill "$@" "$(cat "$KEPT/pid" 2> /dev/null)" 2> /dev/null || true; }

# Ends the guest that stays.
down() {
    if ! guest_stays; then
        say 'no guest stays'
        return 0
    fi
    perl "$LIB/kept.pl" ask "$KEPT" down > /dev/null || true
    if ! flock -w "$END_LIMIT" "$KEPT_LOCK" rm -rf "$KEPT"; then
        end_keeper -KILL
        if ! flock -w "$END_LIMIT" "$KEPT_LOCK" rm -rf "$KEPT"; then
            say 'the guest does not end'
            return 125
        fi
    fi
}

# Prints the line of 'status' about the guest that stays.
kept_status() {
    local answer
    if ! guest_stays; then
        echo none
    elif answer=$(perl "$LIB/kept.pl" ask "$KEPT" status) && [[ -n $answer ]]; then
        printf 'kernel %s, %s0; %s\n' "$(kept_option kernel | tail -n 1)" "$(kept_option device)" "$answer"
    else
        echo 'it starts or ends'
    fi
}
