# The matrix: tests on a device with several kernels, releases of rdma-core, machines and JDKs, each in a guest.
# Needs the functions of scripts/test. Source this file.
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # variables of scripts/test
#
# Each corner has a folder in target/matrix:
#   facts       what the guest says of itself, as lines NAME=VALUE; the last one tells the status and the seconds
#   results     a line for each test; none if the guest or the JVM ended before

MATRIX=$PROJECT/target/matrix
MATRIX_PAGE=$PROJECT/target/matrix.md

# The corners of a run of an hour, and those that --all adds. 65 and newer run on JDK 26, which their suite has. A fresh
# corner runs the two commands on a minimal system of Debian 12 or 13: see fresh.sh.
MATRIX_CORNERS=(6.1-44 6.12-56 7.2-65 7.2-44 6.1-65 siw-44 aarch64-56)
MATRIX_FRESH=(fresh-12 fresh-13)
MATRIX_MORE=(6.12-44 6.1-56 7.2-56 6.12-65)

# The tests of a run of an hour: those that have met differences between kernels, libraries or processors.
MATRIX_CLASSES='[.](LayoutTest|DeviceQueryTest|DeviceInfoTest|ExtendedQueuePairTest'
MATRIX_CLASSES+='|ReliableConnectionTest|TrafficTest|MemoryRegionTest|EndpointTest|ConnectionTest|DeviceRemovalTest|CmInteropTest|RpingInteropTest'
MATRIX_CLASSES+='|CloseStressTest|PreloadedProgramsTest)$'

# Prints the options of scripts/soft-roce for corner $1, one on each line.
corner_options() {
    local library=${1##*-}
    case $library in
        44) printf '%s\n' --root bookworm ;;
        56) printf '%s\n' --root trixie ;;
        *) printf '%s\n' --root sid --jdk 26 ;;
    esac
    case $1 in
        siw-*) printf '%s\n' --kernel 6.1 --device siw ;;
        aarch64-*) printf '%s\n' --kernel 6.12 --arch aarch64 --cpus 2 --parallel --timeout 5400 ;;
        *) printf '%s\n' --kernel "${1%-*}" ;;
    esac
}

# Writes what this machine is to the folder of the corner. Runs in the guest.
matrix_facts() {
    mkdir -p "$1"
    printf 'kernel=%s\nmachine=%s\njdk=%s\nlibrary=%s\n' "$(uname -r)" "$(uname -m)" \
        "$(sed -n 's/^JAVA_VERSION="\(.*\)"/\1/p' "$JAVA_HOME/release")" "$(matrix_library)" > "$1/facts"
}

