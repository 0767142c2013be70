# What JVMs of tests run in place of the compiled classes: copies that note what they reach, and for guests jars with an archive
# of loaded classes. An emulated processor starts a JVM with them in a third of the time. Needs cache.sh, build.sh and the
# functions of scripts/test.
# Source this file.
# shellcheck shell=bash

COPIES=$PROJECT/target/tests # the folder

# Prints a number that changes with this machine's JDK and what the tests depend on.
dependencies_key() { cat "$JAVA_HOME/release" "$PROJECT/target/test-classpath" | cksum | cut -d ' ' -f 1; }

# True if $1 was made after the last build.
is_current() { [[ -e $1 && $1 -nt $PROJECT/target/built-tests ]]; }

# make_copies reach|ledger: writes copies of the classes, which note what they reach, and for the ledger which C functions they
# call, to the folder of this name.
make_copies() {
    if is_current "$COPIES/$1.made"; then return 0; fi
    rm -rf "${COPIES:?}/$1"
    mkdir -p "$COPIES"
    (cd "$PROJECT" && java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -cp "target/test-classes:target/classes:$(< target/test-classpath)" dev.verbena.reach.Instrument \
        "target/tests/$1" "$1" target/classes target/test-classes) || return 1
    touch "$COPIES/$1.made"
}

# make_jar NAME FOLDER: writes a jar, which is not compressed.
make_jar() {
    if is_current "$COPIES/$1.jar"; then return 0; fi
    "$JAVA_HOME/bin/jar" --create --no-compress --file "$COPIES/$1.jar.new" -C "$2" . &&
        mv "$COPIES/$1.jar.new" "$COPIES/$1.jar"
}

# Prints the class path of the programs in a guest that tests start.
guest_classpath() { printf '%s:%s:%s\n' "$COPIES/tests.jar" "$COPIES/main.jar" "$(< "$PROJECT/target/test-classpath")"; }

# Prints the archive NAME for this JDK.
archive() { printf '%s/%s-%s.jsa\n' "$COPIES" "$1" "$(dependencies_key)"; }

# make_for_guest plain|ledger: makes jars and archives for JVMs in guests, with the copies for the ledger if a run writes it.
make_for_guest() {
    local archive making=()
    mkdir -p "$COPIES"
    make_jar main "$PROJECT/target/classes"
    make_jar tests "$PROJECT/target/test-classes"
    make_archive plain "$(guest_classpath)" 2> /dev/null &
    making+=("$!")
    if [[ $1 == ledger ]]; then
        make_copies ledger && make_jar ledger "$COPIES/ledger"
        make_archive ledger "$COPIES/ledger.jar:$(guest_classpath)" 2> /dev/null &
        making+=("$!")
    fi
    for archive in "${making[@]}"; do
        wait "$archive" || printf 'No archive of classes could be made: JVMs in a guest start more slowly\n' >&2
    done
}

# make_archive NAME CLASSPATH: writes an archive of classes for a class path.
make_archive() {
    local file
    file=$(archive "$1")
    if is_current "$file"; then return 0; fi
    rm -f "$file"
    {
        known_classes
        find "$PROJECT/target/classes" "$PROJECT/target/test-classes" -name '*.class' -printf '%P\n'
    } | sed -n '/module-info/d; s/\.class$//; p' > "$COPIES/$1.lst"
    # Where the options for native access differ from those of a run, the archive helps less. Only G1 writes objects of the
    # heap to an archive, which JVMs with another collector can load.
    java -Xshare:dump -Xlog:disable -XX:+UseG1GC --enable-native-access=ALL-UNNAMED \
        "-XX:SharedClassListFile=$COPIES/$1.lst" "-XX:SharedArchiveFile=$file.new" -cp "$2" > /dev/null 2>&1 &&
        mv "$file.new" "$file"
}

# Prints the options of a JVM in a guest that use archive $1. The JVM says nothing if it can't use the archive, because
# programs of tests print for the tests. At a fixed address, an emulated processor need not change each pointer in the archive.
archive_options() {
    if [[ -s $1 ]]; then
        printf '%s\n' "-XX:SharedArchiveFile=$1" -Xlog:cds=off -XX:+UnlockDiagnosticVMOptions -XX:ArchiveRelocationMode=0
    fi
}

# Prints the classes of the JDK and of libraries that tests load: those that JUnit has loaded once, which looked at all classes of
# guests, and ran a few tests over TCP and on the provider for tests.
known_classes() {
    local file
    file=$CACHE/classes/loaded-$(dependencies_key)
    if [[ ! -s $file ]]; then with_lock classes find_known_classes "$file" >&2; fi
    cat "$file"
}

find_known_classes() {
    [[ ! -s $1 ]] || return 0
    mkdir -p "${1%/*}"
    local options library chosen SELECTED
    library=$(fenced_library)
    if [[ ! -s $library ]]; then make_fenced || return 1; fi
    # shellcheck disable=SC2034  # select_classes reads it
    mapfile -t chosen < <(named '')
    select_classes "$GUEST_TESTS"
    mapfile -t options < <(java_options "$(guest_classpath)")
    LD_PRELOAD=$library java "-XX:DumpLoadedClassList=$1.$$" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "${options[@]}" \
        "-Ddev.verbena.libibverbs=$library" -Ddev.verbena.fenced=true \
        dev.verbena.support.RunTests --results "$COPIES/known" "${SELECTED[@]}" \
        --exclude-tag 'device|slow|long|iwarp|pair|engine|walk|hammer|headers|mlx5' \
        --select-class "dev.verbena.net.OverTcpTest\$MessagesTest" --select-class dev.verbena.RdmaTest \
        --select-class dev.verbena.cm.ConnectionLifetimeTest > /dev/null 2>&1 || true
    [[ -s $1.$$ ]] || return 1
    sed '/^dev\/verbena/d; /^@lambda-proxy dev\/verbena/d; /source:/d' "$1.$$" > "$1.new"
    mv "$1.new" "$1"
    rm -f "$1.$$"
}
