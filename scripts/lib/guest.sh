# Runs a command in a QEMU guest. Needs cache.sh, kernel.sh, roots.sh, initramfs.sh, accel.sh and saved.sh. Source this file.
# shellcheck shell=bash

GUEST_ADDRESS=10.9.9.1
GUEST_PID=
GUEST_FOLDER=
GUEST_AROUND= # a folder that goes with the guest's own
INPUT_PID=
WATCH_PID=
RELAYS=()
declare -A STREAMS=() # the guest's terminal and ports, each with its end on this machine, as an option of QEMU
GUEST_DEVICES=() # further options of QEMU
GUEST_SETTINGS= # further lines for guest-init
GUEST_ENVIRONMENT= # further lines before the command
COPY=(cat) # copies the guest's output from its input to its output
START_LIMIT=180 # seconds until the command must have started; usually a few

# Quotes $1 for any POSIX shell.
quote() { printf "'%s'" "${1//\'/\'\\\'\'}"; }

# Escapes $1 as a value in an option of QEMU: a comma is doubled.
qemu_value() { printf '%s' "${1//,/,,}"; }

qemu_program() {
    case $ARCH in aarch64) echo qemu-system-aarch64 ;; *) echo qemu-system-x86_64 ;; esac
}

# Examines stdin, stdout and stderr, and so must run without redirections.
#   INPUT   terminal, piped or none
#   MERGED  yes if stdout and stderr are the same file; the guest then keeps the order of their output
look_at_streams() { # INTERACTIVE
    INPUT=piped
    MERGED=no
    if [[ $1 == yes || (-t 0 && -t 1 && -t 2) ]]; then
        INPUT=terminal
    elif [[ -t 0 || /dev/fd/0 -ef /dev/null || ! -e /dev/fd/0 ]]; then
        INPUT=none
    fi
    if [[ /dev/fd/1 -ef /dev/fd/2 ]]; then MERGED=yes; fi
}

# Prints the script that the guest runs: environment, folder and command.
guest_command() {
    local name word
    for name in PATH HOME LANG LC_ALL TZ JAVA_HOME TERM $(compgen -e | grep '^VERBENA_' || true); do
        if [[ -n ${!name+set} ]]; then printf 'export %s=%s\n' "$name" "$(quote "${!name}")"; fi
    done
    if [[ -n $ROOT_JDK ]]; then
        printf 'export JAVA_HOME=%s PATH=%s\n' "$ROOT_JDK" "$(quote "$ROOT_JDK/bin:$PATH")"
    fi
    printf 'export VERBENA_GUEST=1 VERBENA_DEVICE=%s0 VERBENA_ADDRESS=%s\n' "$DEVICE" "$GUEST_ADDRESS"
    printf '%s' "$GUEST_ENVIRONMENT"
    printf 'export VERBENA_GUEST_KEEPS=%s\n' "$(quote "$PROJECT")" # the folder whose files outlive the guest
    printf 'cd %s || exit 126\nexec' "$(quote "$PWD")"
    for word in "$@"; do printf ' %s' "$(quote "$word")"; done
    printf '\n'
}

guest_settings() {
    local size
    size=$(stty size 2> /dev/null) || size='24 80'
    printf 'PROJECT=%s\nMODULES=%s\nDEVICE=%s\nDEVICES=%s\nINPUT=%s\nMERGED=%s\nROWS=%s\nCOLUMNS=%s\n' \
        "$(quote "$PROJECT")" "$(quote "$KERNEL_ROOT")" "$DEVICE" "$DEVICES" "$INPUT" "$MERGED" "${size% *}" "${size#* }"
    if [[ -n $ROOT ]]; then
        printf 'FOLDERS='
        quote "$(printf '%s\n' "${ROOT_FOLDERS[@]}")"
        printf '\n'
    fi
    printf '%s' "$GUEST_SETTINGS"
}

