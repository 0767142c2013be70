# Chooses the tests for a change: those that reach what has changed. A whole run of tests writes what each test class reaches to
# target/reach.tsv, whose columns are the run, the test class, its seconds, and the classes that it has run. Needs the functions
# of scripts/test. Source this file.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # variables of scripts/test

REACHED=$PROJECT/target/reach.tsv
LONGEST_host=40 # seconds that the chosen tests may take here, and in a guest, which takes a while to start
LONGEST_device=20

# Keeps what the runs of all tests have reached, if each of them has written its part.
write_reach() {
    local run
    for run in "${runs[@]}"; do
        if [[ ! -s $SHOW/reach/$run && $run != *hammers ]]; then return 0; fi
    done
    awk -v OFS='\t' '{ run = FILENAME; sub(/.*\//, "", run); print run, $0 }' "$SHOW"/reach/* > "$REACHED.new"
    mv "$REACHED.new" "$REACHED"
}

# Prints the files that differ from revision $1, and new ones.
changed_files() {
    git -C "$PROJECT" diff --name-only --no-renames "$1" --
    git -C "$PROJECT" ls-files --others --exclude-standard
}

# all_because WHY: chooses all tests.
all_because() {
    printf 'All tests run: %s.\n' "$1"
    name_of_tests=ALL
}

# Prints the class of a file of Java, with dots.
class_of() {
    local class=${1#src/*/java/}
    class=${class%.java}
    printf '%s\n' "${class//\//.}"
}

# Prints those files of the tests that have a line that matches $1.
tests_with() {
    cd "$PROJECT" || return 1
    grep -rlE --include='*.java' "$1" src/test/java || true
}

