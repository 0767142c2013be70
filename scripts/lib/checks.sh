# Checks whose result depends on the content of some files alone: what has passed once on this machine is not checked again. Needs
# PROJECT, SCRIPTS, cache.sh, build.sh and suite.sh. Source this file.
# shellcheck shell=bash

# Prints a number for the content of files and folders.
content() { (cd "$PROJECT" && find "$@" -type f -print0 | sort -z | xargs -0 cksum | cksum | cut -d ' ' -f 1); }

# Checks the format of those sources whose content has not passed before on this machine.
check_format() {
    local passed new files
    renice -n 5 "$BASHPID" > /dev/null
    passed=$CACHE/format/$(content pom.xml)
    mkdir -p "${passed%/*}"
    touch "$passed"
    new=$(cd "$PROJECT" && find src -name '*.java' -print0 | xargs -0 sha1sum | grep -vFf "$passed") || return 0
    files=()
    if (($(wc -l <<< "$new") < 100)); then
        files=("-DspotlessFiles=$(sed 's/^[^ ]* */.*/; s/\./[.]/g; s/^[[][.][]]/./' <<< "$new" | paste -s -d ,)")
    fi
    (cd "$PROJECT" && quiet_maven "${files[@]}" spotless:check) || return 1
    cut -d ' ' -f 1 <<< "$new" >> "$passed"
}

# Checks the scripts whose content has not passed before on this machine.
check_scripts() {
    local passed sum script status=0
    passed=$CACHE/shellcheck/$(shellcheck --version | cksum | cut -d ' ' -f 1)
    mkdir -p "${passed%/*}"
    touch "$passed"
    while read -r sum script; do
        if shellcheck --color=never "$PROJECT/$script" < /dev/null; then printf '%s\n' "$sum" >> "$passed"; else status=1; fi
    done < <(cd "$PROJECT" && scripts | xargs -d '\n' sha1sum | grep -vFf "$passed")
    return "$status"
}

# Prints the files that begin as a script does, and those that scripts source.
scripts() {
    find scripts .ci src -type f -print0 | xargs -0 awk '
        FNR == 1 && (/^#!.*(ba|da)?sh$/ || FILENAME ~ /[.]sh$/) { print FILENAME }
        { nextfile }'
}

# Runs the short form of the benchmark, and remembers that it has passed with these sources.
check_bench() {
    if ! "$SCRIPTS/bench" --short > "$SHOW/bench" 2>&1; then
        clear_line
        cat "$SHOW/bench"
        return 1
    fi
    mkdir -p "$CACHE/bench"
    touch "$(bench_stamp)"
}

# Prints a file that is there if the check with Error Prone and NullAway has passed with the same sources and JDK.
strict_stamp() { stamp strict src/main/java bindings/java pom.xml; }

# stamp FOLDER FILE...: prints a file of the cache for the content of files and folders, and for the JDK.
stamp() { printf '%s/%s/%s-%s\n' "$CACHE" "$1" "$(content "${@:2}")" "$(jdk_key)"; }

# Prints a file that is there if the benchmark has passed with the same sources and JDK.
bench_stamp() { stamp bench src/main bindings src/bench scripts/bench; }

bench_passed() { [[ -e $(bench_stamp) ]]; }
