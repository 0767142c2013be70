# Finds a JDK that can build and run Verbena. Source this file and packages.sh, then call find_jdk.
# shellcheck shell=bash

JDK_OLDEST=22 # the release that made java.lang.foreign final

# Prints the feature release (such as 25) of the JDK in folder $1, or nothing if there is no complete JDK.
jdk_feature_release() {
    local home=$1 version='' name value
    [[ -x $home/bin/java && -x $home/bin/javac ]] || return 0
    if [[ -r $home/release ]]; then # reading the file is much faster than starting a JVM
        while IFS='"' read -r name value _; do
            if [[ $name == JAVA_VERSION= ]]; then version=$value; fi
        done < "$home/release"
    fi
    if [[ -z $version ]]; then
        version=$("$home/bin/javac" -version 2>&1 | sed -n 's/^javac \(.*\)/\1/p')
    fi
    version=${version#1.} # 1.8 was 8
    version=${version%%[!0-9]*}
    printf '%s' "$version"
}

# Prints a number for the JDK in JAVA_HOME.
jdk_key() {
    local sum
    sum=$(cksum < "$JAVA_HOME/release")
    printf '%s' "${sum%% *}"
}

# Prints the usual folders of JDKs, one on each line.
jdk_candidates() {
    local tool path home
    for tool in javac java; do
        path=$(command -v "$tool" || true)
        [[ -n $path ]] && path=$(readlink -f "$path") && dirname "$(dirname "$path")"
    done
    for home in /usr/lib/jvm/* /usr/lib64/jvm/* /usr/java/* /opt/*jdk* /opt/*java* /opt/java/* \
        "${HOME:-/nonexistent}"/.sdkman/candidates/java/* "${HOME:-/nonexistent}"/.jdks/*; do
        if [[ -d $home ]]; then printf '%s\n' "$home"; fi
    done
}

# Prints the distribution's package of the oldest JDK that is new enough, if apt knows one: newer ones may be tried out.
jdk_package() {
    apt-cache pkgnames openjdk- 2> /dev/null | sed -n 's/^openjdk-\([0-9]*\)-jdk-headless$/\1/p' | sort -n |
        while read -r release; do
            if ((release >= JDK_OLDEST)); then
                printf 'openjdk-%s-jdk-headless' "$release"
                break
            fi
        done
}

# Installs the distribution's JDK. Returns 1 if the distribution has none, and 2 if its package was named only.
install_jdk() {
    local package
    if ! has_apt || [[ -n ${VERBENA_GUEST:-} ]]; then return 1; fi
    package=$(jdk_package)
    if [[ -z $package ]] && is_root && may_install && apt-get update -qq > /dev/null 2>&1; then
        package=$(jdk_package) # the package lists were absent or stale
    fi
    if [[ -z $package ]]; then return 1; fi
    need_packages "building and running with JDK $JDK_OLDEST or newer" "$package" || return 2
}

jdk_missing() {
    cat >&2 <<MISSING
No JDK $JDK_OLDEST or newer found (java and javac are both needed).
Install one. If it is in an unusual folder, set JAVA_HOME to that folder:
  Debian 13, Ubuntu    apt-get install openjdk-25-jdk-headless (21 is too old)
  Fedora               dnf install java-latest-openjdk-devel
  openSUSE             zypper install java-25-openjdk-devel
  any system           Eclipse Temurin, https://adoptium.net
MISSING
}

# Sets best and best_release to the newest JDK of this machine.
find_newest_jdk() {
    local home release
    while IFS= read -r home; do
        release=$(jdk_feature_release "$home")
        if ((${release:-0} > best_release)); then
            best=$home
            best_release=$release
        fi
    done < <(jdk_candidates)
}

# Sets best and best_release to the JDK in JAVA_HOME if it is new enough, else to the newest JDK of this machine.
choose_jdk() {
    best_release=$(jdk_feature_release "${JAVA_HOME:-/nonexistent}")
    if ((${best_release:-0} >= JDK_OLDEST)); then
        best=$JAVA_HOME
    else
        best_release=0
        find_newest_jdk
    fi
}

# Exports the JDK in folder $1 as JAVA_HOME, and puts its bin folder first on PATH.
export_jdk() {
    export JAVA_HOME=$1
    case :$PATH: in
        ":$1/bin:"*) ;;
        *) export PATH=$1/bin:$PATH ;;
    esac
}

# Exports JAVA_HOME and puts its bin folder first on PATH. Uses the JDK in JAVA_HOME if it is new enough, else the
# newest JDK found. If there is none, installs the distribution's.
find_jdk() {
    local best='' best_release=0 status=0
    choose_jdk
    if [[ -z $best ]] || ((best_release < JDK_OLDEST)); then
        install_jdk || status=$?
        if ((status == 2)); then return 1; fi
        find_newest_jdk
    fi
    if ((best_release < JDK_OLDEST)); then
        jdk_missing
        return 1
    fi
    export_jdk "$best"
}

# Does the same for a command that may need no JDK: if there is none that is new enough, changes and installs nothing.
use_jdk() {
    local best='' best_release=0
    choose_jdk
    if ((best_release >= JDK_OLDEST)); then export_jdk "$best"; fi
}
