# Compiles the project. Source this file after jdk.sh and packages.sh.
# shellcheck shell=bash

# Maven's own libraries do what newer JDKs warn of; the warnings would only hide ours.
quiet_maven() {
    local options=${MAVEN_OPTS:-}
    if (($(jdk_feature_release "$JAVA_HOME") >= 24)); then
        options+=" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow"
    fi
    MAVEN_OPTS=$options mvn --batch-mode --quiet -Dstyle.color=never "$@"
}

# build [main|tools|tests]: compiles what is out of date. 'tools' makes the tools' jar, too; 'tests' writes the class path of
# the tests to target/test-classpath.
build() {
    local what=${1:-main} stamp
    stamp=$PROJECT/target/built-$what
    if [[ -e $stamp && -z $(find "$PROJECT/pom.xml" "$PROJECT/src" "$PROJECT/bindings" -newer "$stamp" -print -quit) ]]; then
        return 0
    fi
    need_packages 'building' maven
    printf 'Building\n' >&2
    case $what in
        tests)
            (cd "$PROJECT" &&
                quiet_maven test-compile dependency:build-classpath -Dmdep.outputFile=target/test-classpath)
            ;;
        tools) (cd "$PROJECT" && quiet_maven package -Dmaven.test.skip=true >&2) ;;
        *) (cd "$PROJECT" && quiet_maven compile) ;;
    esac
    touch "$stamp"
}

# Prints the path of the jar that holds the tools, the library, and all they need.
tools_jar() {
    printf '%s\n' "$PROJECT"/target/verbena-*-tools.jar
}

# The options every Java program of this project is started with: native access, and no other; with the class path $1, if
# there is one.
java_options() {
    local classes=${1:-}
    printf '%s\n' --enable-native-access=ALL-UNNAMED
    if (($(jdk_feature_release "$JAVA_HOME") >= 24)); then printf '%s\n' --illegal-native-access=deny; fi
    if [[ -n $classes ]]; then printf '%s\n' -cp "$classes"; fi
}
