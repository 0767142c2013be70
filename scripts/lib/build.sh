# Compiles the project. Source this file after jdk.sh and packages.sh.
# shellcheck shell=bash

# Runs Maven without the warnings that newer JDKs print about Maven's own libraries, and without the escape sequences
# that Maven prints at its end, on both streams, even if told to use no colours. All that is left are errors.
quiet_maven() {
    local options=${MAVEN_OPTS:-}
    if (($(jdk_feature_release "$JAVA_HOME") >= 24)); then
        options+=" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow"
    fi
    MAVEN_OPTS=$options mvn --batch-mode --quiet -Dstyle.color=never "$@" 2>&1 | sed -u $'s/\e\\[0*m//g' >&2
}

# one_at_a_time COMMAND...: runs COMMAND alone among the scripts of this folder. It writes to target, as others do.
one_at_a_time() {
    mkdir -p "$PROJECT/target"
    (
        if ! flock -n 9; then
            printf 'Waiting for another build in this folder\n' >&2
            flock 9
        fi
        "$@" 9>&-
    ) 9>> "$PROJECT/target/build.lock"
}

# True if $1 is newer than all sources.
up_to_date() {
    [[ -e $1 && -z $(find "$PROJECT/pom.xml" "$PROJECT/src" "$PROJECT/bindings" -newer "$1" -print -quit) ]]
}

# build [main|tools|tests]: compiles the project if it is out of date. 'tools' also makes the tools' jar; 'tests' also
# writes the class path of the tests to target/test-classpath.
build() {
    local what=${1:-main}
    if up_to_date "$PROJECT/target/built-$what"; then return 0; fi
    if [[ -n ${VERBENA_GUEST:-} ]]; then
        printf 'The project is not built, and a guest has no network for Maven. Build it outside of the guest:\n' >&2
        printf '  scripts/verbena --version\n' >&2
        return 1
    fi
    need_packages 'building' maven
    one_at_a_time build_alone "$what" "$PROJECT/target/built-$what"
}

build_alone() { # WHAT STAMP
    if up_to_date "$2"; then return 0; fi # another run was faster
    printf 'Building\n' >&2
    touch "$2.new" # sources that change during the build are newer
    cd "$PROJECT" || return 1
    case $1 in
        tests) quiet_maven test-compile dependency:build-classpath -Dmdep.outputFile=target/test-classpath ;;
        tools) quiet_maven package -Dmaven.test.skip=true ;;
        *) quiet_maven compile ;;
    esac || return 1
    mv "$2.new" "$2"
}

# Prints the path of the jar with the tools, the library and all dependencies.
tools_jar() {
    printf '%s\n' "$PROJECT/target/verbena-$(project_version)-tools.jar"
}

# Prints the version of the project. The folder may have jars of other versions, too.
project_version() {
    sed -n '/<version>/ {
        s|.*<version>\(.*\)</version>.*|\1|p
        q
    }' "$PROJECT/pom.xml"
}

# Prints the options for every Java program of this project: native access for Verbena, and a class path.
java_options() {
    local classes=$1
    printf '%s\n' --enable-native-access=ALL-UNNAMED
    if (($(jdk_feature_release "$JAVA_HOME") >= 24)); then printf '%s\n' --illegal-native-access=deny; fi
    printf '%s\n' -cp "$classes"
}

# start_options NAME COMMAND...: prints options for a fast start of COMMAND. With JDK 25 and newer they use an AOT cache
# of loaded and linked classes in target. To make the cache, COMMAND runs once.
start_options() {
    local name=$1 cache
    shift
    printf '%s\n' -XX:+UseSerialGC -XX:TieredStopAtLevel=1
    if (($(jdk_feature_release "$JAVA_HOME") < 25)); then return 0; fi
    cache=$PROJECT/target/$name-$(cksum < "$JAVA_HOME/release" | cut -d ' ' -f 1).aot
    if [[ ! -s $cache || $(tools_jar) -nt $cache ]]; then
        "$1" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xlog:disable "-XX:AOTCacheOutput=$cache.$$" "${@:2}" \
            > /dev/null 2>&1 || true
        if [[ -s $cache.$$ ]]; then mv "$cache.$$" "$cache"; fi
    fi
    if [[ -s $cache ]]; then printf '%s\n' "-XX:AOTCache=$cache" -Xlog:disable; fi
}