# Prints the release of rdma-core, such as 44, from the name of its library, such as libibverbs.so.1.14.44.0.
matrix_library() {
    local file
    for file in /usr/lib/*/libibverbs.so.1 /usr/lib64/libibverbs.so.1 /usr/lib/libibverbs.so.1; do
        if [[ -e $file ]]; then
            file=$(readlink -f "$file")
            file=${file%.*}
            printf '%s' "${file##*.}"
            return
        fi
    done
}

# Runs a fresh corner: all tests with --all, else those of one class.
run_fresh_corner() {
    local name=$1 suite=bookworm class='' status=0
    if [[ $name == fresh-13 ]]; then suite=trixie; fi
    rm -rf "${MATRIX:?}/$name"
    if [[ $all == no ]]; then class=${2:-ReliableConnectionTest}; fi
    run_fresh "$suite" "$MATRIX/$name" ${class:+"$class"} || status=$?
    remove_fresh
    matrix_page
    return "$status"
}

# run_corner NAME: runs the tests of a corner, and keeps their report.
run_corner() {
    local name=$1 tag=matrix status=0 begin=$EPOCHSECONDS before=("${options[@]}") corner
    mapfile -t corner < <(corner_options "$name")
    options+=("${corner[@]}")
    if [[ $name == siw-* ]]; then tag=iwarp; fi
    rm -rf "${MATRIX:?}/$name" "$PROJECT/target/test-$tag"
    mkdir -p "$MATRIX/$name"
    printf 'Corner %s: scripts/soft-roce run %s\n' "$name" "${corner[*]}" >&2
    export VERBENA_MATRIX=$MATRIX/$name
    stage on_device "$tag" || status=$?
    unset VERBENA_MATRIX
    options=("${before[@]}")
    printf 'status=%s\nseconds=%s\ndate=%s\ncommit=%s\n' "$status" "$((EPOCHSECONDS - begin))" "$(date -u +%F)" \
        "$(git -C "$PROJECT" rev-parse --short HEAD 2> /dev/null)" >> "$MATRIX/$name/facts"
    if [[ -s $PROJECT/target/test-$tag/results ]]; then
        cp "$PROJECT/target/test-$tag/results" "$MATRIX/$name/results"
    fi
    matrix_page
}

# Runs the corners $*, and prints the counts of all of them. Fails if a test failed, or a corner could not run.
run_matrix() {
    local corner failed=0
    for corner in "$@"; do
        if [[ $corner == fresh-* ]]; then
            run_fresh_corner "$corner" "$name" || failed=1
            continue
        fi
        run_corner "$corner"
        matrix_row "$corner"
        if ! corner_passed "$corner"; then failed=1; fi
    done
    printf 'wrote %s\n' "${MATRIX_PAGE#"$PROJECT/"}"
    return "$failed"
}

# True if the tests of a corner ran, and none failed.
corner_passed() {
    local results=$MATRIX/$1/results
    [[ -s $results ]] && ! grep -q '^failed' "$results"
}

matrix_fact() { sed -n "s/^$2=//p" "$MATRIX/$1/facts" | tail -n 1; }

# Prints a line of the page's table.
matrix_row() {
    local name=$1 results=$MATRIX/$1/results kernel COUNTS
    kernel=$(matrix_fact "$name" kernel)
    printf '| %s | %s | %s | %s | %s | ' "$name" "${kernel:--}" "$(matrix_fact "$name" library)" \
        "$(matrix_fact "$name" machine)" "$(matrix_fact "$name" jdk)"
    if [[ -s $results ]]; then
        count_results "$results"
        printf '%d | %d | %d' "${COUNTS[@]}"
    else
        printf -- '- | did not run: status %s | -' "$(matrix_fact "$name" status)"
    fi
    printf ' | %d | %s | %s |\n' "$(matrix_fact "$name" seconds)" "$(matrix_fact "$name" date)" \
        "$(matrix_fact "$name" commit)"
}

# Prints a list of the tests of a corner with result $2, grouped by reason.
matrix_list() {
    [[ -s $MATRIX/$1/results ]] || return 0
    awk -F '\t' -v result="$2" '$1 == result {
            sub(/.*\./, "", $2); sub(/[( ].*/, "", $3)
            sub(/^[a-zA-Z.0-9$]*Exception: /, "", $4); sub(/^Assumption failed: /, "", $4); gsub(/\|/, "/", $4)
            print $4 "\t" $2 "." $3
        }' "$MATRIX/$1/results" | sort -u | awk -F '\t' -v corner="$1" '
        $1 != reason { if (NR > 1) print ""; reason = $1; printf "- %s, %s: %s", corner, reason, $2; next }
        { printf ", %s", $2 }
        END { if (NR) print "" }'
}

# Writes the page of all corners that were run in this folder.
matrix_page() {
    local corner corners=()
    for corner in "${MATRIX_CORNERS[@]}" "${MATRIX_MORE[@]}"; do
        if [[ -s $MATRIX/$corner/facts ]]; then corners+=("$corner"); fi
    done
    {
        printf '# Where the tests were run\n\nMade by scripts/test --matrix. A corner is a kernel, a device or a machine,\n'
        printf 'and a release of rdma-core.\n\n'
        printf '| corner | Linux | rdma-core | machine | JDK | passed | failed | left out | seconds | date | commit |\n'
        printf '|---|---|---|---|---|---|---|---|---|---|---|\n'
        for corner in "${corners[@]}"; do matrix_row "$corner"; done
        printf '\n## The two commands on a fresh minimal system\n\n'
        for corner in "${MATRIX_FRESH[@]}"; do
            if [[ -s $MATRIX/$corner/steps ]]; then sed "s/^/- Debian ${corner#*-}, /" "$MATRIX/$corner/steps"; fi
        done
        printf '\n## Left out, with the reasons\n\n'
        for corner in "${corners[@]}"; do matrix_list "$corner" skipped; done
        printf '\n## Failed\n\n'
        for corner in "${corners[@]}"; do matrix_list "$corner" failed; done
    } > "$MATRIX_PAGE.new"
    mv "$MATRIX_PAGE.new" "$MATRIX_PAGE"
}
