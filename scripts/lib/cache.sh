# The cache folder: kernels, initial file systems, results of probes.
# All of its contents may be deleted at any time. Source this file.
# shellcheck shell=bash

CACHE=${VERBENA_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/verbena}
if [[ $CACHE != /* ]]; then CACHE=$PWD/$CACHE; fi

MACHINE=$(uname -m)
ARCH=$MACHINE # of the guests; scripts/soft-roce run --arch changes it
is_foreign() { [[ $ARCH != "$MACHINE" ]]; }

say() { printf 'soft-roce: %s\n' "$*" >&2; }

# with_lock NAME COMMAND...: runs COMMAND in one process at a time, so that no two runs do the same work.
# The commands write to a temporary name and rename, so that a killed one leaves no incomplete file.
with_lock() {
    local name=$1
    shift
    mkdir -p "$CACHE/locks"
    (
        flock 9
        "$@" 9>&-
    ) 9> "$CACHE/locks/$name"
}