# Prints the files of the tests $* and of those that use them, directly or through other classes of the tests.
with_users() {
    local file name seen=' ' next=("$@")
    while ((${#next[@]})); do
        file=${next[0]}
        next=("${next[@]:1}")
        if [[ $seen == *" $file "* ]]; then continue; fi
        seen+="$file "
        printf '%s\n' "$file"
        name=${file##*/}
        # A class is used by its name. Lines of comments do not count.
        mapfile -t -O "${#next[@]}" next < <(tests_with "^[^*]*\b${name%.java}\b")
    done
}

# Prints the test classes that name a script, or one that uses the file $1 of scripts/lib, or that file itself; and those that look
# at all scripts. Lines of comments do not count.
tests_of_script() {
    local script code='^ *([^ */].*)?' names='"scripts"' callers=("$1") name=${1##*/} lists=
    if [[ $1 == scripts/lib/* ]]; then
        mapfile -t callers < <(cd "$PROJECT" && grep -slE "/${name//./[.]}( |\"|\$)" scripts/*)
        names+="|\"$name\""
        lists="|^ *(.*bash\()?\"([a-z]+ )*${name%.*}( [a-z]+)*\"," # of files that a test sources
    fi
    for script in "${callers[@]}"; do names+="|\"${script}[ \"]|\"${script##*/} --"; done
    tests_with "$code($names)$lists" | grep 'Test\.java$' || true
}

# choose_changed REVISION ALL: sets name_of_tests to a pattern of the test classes that reach what has changed since REVISION, or
# to ALL. Of the classes that take long, it leaves out those that reach most, unless ALL is 'yes'.
choose_changed() {
    local file files main=() tests=() always=() class
    mapfile -t files < <(changed_files "$1" | sort -u)
    if ((${#files[@]} == 0)); then
        printf 'Nothing has changed since %s.\n0 passed, 0 failed, 0 skipped\n' "$1"
        exit 0
    fi
    name_of_tests=
    for file in "${files[@]}"; do
        case $file in
            src/main/java/module-info.java | src/main/resources/* | bindings/* | pom.xml | .mvn/* | src/test/c/*)
                all_because "$file has changed" ;;
            scripts/lib/guest* | scripts/lib/initramfs.sh | scripts/lib/copies.sh) all_because "$file has changed" ;;
            scripts/* | .ci/*) mapfile -t -O "${#tests[@]}" tests < <(tests_of_script "$file") ;;
            src/main/java/* | src/tools/java/* | src/examples/java/*) main+=("$(class_of "$file")") ;;
            src/test/java/*)
                if [[ -e $PROJECT/$file ]]; then tests+=("$file"); else all_because "$file is gone"; fi ;;
            src/test/stress/*) always+=(dev.verbena.internal.lifetime.CloseStressTest) ;;
            src/docs/* | src/main/javadoc/* | README.md)
                mapfile -t -O "${#tests[@]}" tests < <(tests_with 'src/docs|SourceTree|"README') ;;
            src/test/resources/* | src/tools/*) mapfile -t -O "${#tests[@]}" tests < <(tests_with "${file##*/}") ;;
            src/bench/*) printf 'scripts/bench is left out.\n' ;;
        esac
        if [[ $name_of_tests == ALL ]]; then return 0; fi
    done
    if ((${#main[@]} + ${#tests[@]})); then # some tests read all sources
        mapfile -t -O "${#tests[@]}" tests < <(tests_with SourceTree)
    fi
    while read -r file; do
        if ! grep -qE '^@(Slow|LongTest|PairTest|EngineTest|Tag\("walk)' "$PROJECT/$file"; then always+=("$(class_of "$file")"); fi
    done < <(with_users "${tests[@]}" | grep 'Test\.java$')
    for class in "${main[@]}"; do
        if [[ ! -s $REACHED ]]; then
            all_because 'no run of all tests has written yet what they reach'
            return 0
        elif ! grep -qwF "$class" "$REACHED"; then
            all_because "no test is known to reach $class"
            return 0
        fi
    done
    choose_reaching "$2" "${always[*]}" "${main[*]}"
}

# choose_reaching ALL ALWAYS MAIN: chooses the test classes ALWAYS, and of those that reach one of MAIN the most specific ones:
# first the classes that are named after it, then those that reach few classes.
choose_reaching() {
    local all=$1 class seconds where spent_device=0 spent_host=0 left=() names=() patterns
    read -ra names <<< "$2"
    while read -r _ seconds where class; do
        if [[ " ${names[*]} " == *" $class "* ]]; then continue; fi
        local -n spent=spent_$where
        local -n longest=LONGEST_$where
        if [[ $all == yes ]] || ((spent + seconds <= longest)); then
            spent=$((spent + seconds))
            names+=("$class")
        else
            left+=("${class##*.}")
        fi
    done < <(reaching "$3" | sort -n -k 1,1 -k 2,2)
    if ((${#names[@]} == 0)); then
        printf 'No test is chosen: nothing has changed that tests look at.\n0 passed, 0 failed, 0 skipped\n'
        exit 0
    fi
    printf 'Chosen, of %d test classes: %s\n' "$(named Test | wc -l)" "$(sorted "${names[@]##*.}")"
    if ((${#left[@]})); then
        printf 'Left out, though they reach what has changed (with --all they run): %s\n' "$(sorted "${left[@]}")"
    fi
    if [[ -n $3 ]]; then
        printf 'Left out, because what the JVMs reach that they start is not known: %s\n' \
            "$(awk -F '\t' '/ \*$/ { sub(/.*[.]/, "", $2); print $2 }' "$REACHED" | sort -u | paste -s -d ' ')"
    fi
    patterns=$(printf '%s|' "${names[@]//./[.]}")
    name_of_tests="^(${patterns%|})([\$].*)?\$"
}

sorted() { printf '%s\n' "$@" | sort | paste -s -d ' '; }

# Prints the test classes that reach one of the classes $1, as RANK SECONDS device|host CLASS.
reaching() {
    [[ -n $1 ]] || return 0
    awk -F '\t' -v main="$1" '
        BEGIN {
            n = split(main, list, " ")
            for (i = 1; i <= n; i++) { wanted[list[i]]; own[list[i] "Test"] }
        }
        {
            class = $2
            sub(/[$].*/, "", class)
            seconds[class] += $3
            where[class] = $1 ~ /^device/ ? "device" : "host"
            n = split($4, reached, " ")
            if (n > size[class]) size[class] = n
            for (i = 1; i <= n; i++) if (reached[i] in wanted) reaches[class]
        }
        END {
            for (class in reaches) printf "%d %d %s %s\n", class in own ? 0 : size[class], seconds[class] + 0.5, where[class], class
        }' "$REACHED"
}
