# Installs the packages that a script needs, or prints their names. Source this file, then call need_packages.
# shellcheck shell=bash

# True on a Debian or one of its descendants.
has_apt() { command -v apt-get > /dev/null && command -v dpkg-query > /dev/null; }

is_root() { ((EUID == 0)); }

# The option --no-install of the scripts: nothing is installed on this machine, and no kernel module is loaded.
no_install() { export VERBENA_NO_INSTALL=1; }
may_install() { [[ -z ${VERBENA_NO_INSTALL:-} ]]; }

# True if the C compiler finds header $1.
has_header() {
    [[ -e /usr/include/$1 || -e /usr/local/include/$1 ]] || gcc -E -include "$1" -x c /dev/null > /dev/null 2>&1
}

# True if all programs $* are on the PATH.
has_programs() {
    local program
    for program in "$@"; do command -v "$program" > /dev/null || return 1; done
}

# True if what the scripts use of package $1 is present, wherever it comes from: the names are Debian's.
contents_present() {
    case $1 in
        maven) has_programs mvn ;;
        libc6-dev) has_header stdio.h ;;
        libibverbs-dev) has_header infiniband/verbs.h ;;
        librdmacm-dev) has_header rdma/rdma_cma.h ;;
        ibverbs-utils) has_programs ibv_devinfo ibv_rc_pingpong ;;
        rdmacm-utils) has_programs rping ucmatose ;;
        perftest) has_programs ib_send_lat ib_write_bw ;;
        iproute2) has_programs ip rdma ss ;;
        util-linux) has_programs setpriv script flock ;;
        busybox-static) has_programs busybox ;;
        kmod) has_programs modprobe depmod ;;
        perl-base) has_programs perl ;;
        xz-utils) has_programs xz ;;
        qemu-system-x86) has_programs qemu-system-x86_64 ;;
        qemu-system-arm) has_programs qemu-system-aarch64 ;;
        libucx0) [[ $(/sbin/ldconfig -p 2> /dev/null) == *libucp.so.0* ]] ;;
        rdma-core | ibverbs-providers) return 1 ;; # no program tells
        *) has_programs "$1" ;; # gcc, make, cpio, shellcheck, tcpdump
    esac
}

package_present() {
    if contents_present "$1"; then return 0; fi
    has_apt && [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null || true) == installed ]]
}

# In a session of its own, because Ctrl-C reaches all processes of a terminal: dpkg would leave packages half installed.
apt_install() {
    DEBIAN_FRONTEND=noninteractive setsid -w apt-get install -qq -y --no-install-recommends \
        -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@"
}

# Programs of this machine that a guest needs, and what tests and people use in one.
GUEST_PROGRAMS=(busybox-static cpio kmod iproute2 util-linux xz-utils)
GUEST_TOOLS=(rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest)

# missing_for_guest MACHINE [programs]: prints the packages that a guest of a machine such as x86_64 needs and that are missing, or
# of these only the programs of this machine. Where there is no apt, the tools have other names.
missing_for_guest() {
    local package qemu=qemu-system-x86
    if [[ $1 == aarch64 ]]; then qemu="qemu-system-arm"; fi
    for package in "$qemu" "${GUEST_PROGRAMS[@]}"; do contents_present "$package" || printf '%s\n' "$package"; done
    if [[ ${2:-} == programs ]] || ! has_apt; then return 0; fi
    for package in "${GUEST_TOOLS[@]}"; do package_present "$package" || printf '%s\n' "$package"; done
}

EXPECTED=()

# expect_packages PACKAGE...: says what a script will need. Where nothing is installed, need_packages names it too, so that one
# command installs all.
expect_packages() { EXPECTED+=("$@"); }

# need_packages PURPOSE PACKAGE...
# PURPOSE completes the sentence "... needed for". The names are Debian's.
need_packages() {
    local purpose=$1 package log output missing=() later=()
    shift
    for package in "$@"; do
        package_present "$package" || missing+=("$package")
    done
    ((${#missing[@]})) || return 0

    if ! has_apt || ! is_root || ! may_install; then
        for package in "${EXPECTED[@]}"; do
            if [[ " ${missing[*]} ${later[*]} " != *" $package "* ]] && ! package_present "$package"; then later+=("$package"); fi
        done
        if has_apt; then
            printf 'Needed for %s and not installed: %s\n' "$purpose" "${missing[*]}" >&2
        else
            printf 'Needed for %s and not found, under the names Debian gives them: %s\n' "$purpose" "${missing[*]}" >&2
        fi
        if ((${#later[@]})); then printf 'Needed after that: %s\n' "${later[*]}" >&2; fi
        if has_apt; then
            missing+=("${later[@]}")
            printf 'Run as root: apt-get update && apt-get install --no-install-recommends %s\n' "${missing[*]}" >&2
        else
            printf 'Install them with the package manager of this system.\n' >&2
        fi
        return 1
    fi

    printf 'Installing with apt-get, for %s: %s\n' "$purpose" "${missing[*]}" >&2
    printf 'The packages stay installed. With --no-install, the scripts install nothing.\n' >&2
    log=$(mktemp)
    exec {output}<> "$log"
    rm -f "$log"
    if uninterrupted install_missing "${missing[@]}" > "/dev/fd/$output" 2>&1; then
        exec {output}>&-
        return 0
    fi
    tail -n 20 "/dev/fd/$output" >&2
    exec {output}>&-
    printf 'Could not install the packages for %s: %s\n' "$purpose" "${missing[*]}" >&2
    return 1
}

# The first attempt fails if the package lists are absent or stale; only then are they fetched.
install_missing() { apt_install "$@" || { [[ -z $signalled ]] && apt-get update -qq && apt_install "$@"; }; }

# uninterrupted COMMAND...: runs COMMAND. If a signal comes meanwhile, this script ends with it, after COMMAND.
uninterrupted() {
    local status=0 traps signalled=
    traps=$(trap -p HUP INT TERM)
    trap 'signalled=129' HUP
    trap 'signalled=130' INT
    trap 'signalled=143' TERM
    "$@" || status=$?
    trap - HUP INT TERM
    eval "$traps"
    if [[ -n $signalled ]]; then exit "$signalled"; fi
    return "$status"
}
