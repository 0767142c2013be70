# Root file systems for guests: this machine's own, a folder, or packages of Debian that are unpacked into the cache
# folder, and neither installed nor configured. Needs cache.sh, packages.sh and debs.sh. Source this file.
# shellcheck shell=bash
#
# The result of choose_root:
#   ROOT          the folder, or nothing for this machine's own
#   ROOT_JDK      the JDK in ROOT that programs of the guest use, or nothing for this machine's
#   ROOT_FOLDERS  folders of this machine that the guest sees at the same path

ROOT=
ROOT_JDK=
ROOT_FOLDERS=()

# With '?essential', these resemble a minimal system with what 'scripts/test' installs for tests on a device.
# gcc and the headers are for tests that compare with C. busybox starts a guest of a foreign architecture.
# shellcheck disable=SC2054  # a pattern of apt
ROOT_PACKAGES=('?essential' mawk rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest gcc libc6-dev
    libibverbs-dev librdmacm-dev iproute2 kmod curl tcpdump busybox-static redis-server iperf3)
ROOT_JDK_RELEASE=25 # of a foreign architecture, unless --jdk says otherwise

# choose_root NAME JDK: sets ROOT to the folder NAME, or to the root of Debian's suite NAME, which is made if necessary.
# JDK is the feature release of the JDK to take from the suite; without it, the guest uses this machine's.
choose_root() {
    local name=$1 jdk=$2
    if [[ -z $name ]] && is_foreign; then name=trixie; fi # the oldest suite with a JDK that is new enough
    if [[ -z $name ]]; then return 0; fi
    if [[ $name == */* ]]; then
        if [[ ! -x $name/bin/sh && ! -L $name/bin/sh ]]; then
            say "no root file system in $name: it has no bin/sh"
            return 1
        fi
        ROOT=$(readlink -f "$name")
        ROOT_JDK=${jdk:+$(jdk_of_root "$ROOT" "$jdk")}
        if [[ -n $jdk && -z $ROOT_JDK ]]; then
            say "$ROOT has no JDK $jdk in /usr/lib/jvm"
            return 1
        fi
    else
        if is_foreign; then jdk=${jdk:-$ROOT_JDK_RELEASE}; fi
        ROOT=$CACHE/roots/$name-$ARCH
        with_lock "root-$name-$ARCH" make_root "$name" "$ROOT" "$jdk" >&2 || return 1
        ROOT_JDK=${jdk:+$(jdk_of_root "$ROOT" "$jdk")}
    fi
    machine_folders
}

# Prints the folder of JDK $2 inside root $1.
jdk_of_root() {
    local folder
    for folder in "$1"/usr/lib/jvm/*-"$2"-* "$1"/usr/lib/jvm/*-"$2"; do
        if [[ -x $folder/bin/javac && ! -L $folder ]]; then
            printf '%s' "${folder#"$1"}"
            return
        fi
    done
}

# Lists what the guest needs of this machine: the working folder, the JDK, the jars of Maven's repository.
machine_folders() {
    local folder
    ROOT_FOLDERS=()
    for folder in "$PWD" "${HOME:-/nonexistent}/.m2" ${ROOT_JDK:-"${JAVA_HOME:-}" /etc/java-*-openjdk}; do
        if [[ -d $folder && $folder != "$ROOT_JDK" && $folder/ != "$PROJECT"/* && $folder != / ]]; then
            ROOT_FOLDERS+=("$folder")
        fi
    done
}

# make_root SUITE FOLDER JDK: a root gets its name when it is complete. A JDK is added to it when first asked for.
make_root() {
    local suite=$1 root=$2 jdk=${3:+openjdk-$3-jdk-headless} work
    if ! has_apt; then
        say "a root of $suite can be made only with apt: give its folder with --root DIR"
        return 1
    fi
    if [[ ! -d $root ]]; then
        mkdir -p "$CACHE/roots" || return 1
        rm -rf "$root".new.*
        work=$root.new.$$
        # shellcheck disable=SC2064  # the value of now; this runs in with_lock's own shell
        trap "rm -rf '$work'" EXIT
        say "making a root of Debian $suite, $ARCH, in $root (once; 100 MB to fetch, 350 MB of disk)"
        new_root "$work" || return 1
        fill_root "$suite" "$work" "${ROOT_PACKAGES[@]}" || return 1
        configure_root "$work" || return 1
        mv "$work" "$root" || return 1
    fi
    if [[ -n $jdk && -z $(jdk_of_root "$root" "$3") ]]; then
        say "adding $jdk to $root"
        fill_root "$suite" "$root" "$jdk" || return 1
    fi
}

# Makes the folders of a merged /usr, which packages rely on, and an empty list of installed packages.
new_root() {
    local name
    mkdir -p "$1"/usr/{bin,sbin,lib,lib64} "$1"/{dev,proc,sys,run,tmp} "$1/var/lib/dpkg" || return 1
    for name in bin sbin lib lib64; do ln -s "usr/$name" "$1/$name" || return 1; done
    : > "$1/var/lib/dpkg/status"
}

# fill_root SUITE FOLDER PACKAGE...: unpacks packages and their dependencies that the root does not have yet.
fill_root() {
    local suite=$1 root=$2 folder=$CACHE/apt/root-$1-$ARCH package
    shift 2
    mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial" || return 1
    root_sources "$suite" > "$folder/sources.list" || return 1
    root_apt "$folder" "$root" update -qq || return 1
    rm -f "$folder"/cache/archives/*.deb
    if ! root_apt "$folder" "$root" install -qq -y --no-install-recommends --download-only "$@"; then
        say "cannot fetch for $suite: $*"
        return 1
    fi
    for package in "$folder"/cache/archives/*.deb; do
        unpack_deb "$package" "$root" --keep-directory-symlink --exclude='./usr/share/doc/*' \
            --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' ||
            { say "cannot unpack $package into $root: is the disk full?"; return 1; }
    done
    # Last: a run that is ended meanwhile unpacks all of them again.
    for package in "$folder"/cache/archives/*.deb; do
        dpkg-deb -f "$package" | sed '/^Package:/a Status: install ok installed'
        echo
    done > "$root/var/lib/dpkg/added" && cat "$root/var/lib/dpkg/added" >> "$root/var/lib/dpkg/status" || return 1
    rm -f "$folder"/cache/archives/*.deb "$root/var/lib/dpkg/added"
}

# Prints one-line apt sources of a suite. Only Debian's own machines have a mirror of it in their lists.
root_sources() {
    local suite=$1 base='' origin name uri key=/usr/share/keyrings/debian-archive-keyring.gpg
    if [[ ! -r $key ]]; then
        say "the key of Debian's archive is missing (package debian-archive-keyring)"
        return 1
    fi
    while IFS='|' read -r origin name _ uri; do
        if [[ $origin == Debian && $name != *-* ]]; then base=$uri; fi
    done < <(own_package_lists)
    printf 'deb [signed-by=%s] %s %s main\n' "$key" "${base:-http://deb.debian.org/debian}" "$suite"
}

# Runs apt-get with the installed packages of a root, which it does not change.
root_apt() { # FOLDER ROOT ARGUMENT...
    local folder=$1 root=$2
    shift 2
    debs_apt "$folder" apt-get -o Dir::State::status="$root/var/lib/dpkg/status" \
        -o Debug::NoLocking=true "$@"
}

# Does what the packages' own scripts would do, as far as tests need it.
configure_root() {
    local root=$1 name
    for name in passwd group; do
        cp "$root/usr/share/base-passwd/$name.master" "$root/etc/$name" || return 1
    done
    printf 'hosts: files\n' > "$root/etc/nsswitch.conf"
    mkdir -p "$root/root" "$root/etc/alternatives"
    for name in awk:mawk sh:dash; do
        if [[ ! -e $root/usr/bin/${name%:*} ]]; then ln -s "${name#*:}" "$root/usr/bin/${name%:*}" || return 1; fi
    done
}
