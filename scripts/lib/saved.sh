# A guest that has booted, saved as files from which others go on: booting takes an emulated processor several times as long as
# the rest of a short command, and is always the same. Needs cache.sh and guest.sh. Source this file.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154  # QEMU's shell expands; variables of guest.sh, and those that choose_machine sets
#
# With 'verbena.save', guest-init makes the device and waits for a word before it mounts any folder of this machine: QEMU
# saves no guest that has done so. The files are in a folder of the cache folder:
#   memory   the guest's memory, with holes. A guest that goes on has its own copy of each page that it changes
#   state    the rest of its state
# Guests that go on from the same files have other random numbers: QEMU's device vmgenid has the kernel's generator start anew.

SAVED= # the folder from which this guest goes on; none if it boots
SAVING= # the folder to which this guest is saved
SAVE_LIMIT=180 # seconds until a guest must have booted
SAVE_ROOM=1024 # MiB: on a disk with less room, no guest is saved
SAVED_DAYS=7 # a saved guest that was not used for so long is removed

# Prints the folder of the saved guest for the machine that was chosen, and makes it if necessary. Prints nothing if there can't
# be one: a guest of a pair has devices of its own, an aarch64 one has no vmgenid, and KVM boots fast.
saved_guest() {
    local folder
    if [[ $accel != tcg || $ARCH != x86_64 ]]; then return 0; fi
    folder=$CACHE/saved/$KERNEL_VERSION-$(saved_description | sha256sum | cut -c 1-16)
    if [[ ! -d $folder ]]; then
        with_lock saved save_guest "$folder" > /dev/null 2>&1 || say 'the guest boots, because none could be saved that has booted'
    fi
    if [[ -d $folder ]]; then
        touch "$folder"
        printf '%s' "$folder"
    fi
}

# Prints all that a saved guest depends on.
saved_description() {
    printf '%s\n' "$CPUS" "$MEMORY" "$PARALLEL" "$DEVICE" "${ROOT:+root}" "$initramfs" "$kernel"
    stat -L -c '%n %s %Y' "$(command -v "$(qemu_program)")"
    cat "$LIB/guest.sh" "$LIB/saved.sh"
}

save_guest() { # FOLDER
    local folder=$1 SAVING SAVED='' TIMEOUT=$SAVE_LIMIT
    [[ ! -d $folder ]] || return 0 # another run was faster
    mkdir -p "$CACHE/saved" || return 1
    find "$CACHE/saved" -mindepth 1 -maxdepth 1 -mtime "+$SAVED_DAYS" -exec rm -rf {} +
    if (($(df -m --output=avail "$CACHE/saved" | tail -n 1) < SAVE_ROOM)); then return 1; fi
    # This runs in with_lock's own shell: what it sets is lost, and guest_cleanup removes only what is made here.
    GUEST_AROUND=
    GUEST_FOLDER=$(mktemp -d "$CACHE/saved/.new.XXXXXX") || return 1
    trap guest_cleanup EXIT
    trap 'exit 143' HUP INT TERM
    SAVING=$GUEST_FOLDER/saved
    mkdir "$GUEST_FOLDER/share" "$SAVING" && save_booted && goes_on && mv "$SAVING" "$folder"
}

# Boots a guest, and saves it while it waits for a word.
save_booted() {
    STREAMS=()
    connect_word
    start_commandless
    hears ready || return 1
    tell_qemu 'migrate "exec:cat > \"$SAVED_STATE\""' quit
    end_commandless && [[ -s $SAVING/state ]]
}

# True if QEMU goes on from what was saved.
goes_on() {
    local SAVED=$SAVING SAVING=''
    STREAMS=()
    go_on check
    start_commandless
    hears works && end_commandless
}

start_commandless() {
    qemu_command "$accel" "$kernel" "$initramfs"
    start_qemu < /dev/null > /dev/null
}

end_commandless() {
    wait "$GUEST_PID" && GUEST_PID=
}

# Has the guest that is about to start go on from the saved one, with a word.
go_on() { # WORD
    connect_word
    tell_qemu 'migrate_incoming "exec:cat \"$SAVED_STATE\""'
    echo "$1" >&"$TO_GUEST"
}

# True if the next word that the guest says is $1.
hears() {
    local part word='' end=$((SECONDS + SAVE_LIMIT))
    until read -r -t 0.5 -u "$FROM_GUEST" part; do
        word+=$part
        if ! kill -0 "$GUEST_PID" 2> /dev/null || ((SECONDS > end)); then return 1; fi
    done
    [[ $word$part == "$1" ]]
}

# Makes the pipes to the guest's port for words and to QEMU's monitor.
connect_word() {
    rm -f "$GUEST_FOLDER"/{word,monitor}.{in,out} # of the guest that was saved
    mkfifo "$GUEST_FOLDER"/{word,monitor}.{in,out}
    exec {TO_GUEST}<> "$GUEST_FOLDER/word.in" {FROM_GUEST}<> "$GUEST_FOLDER/word.out" {TO_MONITOR}<> "$GUEST_FOLDER/monitor.in"
    STREAMS[word]=pipe,path=$(qemu_value "$GUEST_FOLDER/word")
}

# Gives orders to QEMU's monitor.
tell_qemu() { printf '%s\n' 'migrate_set_capability x-ignore-shared on' "$@" >&"$TO_MONITOR"; }
