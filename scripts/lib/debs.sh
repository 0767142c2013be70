# Packages of the distribution that are fetched and unpacked into the cache folder, and neither installed nor configured.
# Needs cache.sh and packages.sh. Source this file.
# shellcheck shell=bash

# Prints "ORIGIN|CODENAME|RELEASE|URI" of the package lists that this machine has fetched.
own_package_lists() {
    # shellcheck disable=SC2016  # apt expands the variables
    apt-get indextargets --format '$(ORIGIN)|$(CODENAME)|$(RELEASE)|$(REPO_URI)' 'Created-By: Packages' | sort -u
}

# Prints one-line apt sources for tier $1, with the mirror and the keys of this machine.
debs_sources() {
    local tier=$1 id codename base='' key='' origin uri suite name
    id=$(. /etc/os-release && printf '%s' "$ID")
    codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    if [[ -r /usr/share/keyrings/$id-archive-keyring.gpg ]]; then
        key="[signed-by=/usr/share/keyrings/$id-archive-keyring.gpg] "
    fi
    while IFS='|' read -r origin name suite uri; do
        [[ ${origin,,} == "$id" ]] || continue # not the distribution's
        case $name in
            "$codename") base=$uri ;;
            "$codename-updates" | "$codename-security") ;;
            *) continue ;;
        esac
        if [[ $tier == own ]]; then printf 'deb %s%s %s main\n' "$key" "$uri" "$suite"; fi
    done < <(own_package_lists)
    if [[ -z $base ]]; then
        say 'apt has no package list of the distribution; run: apt-get update'
        return 1
    fi
    case $tier in
        backports) printf 'deb %s%s %s-backports main\n' "$key" "$base" "$codename" ;;
        unstable) printf 'deb %s%s unstable main\n' "$key" "$base" ;;
    esac
}

debs_architecture() { # in Debian's words
    case $ARCH in aarch64) echo arm64 ;; *) echo amd64 ;; esac
}

# Runs apt with a separate state: it does not use the system's package lists and installed packages.
debs_apt() { # FOLDER TOOL ARGUMENT...
    local folder=$1 tool=$2 foreign=()
    shift 2
    if is_foreign; then
        foreign=(-o APT::Architecture="$(debs_architecture)" -o APT::Architectures="$(debs_architecture)")
    fi
    "$tool" -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State="$folder/state" -o Dir::State::status="$folder/status" -o Dir::Cache="$folder/cache" \
        -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none -o Acquire::Retries=3 "${foreign[@]}" "$@"
}

# search_debs COMMAND...: looks into the release's own packages, its backports and unstable, until COMMAND prints something.
# COMMAND gets the folder of apt's state as its last argument. Sets FOUND to what it prints, or to nothing, and DEBS to the
# folder.
search_debs() {
    local tier
    FOUND=
    for tier in own backports unstable; do
        DEBS=$CACHE/apt/$tier
        if is_foreign; then DEBS+=-$ARCH; fi
        mkdir -p "$DEBS/state/lists/partial" "$DEBS/cache/archives/partial" || return 1
        : > "$DEBS/status"
        debs_sources "$tier" > "$DEBS/sources.list" || return 1
        debs_apt "$DEBS" apt-get update -qq >&2 || continue
        FOUND=$("$@" "$DEBS")
        [[ -z $FOUND ]] || return 0
    done
}

# unpack_deb FILE FOLDER [OPTION of tar]...
unpack_deb() {
    dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --no-same-owner "${@:3}"
}
