# Installs the packages that a script needs, or prints their names. Source this file, then call need_packages.
# shellcheck shell=bash

# True on a Debian or one of its descendants.
has_apt() { command -v apt-get > /dev/null && command -v dpkg-query > /dev/null; }

# True if package $1 is installed, or if its program is present in another way.
package_present() {
    if [[ $1 == maven ]] && command -v mvn > /dev/null; then return 0; fi
    has_apt || return 1
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null || true) == installed ]]
}

apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@"
}

# need_packages PURPOSE PACKAGE...
# PURPOSE completes the sentence "... needed for". The names are Debian's.
need_packages() {
    local purpose=$1 package log missing=()
    shift
    for package in "$@"; do
        package_present "$package" || missing+=("$package")
    done
    ((${#missing[@]})) || return 0

    if ! has_apt; then
        printf 'Needed for %s, under the names Debian gives them: %s\n' "$purpose" "${missing[*]}" >&2
        printf 'Install them with the package manager of this system.\n' >&2
        return 1
    fi
    if ((EUID)); then
        printf 'Needed for %s and not installed: %s\n' "$purpose" "${missing[*]}" >&2
        printf 'Run: sudo apt-get update && sudo apt-get install --no-install-recommends %s\n' "${missing[*]}" >&2
        return 1
    fi

    printf 'Installing for %s: %s\n' "$purpose" "${missing[*]}" >&2
    log=$(mktemp)
    # The first attempt fails if the package lists are absent or stale; only then are they fetched.
    if apt_install "${missing[@]}" > "$log" 2>&1 ||
        { apt-get update -qq > "$log" 2>&1 && apt_install "${missing[@]}" > "$log" 2>&1; }; then
        rm -f "$log"
        return 0
    fi
    tail -n 20 "$log" >&2
    rm -f "$log"
    printf 'Could not install the packages for %s: %s\n' "$purpose" "${missing[*]}" >&2
    return 1
}
