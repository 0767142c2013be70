# The two commands on a fresh minimal system of Debian: a folder made by debootstrap, in which root runs them as a new user
# of that system would. Needs the functions of scripts/test, cache.sh, packages.sh and matrix.sh. Source this file.
# shellcheck shell=bash
# shellcheck disable=SC2154  # variables of scripts/test

FRESH_FOLDER= # of the system that exists now

# Prints the tarball of a minimal system of suite $1, which is made once. The system has the certificates of this machine:
# its network may need them.
fresh_tarball() {
    local tarball=$CACHE/fresh/$1.tar
    mkdir -p "$CACHE/fresh"
    if [[ ! -s $tarball ]]; then with_lock "fresh-$1" make_fresh_tarball "$1" "$tarball" >&2 || return 1; fi
    printf '%s' "$tarball"
}

make_fresh_tarball() {
    local suite=$1 tarball=$2 work
    [[ ! -s $tarball ]] || return 0
    rm -rf "$CACHE/fresh/.new.$suite".*
    work=$(mktemp -d "$CACHE/fresh/.new.$suite.XXXXXX") || return 1
    # shellcheck disable=SC2064  # the value of now; this runs in with_lock's own shell
    trap "rm -rf '$work'" EXIT
    printf 'Making a minimal system of Debian %s in %s (once; 100 MB to fetch)\n' "$suite" "$CACHE" >&2
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$work/system" > "$work/log" 2>&1 ||
        { tail -n 5 "$work/log" >&2; return 1; }
    # Java's trust store is made of single files, so this machine's bundle is taken apart.
    mkdir "$work/system/usr/share/ca-certificates/host" || return 1
    awk -v folder="$work/system/usr/share/ca-certificates/host" -v list="$work/system/etc/ca-certificates.conf" '
        /^-----BEGIN CERTIFICATE-----$/ { file = folder "/" ++n ".crt"; print "host/" n ".crt" >> list }
        file { print > file }
        /^-----END CERTIFICATE-----$/ { close(file); file = "" }' /etc/ssl/certs/ca-certificates.crt || return 1
    chroot "$work/system" /usr/sbin/update-ca-certificates > "$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; return 1; }
    tar -c -C "$work/system" . > "$tarball.$$" && mv "$tarball.$$" "$tarball"
}

# enter_fresh FOLDER COMMAND...: runs COMMAND in the system in FOLDER, in the project's folder there. Its processes end with
# it, and its mounts are seen by nobody else.
enter_fresh() {
    local folder=$1
    shift
    # shellcheck disable=SC2016  # expanded by the inner shell
    unshare --mount --pid --fork --kill-child -- sh -c '
        folder=$1
        shift
        mount -t proc proc "$folder/proc" && mount --rbind /sys "$folder/sys" && mount --rbind /dev "$folder/dev" &&
            exec chroot "$folder" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
                HOME=/root LANG=C.UTF-8 ${FRESH_JDK:+JAVA_HOME=/opt/jdk} sh -c "cd /verbena && exec \"\$@\"" sh "$@"
    ' sh "$folder" "$@"
}

remove_fresh() {
    if [[ -n $FRESH_FOLDER ]]; then rm -rf --one-file-system "$FRESH_FOLDER"; fi
    FRESH_FOLDER=
}

# fresh_step NAME COMMAND...: runs COMMAND in the system, and records its time and status as a step of the corner.
fresh_step() {
    local begin=$EPOCHSECONDS status=0 log=$FRESH_LOGS/$1.log
    shift
    printf 'In a fresh system: %s (output in %s)\n' "$*" "${log#"$PROJECT/"}" >&2
    stage enter_fresh "$FRESH_FOLDER" "$@" > "$log" 2>&1 || status=$?
    printf '%s: status %d after %d s%s\n' "$*" "$status" "$((EPOCHSECONDS - begin))" \
        "$(tail -n 1 "$log" | sed -n 's/^[0-9]* passed.*/, &/p')" | tee -a "$FRESH_LOGS/steps"
    return "$status"
}

# run_fresh SUITE FOLDER [CLASS]: runs scripts/demo, and all tests or those of CLASS, in a fresh system of SUITE, and writes
# logs and 'steps' to FOLDER. The project's files are copied, without what was built. The JDK is this machine's if the suite has none
# that is new enough.
run_fresh() {
    local suite=$1 tarball failed=0
    FRESH_LOGS=$2
    mkdir -p "$FRESH_LOGS"
    : > "$FRESH_LOGS/steps"
    if ! is_root; then
        printf 'A fresh system can be made by root only.\n' >&2
        return 1
    fi
    need_packages 'a fresh system' debootstrap || return 1
    tarball=$(fresh_tarball "$suite") || return 1
    FRESH_FOLDER=$(mktemp -d "$CACHE/fresh/.run.XXXXXX")
    tar -x -C "$FRESH_FOLDER" -f "$tarball" || return 1
    mkdir -p "$FRESH_FOLDER/verbena"
    tar -c -C "$PROJECT" --exclude=./target --exclude=./.git . | tar -x -C "$FRESH_FOLDER/verbena" || return 1
    cp /etc/resolv.conf /etc/hosts "$FRESH_FOLDER/etc/" || return 1
    export FRESH_JDK=
    if [[ $suite == bookworm ]]; then
        FRESH_JDK=yes
        cp -r "$(readlink -f "$JAVA_HOME")" "$FRESH_FOLDER/opt/jdk" || return 1
    fi
    # Its status is not 0, because packages are missing.
    fresh_step no-install scripts/demo --no-install || true
    fresh_step demo scripts/demo || failed=1
    fresh_step demo-again scripts/demo || failed=1
    fresh_step test scripts/test "${@:3}" || failed=1
    remove_fresh
    return "$failed"
}
