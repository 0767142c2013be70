# What one sees of a run of tests: a line for each phase that ends, a count that moves, and a table at the end. Needs PROJECT.
# Source this file.
# shellcheck shell=bash

SHOW=$PROJECT/target/show # a folder: the counts so far, the lines of the table, and the times of the classes
NO_LINE=600 # seconds without a line after which a run hangs. The watchdog ends a test before, and names it
SHOWN= # when the run began

# True if the standard error is a terminal, on which a line can be replaced.
is_terminal() { [[ -t 2 && ${TERM:-dumb} != dumb ]]; }

begin_show() {
    rm -rf "$SHOW"
    mkdir -p "$SHOW/counts"
    : > "$SHOW/phases"
    : > "$SHOW/classes"
    : > "$SHOW/left-out"
    SHOWN=$EPOCHREALTIME
}

# Prints the seconds since time $1 with one digit after the point.
since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

# Removes the line with the moving count.
clear_line() { if is_terminal; then printf '\r\e[K' >&2; fi; }

# Sets TICKS to the processor time of this shell and of all processes below it that have ended, in hundredths of a second.
count_ticks() {
    local stat
    read -r stat < "/proc/$BASHPID/stat"
    read -ra stat <<< "${stat##*) }"
    TICKS=$((stat[11] + stat[12] + stat[13] + stat[14])) # utime, stime, cutime, cstime of proc(5)
}

# phase NAME COMMAND...: runs COMMAND, and prints its time at its end, and that of the processors: phases that go on at the same
# time wait for each other, and only the second says what each costs. To be run by start or stage: else what ends in the
# background counts too.
phase() {
    local name=$1 begin=$EPOCHREALTIME status=0 seconds processor TICKS tests=
    shift
    count_ticks
    processor=$TICKS
    "$@" || status=$?
    seconds=$(since "$begin")
    count_ticks
    processor=$(((TICKS - processor + 50) / 100))
    if [[ -s $SHOW/counts/$name ]]; then
        read -r passed failed skipped _ < "$SHOW/counts/$name"
        tests=$((passed + failed + skipped))
    fi
    printf '%s\t%s\t%s\t%s\t%d\n' "$name" "$seconds" "$processor" "$tests" "$status" >> "$SHOW/phases"
    clear_line
    printf '%6.1f s  %-10s %6.1f s, %d of the processors%s%s\n' "$(since "$SHOWN")" "$name" "$seconds" "$processor" \
        "${tests:+, $tests tests}" "$( ((status == 0)) || printf ', status %d' "$status")" >&2
    return "$status"
}

# True if phase $1 has come to its end without a failure.
phase_passed() { awk -F '\t' -v name="$1" '$1 == name && $5 == 0 { found = 1 } END { exit !found }' "$SHOW/phases"; }

# watched NAME COMMAND...: runs COMMAND, whose output has lines of the listener Progress, and ends the process group of this
# shell if no line comes for long. What tests print themselves goes to a file, whose end is shown if a run leaves no results.
watched() {
    local name=$1 status=0
    shift
    : > "$SHOW/$name.log"
    "$@" 2>&1 | watch_lines "$name"
    status=${PIPESTATUS[0]}
    if [[ ! -e $PROJECT/target/test-$name/results ]]; then tail -n 50 "$SHOW/$name.log"; fi
    return "$status"
}

watch_lines() {
    local line status
    while :; do
        status=0
        IFS= read -r -t "$NO_LINE" line || status=$?
        if ((status > 128)); then
            printf 'FAILED: the run %s has printed nothing for %d s, and is ended\n' "$1" "$NO_LINE"
            tail -n 50 "$SHOW/$1.log"
            kill -TERM 0
        fi
        case $line in
            '::count '*) printf '%s\n' "${line#* }" > "$SHOW/counts/$1" ;;
            '::class '*)
                printf '%s %s\n' "$1" "${line#* }" >> "$SHOW/classes"
                if [[ -n ${name_of_tests:-} ]]; then class_line "${line#* }"; fi
                ;;
            '::left '*)
                printf '%s: %s\n' "$1" "${line#::}" >> "$SHOW/left-out"
                if [[ -n ${name_of_tests:-} ]]; then printf '  %s\n' "${line#::}"; fi
                ;;
            '::FAILED: '* | '::|'*)
                line=${line#::}
                clear_line
                printf '%s\n' "${line#|}"
                ;;
            *)
                printf '%s\n' "$line" >> "$SHOW/$1.log"
                if [[ -n ${name_of_tests:-} && -n $line ]]; then printf '%s\n' "$line"; fi
                ;;
        esac
        if ((status)); then return 0; fi
    done
}

# Prints the counts of a class: CLASS PASSED FAILED SKIPPED SECONDS PROCESSOR.
class_line() {
    local class passed failed skipped seconds
    read -r class passed failed skipped seconds _ <<< "$1"
    if ((passed + failed + skipped)); then
        printf '%s: %d passed, %d failed, %d skipped (%s s)\n' "${class##*.}" "$passed" "$failed" "$skipped" "$seconds"
    fi
}

# Shows the counts of all runs until it is ended: in one line on a terminal, else as a line each half minute.
show_counts() {
    local file passed failed skipped line pause=30
    if is_terminal; then pause=1; fi
    while :; do
        sleep "$pause"
        line=
        for file in "$SHOW"/counts/*; do
            if [[ ! -s $file ]] || ! read -r passed failed skipped _ < "$file"; then continue; fi
            line+=", ${file##*/} $((passed + skipped))"
            if ((failed)); then line+=" ($failed FAILED)"; fi
        done
        if [[ -n $line ]]; then
            clear_line
            printf '%6.1f s  %s' "$(since "$SHOWN")" "${line#, }" >&2
            if ! is_terminal; then printf '\n' >&2; fi
        fi
    done
}

# Prints the phases, and the ten classes that took longest.
show_table() {
    printf '\n%-16s %8s %9s %7s\n' phase seconds processor tests
    awk -F '\t' -v all="$(since "$SHOWN")" '{ printf "%-16s %8.1f %9d %7s\n", $1, $2, $3, $4; sum += $3 }
        END { printf "%-16s %8.1f %9d\n", "all", all, sum }' "$SHOW/phases"
    if [[ -s $SHOW/classes ]]; then
        printf '\n%-8s %8s %9s %6s  slowest classes\n' run seconds processor tests
        sort -k 6,6 -g -r "$SHOW/classes" |
            awk 'NR <= 10 { printf "%-8s %8.1f %9.1f %6d  %s\n", $1, $6, $7, $3 + $4 + $5, $2 }'
    fi
    if [[ -s $SHOW/left-out ]]; then printf '\n%s says why tests were left out.\n' "${SHOW#"$PROJECT/"}/left-out"; fi
    printf '\n'
}
