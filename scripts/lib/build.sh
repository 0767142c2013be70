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

# build [main|tests]: compiles what is out of date, and writes the class path of the tests to target/test-classpath.
build() {
    local what=${1:-main} phase=compile stamp
    stamp=$PROJECT/target/built-$what
    if [[ -e $stamp && -z $(find "$PROJECT/pom.xml" "$PROJECT/src" "$PROJECT/bindings" -newer "$stamp" -print -quit) ]]; then
        return 0
    fi
    need_packages 'building' maven
    printf 'Building\n' >&2
    if [[ $what == tests ]]; then
        phase=test-compile
        (cd "$PROJECT" && quiet_maven "$phase" dependency:build-classpath -Dmdep.outputFile=target/test-classpath)
    else
        (cd "$PROJECT" && quiet_maven "$phase")
    fi
    touch "$stamp"
}

# The options every Java program of this project is started with: native access, and no other.
java_options() {
    local classes=$1
    printf '%s\n' --enable-native-access=ALL-UNNAMED
    if (($(jdk_feature_release "$JAVA_HOME") >= 24)); then printf '%s\n' --illegal-native-access=deny; fi
    printf '%s\n' -cp "$classes"
}