# Kills remaining processes and removes the folder of this run. Also called on signals.
guest_cleanup() {
    trap '' INT TERM HUP PIPE
    if [[ -n $GUEST_PID ]]; then
        kill -TERM "$GUEST_PID" 2> /dev/null || true
        wait "$GUEST_PID" 2> /dev/null || true
    fi
    end_watch
    end_relays
    rm -rf "$GUEST_FOLDER" ${GUEST_AROUND:+"$GUEST_AROUND"}
    if [[ -n ${TERMINAL_STATE:-} ]]; then stty "$TERMINAL_STATE" 2> /dev/null || true; fi
}

# Waits until all output of QEMU has been copied.
end_relays() {
    local stream
    if [[ -n $INPUT_PID ]]; then # it may be waiting for more input
        kill -KILL "$INPUT_PID" 2> /dev/null || true # as in end_watch
        wait "$INPUT_PID" 2> /dev/null || true
        INPUT_PID=
    fi
    if ((${#RELAYS[@]})); then
        # If QEMU did not start, it has not opened the pipes. Opening them here lets the readers see the end of file, as
        # soon as the readers have opened them.
        while kill -0 "${RELAYS[@]}" 2> /dev/null; do
            for stream in out err; do : <> "$GUEST_FOLDER/$stream"; done
            sleep 0.05
        done
        wait "${RELAYS[@]}" 2> /dev/null || true
        RELAYS=()
    fi
}

# Sets QEMU to the command line. Emulated processors take turns in one
# thread: with a thread for each, QEMU can translate an instruction while another processor changes it, as a JVM does with
# the entries of its compiled methods, and then the JVM crashes.
qemu_command() { # ACCEL KERNEL INITRAMFS
    local machine=q35 console=ttyS0 cpu=max accel=tcg,thread=single extra='no_timer_check tsc=reliable' stream
    if [[ $ARCH == aarch64 ]]; then
        # 'max' computes pointer authentication, and boots three times as slowly.
        machine=virt console=ttyAMA0 cpu=cortex-a72 extra=''
    fi
    if [[ $PARALLEL == yes ]]; then accel=tcg,thread=multi; fi
    if [[ $1 == kvm ]]; then cpu=host accel=kvm extra=''; fi
    # shellcheck disable=SC2054  # commas are part of QEMU's options
    QEMU=("$(qemu_program)" -nodefaults -no-user-config -machine "$machine" -accel "$accel" -cpu "$cpu"
        -smp "$CPUS" -m "$MEMORY" -kernel "$2" -initrd "$3"
        -append "console=$console panic=-1 mitigations=off quiet loglevel=3 cryptomgr.notests $extra${SAVING:+ verbena.save=$DEVICE}"
        -display none -no-reboot -device virtio-rng-pci
        -serial "file:$(qemu_value "$GUEST_FOLDER")/console"
        -virtfs "local,path=$(qemu_value "${ROOT:-/}"),mount_tag=host,security_model=none,readonly=on,multidevs=remap"
        -virtfs "local,path=$(qemu_value "$GUEST_FOLDER/share"),mount_tag=run,security_model=none"
        -virtfs "local,path=$(qemu_value "$PROJECT"),mount_tag=project,security_model=none,multidevs=remap"
        -device virtio-serial-pci)
    for stream in out err in word; do
        QEMU+=(-chardev "${STREAMS[$stream]:-null},id=$stream"
            -device "virtserialport,chardev=$stream,name=verbena.$stream")
    done
    # Ctrl-] replaces QEMU's usual escape key Ctrl-A.
    # shellcheck disable=SC2054  # commas are part of QEMU's options
    QEMU+=(-chardev "${STREAMS[terminal]:-null},id=terminal" -echr 0x1d -device virtconsole,chardev=terminal)
    if [[ -n $ROOT ]]; then
        QEMU+=(-virtfs 'local,path=/,mount_tag=machine,security_model=none,readonly=on,multidevs=remap')
    fi
    QEMU+=("${GUEST_DEVICES[@]}")
    if [[ -n $SAVING$SAVED ]]; then remember_memory; fi
}

# Keeps the guest's memory in a file, to save the guest or to go on from a saved one.
remember_memory() {
    local share=on
    if [[ -n $SAVED ]]; then
        share=off
        QEMU+=(-incoming defer)
    fi
    export SAVED_STATE=$SAVED$SAVING/state # QEMU's shell finds the file by it, however it is written
    # shellcheck disable=SC2054  # commas are part of QEMU's options
    QEMU+=(-machine memory-backend=memory -device vmgenid,guid=auto
        -object "memory-backend-file,id=memory,size=${MEMORY}M,mem-path=$(qemu_value "$SAVED$SAVING")/memory,share=$share"
        -chardev "pipe,id=monitor,path=$(qemu_value "$GUEST_FOLDER/monitor")" -mon chardev=monitor)
}

# Sets initramfs, kernel, accel and CPUS for a guest.
choose_machine() {
    initramfs=$(initramfs_for "$KERNEL_VERSION" "$KERNEL_ROOT") || return 1
    kernel=$(bootable_kernel "$KERNEL_VERSION" "$KERNEL_IMAGE")
    accel=$(guest_accel "$kernel" "$initramfs")
    if [[ -z $CPUS ]]; then
        if [[ $accel == kvm || $PARALLEL == yes ]]; then CPUS=2; else CPUS=1; fi
    fi
}

# run_in_guest INTERACTIVE COMMAND...
run_in_guest() {
    local initramfs kernel accel status=0 QEMU
    look_at_streams "$1"
    shift
    choose_machine || return 125
    SAVED=$(saved_guest)

    trap guest_cleanup EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 141' PIPE
    trap 'exit 143' TERM
    boot "$@" || status=$?
    if [[ -n $SAVED && ! -e $GUEST_FOLDER/share/started ]]; then rm -rf "$SAVED"; fi # for all that is known, it is of no use
    # If the command has not started, try again, unless input may have been consumed.
    if [[ -e $GUEST_FOLDER/late && $INPUT == none ]]; then
        say "the guest hung while it booted ($accel); trying once more"
        rm -rf "$GUEST_FOLDER"
        SAVED=
        if [[ $accel == kvm ]]; then
            kvm_failed
            accel=tcg
        fi
        status=0
        boot "$@" || status=$?
    fi
    guest_result "$status"
}

# Starts a guest and waits for its end. Returns QEMU's exit status.
boot() {
    local stream status=0
    GUEST_FOLDER=$(mktemp -d "${TMPDIR:-/tmp}/soft-roce.XXXXXX")
    mkdir "$GUEST_FOLDER/share"
    guest_command "$@" > "$GUEST_FOLDER/share/command"
    guest_settings > "$GUEST_FOLDER/share/settings"
    if [[ -n ${SIW_MODULE:-} ]]; then cp "$SIW_MODULE" "$GUEST_FOLDER/share/siw.ko"; fi
    connect_streams
    qemu_command "$accel" "$kernel" "$initramfs"

    if [[ $INPUT == terminal ]]; then
        TERMINAL_STATE=$(stty -g 2> /dev/null || true)
        # Through cat both ways, because QEMU would make the open file non-blocking, which is one for input and output.
        mkfifo "$GUEST_FOLDER"/{in,out}
        copy_keys <&0 > "$GUEST_FOLDER/in" &
        INPUT_PID=$!
        relay "$GUEST_FOLDER/out" &
        RELAYS+=($!)
        say "starting a guest with kernel $KERNEL_VERSION (Ctrl-] x ends it)"
        start_qemu < "$GUEST_FOLDER/in" > "$GUEST_FOLDER/out"
    else
        relay "$GUEST_FOLDER/out" &
        RELAYS+=($!)
        relay "$GUEST_FOLDER/err" >&2 &
        RELAYS+=($!)
        if [[ $INPUT == piped ]]; then
            # Through cat, because QEMU would make the open file non-blocking for all processes that share it.
            mkfifo "$GUEST_FOLDER/in"
            cat <&0 > "$GUEST_FOLDER/in" &
            INPUT_PID=$!
            start_qemu < "$GUEST_FOLDER/in" > /dev/null
        else
            start_qemu < /dev/null > /dev/null
        fi
    fi
    watch_start < /dev/null > /dev/null 2>&1 &
    WATCH_PID=$!
    wait "$GUEST_PID" || status=$?
    GUEST_PID=
    end_watch
    end_relays
    return "$status"
}

# Makes the pipes of the guest's output, and sets STREAMS.
connect_streams() {
    local stream
    STREAMS=()
    if [[ $INPUT == terminal ]]; then
        STREAMS[terminal]=stdio,mux=on,signal=off
    else
        for stream in out err; do
            mkfifo "$GUEST_FOLDER/$stream"
            STREAMS[$stream]=file,path=$(qemu_value "$GUEST_FOLDER/$stream"),append=on
        done
        if [[ $INPUT == piped ]]; then STREAMS[in]=stdio,signal=off; fi
    fi
    if [[ -n $SAVED ]]; then go_on go; fi
}

# Copies the terminal's input when the command runs: all keys go to the guest then, including Ctrl-C. Before, Ctrl-C ends
# this script.
copy_keys() {
    until [[ -e $GUEST_FOLDER/share/started ]]; do sleep 0.1; done
    stty -ignbrk -brkint -istrip -inlcr -igncr -icrnl -ixon -isig -icanon -iexten -echo -echonl \
        min 1 time 0 2> /dev/null || true
    exec cat
}

# Ends a guest whose command does not start in time, and creates the file 'late'.
watch_start() {
    local tries
    for ((tries = 0; tries < START_LIMIT * 4; tries++)); do
        if [[ -e $GUEST_FOLDER/share/started ]]; then return; fi
        sleep 0.25
    done
    : > "$GUEST_FOLDER/late"
    kill -TERM "$GUEST_PID"
}

end_watch() {
    if [[ -n $WATCH_PID ]]; then
        kill -KILL "$WATCH_PID" 2> /dev/null || true # a process that was just forked loses signals that have a trap
        wait "$WATCH_PID" 2> /dev/null || true
        WATCH_PID=
    fi
}

# Copies the guest's output. Ends the run if the reader has closed the output.
relay() { "${COPY[@]}" < "$1" || kill -PIPE $$; }

# The two calls of setpriv end QEMU when this script is killed, even with -9.
start_qemu() {
    setpriv --pdeathsig TERM timeout --foreground -k 5 "$TIMEOUT" setpriv --pdeathsig KILL "${QEMU[@]}" \
        2> "$GUEST_FOLDER/qemu" <&0 &
    GUEST_PID=$!
}

# Converts the files left by the guest to an exit status.
guest_result() {
    local status=$1 reason file
    if [[ -s $GUEST_FOLDER/share/status ]]; then return "$(< "$GUEST_FOLDER/share/status")"; fi
    if [[ -s $GUEST_FOLDER/share/error ]]; then
        reason="the guest failed: $(< "$GUEST_FOLDER/share/error")"
    elif [[ -e $GUEST_FOLDER/late ]]; then
        reason="the guest did not start the command in $START_LIMIT seconds"
        status=0
    elif ((status == 124 || status == 137)); then
        reason="the guest was ended after $TIMEOUT seconds (--timeout)"
        if [[ ! -e $GUEST_FOLDER/share/started ]]; then reason+=", and had not started the command"; fi
    elif [[ ! -s $GUEST_FOLDER/console && -s $GUEST_FOLDER/qemu ]]; then
        reason='QEMU did not start'
    else
        reason="the guest ended before the command did (QEMU: $status)"
    fi
    say "$reason"
    if ((status == 124)); then : > "$GUEST_FOLDER/qemu"; fi # it contains only the notice of termination
    for file in qemu console; do
        if [[ -s $GUEST_FOLDER/$file ]]; then
            say "the last lines of its $file output:"
            tail -n 25 "$GUEST_FOLDER/$file" | tr -d '\r' | sed 's/^/    /' >&2
        fi
    done
    if ((status == 124 || status == 137)); then return 124; fi
    return 125
}
