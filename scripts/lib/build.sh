# Compiles the project. Source this file after jdk.sh and packages.sh.
# shellcheck shell=bash

# Options of JVMs that compile for half a minute. The JIT compiler C2 would take more than it gives: Error Prone's run takes 36
# seconds of processor time in place of 90, javac for all sources 21 in place of 52.
COMPILING=(-XX:+UseSerialGC -XX:TieredStopAtLevel=1)

compiler() { javac "${COMPILING[@]/#/-J}" "$@"; }

# Runs Maven without the warnings that newer JDKs print about Maven's own libraries, and without the escape sequences
# that Maven prints at its end, on both streams, even if told to use no colours. All that is left are errors.
quiet_maven() {
    local options="${MAVEN_OPTS:-} ${COMPILING[*]}"
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

# build [main|tools|tests]: compiles the project if it is out of date. 'tools' also makes the tools' jar and the AOT caches
# of its programs; 'tests' also writes the class path of the tests to target/test-classpath.
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
        tests)
            # Maven does not remove the classes of sources that are gone if it has not compiled them itself.
            rm -rf target/classes target/tools-classes target/test-classes target/maven-status
            quiet_maven test-compile dependency:build-classpath -Dmdep.outputFile=target/test-classpath &&
                all_sources > target/built-sources
            ;;
        tools) quiet_maven package -Dmaven.test.skip=true && if has_caches; then make_caches; fi ;;
        *) quiet_maven compile ;;
    esac || return 1
    mv "$2.new" "$2"
}

# Prints the options of javac that pom.xml has for all sources.
compiler_options() {
    printf '%s\n' -encoding UTF-8 -Werror --release
    sed -n 's|.*<maven.compiler.release>\(.*\)</maven.compiler.release>.*|\1|p' "$PROJECT/pom.xml"
    sed -n '/<compilerArgs>/,/<\/compilerArgs>/ { s|.*<arg>\(-[^<]*\)</arg>.*|\1|p; /<\/compilerArgs>/q }' "$PROJECT/pom.xml"
}

# Compiles the library with Error Prone and NullAway, beside the tests, after it has written their class path. What has passed once
# on this machine is not compiled again.
check_sources() {
    local passed goals=(dependency:build-classpath -Dmdep.outputFile=target/test-classpath)
    passed=$(strict_stamp)
    renice -n 5 "$BASHPID" > /dev/null
    cd "$PROJECT" || return 1
    touch target/built-strict.new
    if [[ ! -e $passed ]]; then goals=(-Pstrict "${goals[@]}" compile); fi
    if ! quiet_maven "${goals[@]}"; then
        printf "'mvn -Pstrict compile -Dmaven.compiler.failOnWarning=false' lists the warnings of Error Prone and NullAway.\n" >&2
        return 1
    fi
    mv target/built-strict.new target/built-strict
    mkdir -p "${passed%/*}"
    touch "$passed"
}

# build_whole STAGE: compiles everything anew for a run of all tests, as soon as there is a class path. STAGE is the process that
# has check_sources write it.
build_whole() {
    until [[ -s $PROJECT/target/test-classpath ]]; do
        kill -0 "$1" 2> /dev/null || return 1
        sleep 0.1
    done
    if up_to_date "$PROJECT/target/built-tests"; then return 0; fi
    one_at_a_time build_whole_alone
}

build_whole_alone() {
    cd "$PROJECT" || return 1
    rm -rf target/built-{main,tools,tests} target/classes target/tools-classes target/test-classes target/maven-status target/tests
    mkdir -p target/tests target/test-classes
    touch target/built-tests.new
    compile_whole || return 1
    mv target/built-tests.new target/built-tests
    all_sources > target/built-sources
    touch -r target/built-tests target/built-main
}

compile_whole() {
    local options classpath stress
    mapfile -t options < <(compiler_options)
    classpath=$(< target/test-classpath)
    find src/main/java bindings/java -name '*.java' > target/tests/files
    compile_main target/classes @target/tests/files || return 1
    cp -R src/main/resources/. target/classes/
    options+=(-cp "target/test-classes:target/classes:$classpath" -d target/test-classes)
    find src/tools/java src/examples/java src/test/java -name '*.java' > target/tests/files
    compiler "${options[@]}" -proc:none @target/tests/files || return 1
    # jcstress writes a runner for each of its tests, which javac warns of.
    stress=$(tr ':' '\n' <<< "$classpath" | grep '/jcstress-core-')
    find src/test/stress -name '*.java' > target/tests/files
    compiler "${options[@]/-Werror/-nowarn}" -Xlint:none -processorpath "$stress" @target/tests/files || return 1
    cp -R src/test/resources/. target/test-classes/
}

