# The folder for what is slow to make: kernels, initial file systems, answers of probes.
# Everything in it may be deleted at any time. Source this file.
# shellcheck shell=bash

CACHE=${VERBENA_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/verbena}
if [[ $CACHE != /* ]]; then CACHE=$PWD/$CACHE; fi

say() { printf 'soft-roce: %s\n' "$*" >&2; }

# with_lock NAME COMMAND...: one process at a time, so that two runs never make the same thing twice.
# The commands themselves write to a temporary name and rename, so a killed one leaves nothing half done.
with_lock() {
    local name=$1
    shift
    mkdir -p "$CACHE/locks"
    (
        flock 9
        "$@" 9>&-
    ) 9> "$CACHE/locks/$name"
}