# Prints the files of Java that a build of the tests compiles.
all_sources() { find src -name '*.java' | sort; }

# Compiles only what has changed since the last build, as fast as possible, and sets COMPILED_ALONE to yes if other sources may use
# it. Returns 1 if there is no build, or what has changed is more than some sources, and 2 if they can't be compiled.
build_changed() {
    local stamp=$PROJECT/target/built-tests options main others
    COMPILED_ALONE=no
    [[ -e $stamp && -s $PROJECT/target/test-classpath ]] || return 1
    if up_to_date "$stamp"; then return 0; fi
    cd "$PROJECT" || return 1
    [[ -z $(find pom.xml bindings src/test/stress -newer "$stamp" -print -quit) ]] || return 1
    # The classes of sources that are gone would stay.
    [[ -s target/built-sources && -z $(all_sources | comm -23 target/built-sources -) ]] || return 1
    touch target/built-tests.new
    mapfile -t options < <(compiler_options)
    mapfile -t main < <(find src/main/java -name '*.java' -newer "$stamp")
    mapfile -t others < <(find src/tools/java src/examples/java src/test/java -name '*.java' -newer "$stamp")
    if ((${#main[@]})); then compile_main target/classes src/main/java/module-info.java "${main[@]}" || return 2; fi
    if ((${#others[@]})); then
        compiler "${options[@]}" -proc:none -cp "target/test-classes:target/classes:$(< target/test-classpath)" \
            -d target/test-classes "${others[@]}" || return 2
    fi
    cp -R src/main/resources/. target/classes/
    cp -R src/test/resources/. target/test-classes/
    mv target/built-tests.new target/built-tests
    all_sources > target/built-sources
    # shellcheck disable=SC2034  # for scripts/test
    if printf '%s\n' "${main[@]}" "${others[@]}" | grep -qv 'Test\.java$'; then COMPILED_ALONE=yes; fi
}

# compile_main FOLDER FILE...: compiles sources of the library to FOLDER, which may have the classes of others.
compile_main() {
    compiler "${options[@]}" -proc:none --module-path "$(tr ':' '\n' < target/test-classpath | grep /jspecify-)" -d "$@"
}

# Compiles all sources beside the tests of a change: sources that were not compiled may use what has changed.
compile_all() {
    local options folder=target/tests/all
    renice -n 10 "$BASHPID" > /dev/null
    cd "$PROJECT" || return 1
    mapfile -t options < <(compiler_options)
    rm -rf "$folder"
    mkdir -p "$folder"
    find src/main/java bindings/java -name '*.java' > "$folder/files"
    compile_main "$folder/classes" "@$folder/files" || return 1
    find src/tools/java src/examples/java src/test/java -name '*.java' > "$folder/files"
    compiler "${options[@]}" -proc:none -cp "$folder/classes:$(< target/test-classpath)" -d "$folder/test-classes" "@$folder/files"
}

# Makes an mlx5 adapter without hardware in folder $1: a library to preload, and with SYSFS_PATH a folder for its devices. The
# processes of that folder reach each other. They need the system's own libibverbs and libmlx5.
make_mlx5() {
    rm -rf "$1/sysfs"
    mkdir -p "$1/sysfs"
    gcc -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -o "$1/libadapter.so" "$PROJECT"/src/bench/c/mlx5/*.c
}

# on_mlx5 FOLDER COMMAND...: runs COMMAND with the adapter of a folder.
on_mlx5() {
    SYSFS_PATH=$1/sysfs LD_PRELOAD=$1/libadapter.so "${@:2}"
}

# Prints the path of the jar with the tools, the library and all dependencies.
tools_jar() {
    printf '%s\n' "$PROJECT/target/verbena-$(project_version)-tools.jar"
}

# Prints the version of the project. The folder may have jars of other versions, too.
project_version() {
    local line
    while read -r line || [[ -n $line ]]; do # the last line may have no end
        if [[ $line == *'<version>'* ]]; then
            line=${line#*<version>}
            printf '%s\n' "${line%%<*}"
            return 0
        fi
    done < "$PROJECT/pom.xml"
}

# Prints the options for every Java program of this project: native access for Verbena, and a class path.
java_options() {
    local classes=$1
    printf '%s\n' --enable-native-access=ALL-UNNAMED
    if (($(jdk_feature_release "$JAVA_HOME") >= 24)); then printf '%s\n' --illegal-native-access=deny; fi
    printf '%s\n' -cp "$classes"
}

# The programs that start with an AOT cache.
CACHED=(tools tour jshell snippets tutorial agent)

# command_of NAME: sets COMMAND to the options and the main class of a program, TRAINING to the arguments of the run that
# makes its cache, and INPUT to the standard input of that run. --illegal-native-access would prevent the use of the cache.
command_of() {
    local folder=$PROJECT/src/tools/jshell
    COMMAND=(--enable-native-access=ALL-UNNAMED -cp "$(tools_jar)")
    TRAINING=("$folder/training.jsh")
    INPUT=/dev/null
    case $1 in
        tools) # the jar's manifest enables native access: an option for it would prevent the use of the cache, too
            COMMAND=(-jar "$(tools_jar)")
            TRAINING=(doctor)
            ;;
        tour)
            COMMAND+=(dev.verbena.tools.shell.Tour)
            TRAINING=(--train)
            ;;
        jshell) # JShell's own JVM has Verbena on its class path, so that the cache contains it
            COMMAND+=(-Djava.util.logging.config.file=/dev/null -m jdk.jshell/jdk.internal.jshell.tool.JShellToolProvider
                --execution "${EXECUTION:-local}" --startup "$folder/startup.jsh")
            TRAINING=(-s -)
            INPUT=$folder/training.jsh
            ;;
        snippets) COMMAND+=(dev.verbena.tools.shell.Snippets "$folder/startup.jsh") ;;
        agent)
            # What the virtual machine says of itself is not for standard output, which leads to the shell. An emulated processor
            # takes longer to compile a method than a line of a shell gains by it: pair() took 8 seconds of processor time in
            # place of 4.
            COMMAND=(-Xlog:disable -XX:+DisplayVMOutputToStderr -XX:CompileThresholdScaling=20 "${COMMAND[@]}"
                dev.verbena.tools.shell.Agent)
            TRAINING=("$folder/startup.jsh" "$folder/training.jsh")
            ;;
        tutorial) COMMAND+=(dev.verbena.tools.shell.Tutorial "$folder/startup.jsh") ;;
    esac
}

has_caches() { (($(jdk_feature_release "$JAVA_HOME") >= 25)); }

# Prints the path of the cache of program $1 for this JDK.
cache_of() {
    printf '%s\n' "$PROJECT/target/$1-$(jdk_key).aot"
}

# Prints the option of a shell with the command that starts its agent.
agent_option() {
    local IFS=$'\t'
    printf '%s' "-Ddev.verbena.shell.agent=$*"
}

# Sets AGENT to the command of a shell's agent. It is another one for another jar: an agent that waits has old classes.
agent_of_shell() {
    local fast COMMAND TRAINING INPUT
    command_of agent
    mapfile -t fast < <(start_options agent)
    # shellcheck disable=SC2034  # for the scripts
    AGENT=(java "-Ddev.verbena.shell.jar=$(stat -c %.9Y-%s "$(tools_jar)")" "${fast[@]}" "${COMMAND[@]}")
}

# Makes the cache of program $1 by a run of it, which needs no device.
make_cache() {
    local cache COMMAND TRAINING INPUT run
    cache=$(cache_of "$1")
    command_of "$1"
    run=(java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xlog:disable "-XX:AOTCacheOutput=$cache.$BASHPID" "${COMMAND[@]}")
    if [[ $1 == agent ]]; then # a shell gives it snippets
        run=(java "$(agent_option "${run[@]}")" -cp "$(tools_jar)" dev.verbena.tools.shell.Snippets)
    fi
    "${run[@]}" "${TRAINING[@]}" < "$INPUT" > /dev/null 2>&1 || true
    if [[ -s $cache.$BASHPID ]]; then mv "$cache.$BASHPID" "$cache"; fi
}

# Makes the caches of all programs, at the same time.
make_caches() {
    local name
    for name in "${CACHED[@]}"; do make_cache "$name" & done
    wait
}

# Prints options for a fast start of program $1. With JDK 25 and newer they use an AOT cache of loaded and linked classes in
# target, which the build has made. It is made here if another JDK built the project.
start_options() {
    local cache
    printf '%s\n' -XX:+UseSerialGC -XX:TieredStopAtLevel=1
    if ! has_caches; then return 0; fi
    cache=$(cache_of "$1")
    if [[ ! -s $cache || $(tools_jar) -nt $cache ]]; then make_cache "$1"; fi
    if [[ -s $cache ]]; then printf '%s\n' "-XX:AOTCache=$cache" -Xlog:disable; fi
}
