# Two guests on one wire, and the faults of the wire and of the guests. Needs guest.sh and the files that it needs.
# Source this file.
# shellcheck shell=bash
# shellcheck disable=SC2034  # variables of guest.sh
#
# One process, run_pair, controls the pair. For each guest it starts a process, pair_guest, which starts QEMU and copies
# the guest's output. Requests for faults reach run_pair through one pipe: from this machine by ask, and from the guests
# through a port, which QEMU connects to the same pipe. The files of a pair, in a folder of the cache folder:
#   requests          pipe: SOURCE NUMBER VERB ARGUMENT..., where SOURCE is a, b or host
#   reply.NUMBER      pipe: the answer to a request of this machine
#   wire              the arguments of netem; the wire is down at the sides for which there is a file down.SIDE
#   SIDE/control.*    pipes: the guest's port for requests (out is a link to requests), and the answers (in)
#   SIDE/orders.*     pipes: orders to the guest, such as a change of netem, and its answers
#   SIDE/qmp.*        pipes: QEMU's monitor
#   SIDE/pid          the process id of QEMU
#   SIDE/fate         kill or reboot: why this guest is about to end

SIDES=(a b)
PAIRS=$CACHE/pairs
PAIR=
PAIR_STATUS=0
declare -A SIDE_PID=() THAW_AT=()
ANSWER_LIMIT=60 # seconds
WORDS=() # of a request
BEGUN= # the part of the next request that has come

pair_usage() {
    cat << 'USAGE'
usage: scripts/soft-roce pair [OPTION]... -- COMMAND_A... -- COMMAND_B...
       scripts/soft-roce wire down|up [a|b]
       scripts/soft-roce wire OPTION... | clear
       scripts/soft-roce freeze a|b [SECONDS]
       scripts/soft-roce thaw|kill|reboot a|b

pair    starts two guests, a and b, on one wire, and runs COMMAND_A in a and COMMAND_B in b. Their output has 'a: ' or
        'b: ' before each line; their input is empty. Without COMMAND_B, COMMAND_A runs in both. The first '--' after
        COMMAND_A ends it. A guest stays until the command of the other one has ended, too.

The other commands cause faults while a pair runs. They work on the machine of the pair, and in both guests.

wire    'down' pulls the cable out of both guests, or of one: their links lose the carrier. 'up' plugs it in.
        With options, the guests lose or change packets from now on as these options say. 'clear' ends that.
freeze  stops a guest, for SECONDS or until 'thaw'. Its clock stops, too.
kill    ends a guest at once, as if its power were cut. Its exit status is 137.
reboot  ends a guest at once, if it has not been killed before, and starts it again with the same addresses. Its command
        runs again.

  --loss P          lose P percent of the packets on the wire, in each direction
  --duplicate P     send P percent of the packets twice
  --delay MS        delay each packet by MS milliseconds
  --reorder P       send P percent of the packets at once, before others that are delayed (by 5 ms without --delay)

'pair' also takes the options of 'run' but -i. A guest has 1 processor unless --cpus is given. --timeout limits the time
of the pair, 900 seconds unless given.

Each guest has the wire as link e0, with the device rxe0, and a link c0 for coordination, which has no faults but those
of the guests. With '--devices 2', c0 has the device rxe1: a second path.

                    a               b               variable in a and b
  e0, IPv4          192.0.2.1       192.0.2.2       VERBENA_ADDRESS, VERBENA_PEER
  e0, IPv6          2001:db8::1     2001:db8::2
  c0                198.51.100.1    198.51.100.2    VERBENA_LINK, VERBENA_LINK_PEER

The names a and b are the IPv4 addresses of e0; a-link and b-link are those of c0. VERBENA_SIDE is a or b; VERBENA_BOOT
counts the starts of a guest.

Exit status: the greater one of the two commands'; 124, 125 and 2 as for 'run'. The other commands return 0 when the fault
has happened. If several pairs run, VERBENA_PAIR chooses one of them, by the process id that 'pair' prints.

Example:
  scripts/soft-roce pair --loss 1 -- ibv_rc_pingpong -d rxe0 -g 1 -- \
      sh -c 'sleep 2; ibv_rc_pingpong -d rxe0 -g 1 a-link'
USAGE
}

other_side() { if [[ $1 == a ]]; then echo b; else echo a; fi; }

# Sets NETEM to the arguments of netem for the options of the wire, and REST to the other arguments.
wire_options() {
    local loss='' duplicate='' delay='' reorder=''
    NETEM=
    REST=()
    while (($#)); do
        case $1 in
            --loss | --duplicate | --reorder | --delay)
                [[ ${2:-} =~ ^[0-9]+(\.[0-9]+)?%?$ ]] || wrong_usage "$1 needs a number, got '${2:-}'"
                case $1 in
                    --delay) delay=${2%\%} ;;
                    *) percent "$1" "${2%\%}" ;;&
                    --loss) loss=${2%\%} ;;
                    --duplicate) duplicate=${2%\%} ;;
                    --reorder) reorder=${2%\%} delay=${delay:-5} ;;
                esac
                shift
                ;;
            --)
                REST+=("$@")
                break
                ;;
            *) REST+=("$1") ;;
        esac
        shift
    done
    if [[ -n $delay ]]; then NETEM+=" delay ${delay}ms"; fi
    if [[ -n $loss ]]; then NETEM+=" loss $loss%"; fi
    if [[ -n $duplicate ]]; then NETEM+=" duplicate $duplicate%"; fi
    if [[ -n $reorder ]]; then NETEM+=" reorder $reorder%"; fi
    # The default limit of 1000 packets would lose packets of its own when they are delayed.
    if [[ -n $NETEM ]]; then NETEM="limit 100000$NETEM"; fi
}

percent() { # OPTION NUMBER
    [[ $2 =~ ^(100(\.0+)?|[0-9]{1,2}(\.[0-9]+)?)$ ]] || wrong_usage "$1 is a percentage from 0 to 100, got '$2'"
}

# Requests

# ask VERB ARGUMENT...: sends a request to the pair, prints its answer and returns its status.
ask() {
    local number=$$$RANDOM line status text requests answers
    if [[ -n ${VERBENA_SIDE:-} ]]; then
        answers=/dev/virtio-ports/verbena.control
        # The port can be open only once.
        exec 8> /run/verbena/control.lock && flock 8 && exec {requests}<> "$answers" && answers=$requests
    else
        choose_pair || return 2
        mkfifo "$PAIR/reply.$number"
        # shellcheck disable=SC2064  # the values of now
        trap "rm -f '$PAIR/reply.$number'" EXIT
        exec {requests}<> "$PAIR/requests" {answers}<> "$PAIR/reply.$number"
    fi
    printf '%s %s %s\n' "${VERBENA_SIDE:-host}" "$number" "$*" >&"$requests"
    # An answer with another number is that to a request whose program was killed.
    while IFS= read -r -t "$ANSWER_LIMIT" line <&"$answers"; do
        if [[ $line == "$number "* ]]; then
            read -r _ status text <<< "$line"
            if [[ -n $text ]]; then say "$text"; fi
            return "$status"
        fi
    done
    say "the pair did not answer in $ANSWER_LIMIT seconds"
    return 1
}

# Sets PAIR to the folder of VERBENA_PAIR, or of the only pair that runs. Removes what killed pairs have left.
choose_pair() {
    local folder pairs=()
    for folder in "$PAIRS"/*/; do
        folder=${folder%/}
        [[ -e $folder/lock ]] || continue
        if flock -n "$folder/lock" true; then
            rm -rf "$folder"
        elif [[ -p $folder/requests && (-z ${VERBENA_PAIR:-} || ${folder##*/} == "$VERBENA_PAIR") ]]; then
            pairs+=("$folder")
        fi
    done
    case ${#pairs[@]} in
        1)
            PAIR=${pairs[0]}
            return 0
            ;;
        0) say "no pair runs${VERBENA_PAIR:+ with VERBENA_PAIR=$VERBENA_PAIR}: start one with 'scripts/soft-roce pair'" ;;
        *) say "several pairs run: set VERBENA_PAIR to one of ${pairs[*]##*/}" ;;
    esac
    return 1
}

# Checks the words of a request and sends it.
request() { # VERB ARGUMENT...
    local verb=$1
    shift
    case $verb in
        wire)
            case ${1:-} in
                up | down) if (($# > 2)) || ! is_side "${2:-a}"; then wrong_wire; fi ;;
                clear) if (($# > 1)); then wrong_wire; fi ;;
                *)
                    wire_options "$@"
                    [[ ${#REST[@]} == 0 && -n $NETEM ]] || wrong_wire
                    set -- netem "$NETEM"
                    ;;
            esac
            ;;
        freeze)
            if (($# > 2)) || ! is_side "${1:-}" || [[ ! ${2:-1} =~ ^[1-9][0-9]{0,5}$ ]]; then
                wrong_usage 'freeze needs a or b, and may have a number of seconds'
            fi
            ;;
        *) if (($# != 1)) || ! is_side "$1"; then wrong_usage "$verb needs a or b"; fi ;;
    esac
    ask "$verb" "$@"
}

is_side() { [[ $1 == a || $1 == b ]]; }
wrong_wire() { wrong_usage "wire needs 'up' or 'down' with a, b or nothing, 'clear', or options"; }

# The process that controls the pair

# Carries out the request $2... of source $1, and prints a message if there is something to say.
perform() { # VERB ARGUMENT...
    local verb=$1 side sides=("${SIDES[@]}")
    shift
    case $verb in
        wire)
            case $1 in
                up | down)
                    if [[ -n ${2:-} ]]; then sides=("$2"); fi
                    for side in "${sides[@]}"; do
                        if [[ $1 == down ]]; then : > "$PAIR/down.$side"; else rm -f "$PAIR/down.$side"; fi
                        if is_running "$side"; then plug "$side" || return; fi
                    done
                    ;;
                netem | clear)
                    if [[ $1 == netem ]]; then printf '%s' "${*:2}"; fi > "$PAIR/wire"
                    for side in "${sides[@]}"; do
                        if is_running "$side"; then order "$side" "$@" || return; fi
                    done
                    ;;
                *) return 2 ;;
            esac
            ;;
        freeze)
            need_running "$1" && qmp "$1" stop || return
            THAW_AT[$1]=0
            if [[ -n ${2:-} ]]; then THAW_AT[$1]=$((EPOCHSECONDS + $2)); fi
            ;;
        thaw) thaw "$1" ;;
        kill)
            need_running "$1" || return
            unset "THAW_AT[$1]"
            cut_power "$1" kill
            ;;
        reboot)
            unset "THAW_AT[$1]"
            cut_power "$1" reboot
            ;;
        *)
            echo "unknown request $verb"
            return 2
            ;;
    esac
}

# True if the guest's QEMU runs.
is_running() {
    local pid
    pid=$(cat "$PAIR/$1/pid" 2> /dev/null) && [[ $(cat "/proc/$pid/comm" 2> /dev/null) == qemu-* ]]
}

need_running() {
    is_running "$1" || { echo "guest $1 does not run"; return 1; }
}

# Sets the carrier of a guest's link as the file down.SIDE says.
plug() {
    local up=true
    if [[ -e $PAIR/down.$1 ]]; then up=false; fi
    qmp "$1" set_link "\"name\":\"e0\",\"up\":$up"
}

thaw() {
    need_running "$1" && qmp "$1" cont || return
    unset "THAW_AT[$1]"
}

cut_power() { # SIDE kill|reboot
    echo "$2" > "$PAIR/$1/fate"
    # QEMU ends without telling the guest. No packet of the guest may follow the answer to the request.
    local tries signal=TERM
    for ((tries = 0; tries < 200; tries++)); do
        is_running "$1" || return 0
        if ((tries == 100)); then signal=KILL; fi
        if ((tries % 100 == 0)); then kill "-$signal" "$(< "$PAIR/$1/pid")" 2> /dev/null || true; fi
        sleep 0.05
    done
    echo "the QEMU of guest $1 does not end"
    return 1
}

# qmp SIDE COMMAND [ARGUMENTS]: a command of QEMU's monitor. Fails with the reason.
qmp() {
    local folder=$PAIR/$1 number=$RANDOM line in out
    exec {in}<> "$folder/qmp.in" {out}<> "$folder/qmp.out"
    if [[ ! -e $folder/qmp.ready ]]; then printf '{"execute":"qmp_capabilities"}\n' >&"$in"; fi
    printf '{"execute":"%s","arguments":{%s},"id":%s}\n' "$2" "${3:-}" "$number" >&"$in"
    while IFS= read -r -t 20 line <&"$out"; do
        if [[ $line == *"\"id\": $number"* ]]; then
            exec {in}>&- {out}>&-
            : > "$folder/qmp.ready"
            [[ $line == *'"return"'* ]] || { echo "QEMU refuses $2: $line"; return 1; }
            return 0
        fi
    done
    exec {in}>&- {out}>&-
    echo "the QEMU of guest $1 does not answer"
    return 1
}

# order SIDE WORD...: an order to guest-init.
order() {
    local side=$1 number=$RANDOM line status text in out
    shift
    if [[ -n ${THAW_AT[$side]:-} ]]; then
        echo "guest $side is frozen, and changes its end of the wire only after a thaw and another request"
        return 1
    fi
    # A guest that has not started reads the file wire when it does.
    if ! compgen -G "$PAIR/$side/soft-roce.*/share/settings" > /dev/null; then return 0; fi
    exec {in}<> "$PAIR/$side/orders.in" {out}<> "$PAIR/$side/orders.out"
    printf '%s %s\n' "$number" "$*" >&"$in"
    while IFS= read -r -t 40 line <&"$out"; do
        line=${line%$'\r'}
        if [[ $line == "$number "* ]]; then
            exec {in}>&- {out}>&-
            read -r _ status text <<< "$line"
            if [[ -n $text ]]; then echo "guest $side: $text"; fi
            return "$status"
        fi
    done
    exec {in}>&- {out}>&-
    echo "guest $side does not answer"
    return 1
}

# next_request DESCRIPTOR: sets WORDS to the next request, and fails if there is none yet. On a busy machine, the time can
# be over in the middle of a line: the rest of it comes with a later call.
next_request() {
    local part='' whole=no
    if IFS= read -r -t 0.25 part <&"$1"; then whole=yes; fi
    BEGUN+=$part
    if [[ $whole == no ]]; then return 1; fi
    read -r -a WORDS <<< "$BEGUN"
    BEGUN=
}

answer_request() { # SOURCE NUMBER VERB ARGUMENT...
    local text status=0 file
    # Not in a subshell, in which THAW_AT would be lost.
    perform "${@:3}" > "$PAIR/said" 2>&1 || status=$?
    text=$(tr '\n' ' ' < "$PAIR/said")
    file=$PAIR/reply.$2
    if is_side "$1"; then file=$PAIR/$1/control.in; fi
    if [[ -p $file ]]; then printf '%s %s %s\n' "$2" "$status" "$text" 1<> "$file"; fi
}

# True if the command of guest $1 has ended, or if the guest has been killed.
side_done() {
    if [[ $(cat "$PAIR/$1/fate" 2> /dev/null) == reboot ]]; then return 1; fi
    [[ -e $PAIR/$1/killed ]] || compgen -G "$PAIR/$1/soft-roce.*/share/status" > /dev/null
}

# Creates an empty file $1 in the folder that each guest shares with this machine.
tell_guests() {
    local share
    for share in "$PAIR"/[ab]/soft-roce.*/share; do
        if [[ -d $share ]]; then : > "$share/$1"; fi
    done
}

# True if guest $1 is ready for its command, or has been.
side_ready() { compgen -G "$PAIR/$1/soft-roce.*/share/started" > /dev/null || side_done "$1"; }

# run_pair COMMAND_A... -- COMMAND_B...
run_pair() {
    local first=() side requests gone=() deadline=0 options=()
    while (($#)) && [[ $1 != -- ]]; do
        first+=("$1")
        shift
    done
    if (($#)); then shift; else set -- "${first[@]}"; fi
    PAIR=$PAIRS/$$
    trap pair_cleanup EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 141' PIPE
    trap 'exit 143' TERM
    mkdir -p "$PAIR"/{a,b}
    exec 7> "$PAIR/lock" && flock 7
    mkfifo "$PAIR/requests"
    for side in "${SIDES[@]}"; do
        mkfifo "$PAIR/$side/control.in"
        ln -s ../requests "$PAIR/$side/control.out"
    done
    printf '%s' "$NETEM" > "$PAIR/wire"
    exec {requests}<> "$PAIR/requests"
    if ((TIMEOUT)); then deadline=$((EPOCHSECONDS + TIMEOUT)); fi
    options=(--kernel "$KERNEL" --device "$DEVICE" --devices "$DEVICES" --cpus "$CPUS" --memory "$MEMORY"
        --timeout "$TIMEOUT")
    if [[ $PARALLEL == yes ]]; then options+=(--parallel); fi
    if [[ -n $ROOT_NAME ]]; then options+=(--root "$ROOT_NAME"); fi
    if [[ -n $JDK ]]; then options+=(--jdk "$JDK"); fi
    options+=(--arch "$ARCH")
    say "starting guests a and b with kernel $KERNEL_VERSION (pair $$)"
    start_side a "$deadline" "${options[@]}" -- "${first[@]}"
    start_side b "$deadline" "${options[@]}" -- "$@"

    until side_done a && side_done b; do
        for side in "${SIDES[@]}"; do
            kill -0 "${SIDE_PID[$side]}" 2> /dev/null || gone+=("$side")
        done
        if ((${#gone[@]})); then break; fi
        if side_ready a && side_ready b; then tell_guests go; fi
        if next_request "$requests"; then answer_request "${WORDS[@]}"; fi
        for side in "${SIDES[@]}"; do # a guest that starts again while the wire is down
            if [[ -e $PAIR/down.$side && ! -e $PAIR/$side/qmp.ready ]] && is_running "$side"; then
                plug "$side" > /dev/null || true
            fi
        done
        for side in "${!THAW_AT[@]}"; do
            if ((THAW_AT[$side] && THAW_AT[$side] <= EPOCHSECONDS)); then thaw "$side" > /dev/null || true; fi
        done
    done
    end_pair "${gone[@]}"
    return "$PAIR_STATUS"
}

start_side() { # SIDE DEADLINE OPTION... -- COMMAND...
    setpriv --pdeathsig TERM "$LIB/../soft-roce" pair-guest "$1" "$PAIR" "${@:2}" < /dev/null 7>&- &
    SIDE_PID[$1]=$!
}

# Sets PAIR_STATUS. If guests have gone by a failure, the others are ended; otherwise the guests end by themselves.
end_pair() { # GONE...
    local side status
    tell_guests end
    for side in "${SIDES[@]}"; do
        : > "$PAIR/$side/end"
        if (($#)) && [[ " $* " != *" $side "* ]]; then kill "${SIDE_PID[$side]}" 2> /dev/null || true; fi
        if [[ -n ${THAW_AT[$side]:-} ]]; then thaw "$side" > /dev/null || true; fi
    done
    for side in "${SIDES[@]}"; do
        status=0
        wait "${SIDE_PID[$side]}" || status=$?
        unset "SIDE_PID[$side]"
        if ((!$# || status != 143)) && ((status > PAIR_STATUS)); then PAIR_STATUS=$status; fi
    done
}

pair_cleanup() {
    trap '' INT TERM HUP PIPE
    local side
    for side in "${!SIDE_PID[@]}"; do kill "${SIDE_PID[$side]}" 2> /dev/null || true; done
    for side in "${!SIDE_PID[@]}"; do wait "${SIDE_PID[$side]}" 2> /dev/null || true; done
    rm -rf "$PAIR"
}

# A guest of the pair

# Writes each line of the input with $1 before it, in one piece.
name_lines() {
    local line
    trap '' PIPE # printf fails instead
    while IFS= read -r line || [[ -n $line ]]; do
        printf '%s: %s\n' "$1" "$line" 2> /dev/null || return
    done
}

# pair_guest SIDE DEADLINE COMMAND...: starts the guest, and starts it again after each request for a reboot.
pair_guest() {
    local side=$1 deadline=$2 initramfs kernel accel status boots=0 fate folder=$PAIR/$1
    shift 2
    look_at_streams no
    trap pair_guest_cleanup EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 141' PIPE
    trap 'exit 143' TERM
    say() { printf 'soft-roce: guest %s: %s\n' "$side" "$*" >&2; }
    choose_machine || return 125
    export TMPDIR=$folder
    COPY=(name_lines "$side")
    describe_guest "$side"
    while :; do
        if ((deadline)); then TIMEOUT=$((deadline > EPOCHSECONDS ? deadline - EPOCHSECONDS : 1)); fi
        rm -f "$folder"/{fate,killed,pid,qmp.*,orders.*}
        mkfifo "$folder"/{qmp,orders}.{in,out}
        boot_of_pair "$((++boots))" "$@" && status=0 || status=$?
        fate=$(cat "$folder/fate" 2> /dev/null) || guest_result "$status" || return
        if [[ -z $fate ]]; then return 0; fi
        rm -rf "$GUEST_FOLDER"
        if [[ $fate == kill ]]; then
            say 'killed'
            : > "$folder/killed"
            until [[ -e $folder/end || $(< "$folder/fate") == reboot ]]; do sleep 0.25; done
            if [[ -e $folder/end ]]; then return 137; fi
        fi
        say 'starting again'
    done
}

# Sets the devices, the settings and the environment of guest $1, but for what changes with each boot.
describe_guest() {
    local side=$1 own=1 peer=2 net folder
    if [[ $side == b ]]; then own=2 peer=1; fi
    folder=$(qemu_value "$PAIR/$side")
    # Each pair has a loopback address of its own, so that no port is in use: QEMU cannot choose a free one.
    net=127.$((64 + (PPID >> 16 & 63))).$((PPID >> 8 & 255)).$((PPID & 255))
    GUEST_ADDRESS=192.0.2.$own
    GUEST_DEVICES=(-pidfile "$PAIR/$side/pid"
        -netdev "socket,id=e0,udp=$net:490$peer,localaddr=$net:490$own"
        -device "virtio-net-pci,netdev=e0,mac=52:54:00:02:00:0$own,romfile="
        -netdev "socket,id=c0,udp=$net:491$peer,localaddr=$net:491$own"
        -device "virtio-net-pci,netdev=c0,mac=52:54:00:02:01:0$own,romfile="
        -chardev "pipe,id=qmp,path=$folder/qmp" -mon 'chardev=qmp,mode=control'
        -chardev "pipe,id=control,path=$folder/control" -device 'virtserialport,chardev=control,name=verbena.control'
        -chardev "pipe,id=orders,path=$folder/orders" -device 'virtserialport,chardev=orders,name=verbena.orders')
    printf -v SIDE_SETTINGS 'SIDE=%s\nOWN=%s\nPEER=%s\n' "$side" "$own" "$peer"
    printf -v SIDE_ENVIRONMENT 'export VERBENA_SIDE=%s VERBENA_PEER=192.0.2.%s\n' "$side" "$peer"
    printf -v SIDE_ENVIRONMENT '%sexport VERBENA_LINK=198.51.100.%s VERBENA_LINK_PEER=198.51.100.%s\n' \
        "$SIDE_ENVIRONMENT" "$own" "$peer"
}

boot_of_pair() { # BOOT COMMAND...
    local boot=$1
    shift
    printf -v GUEST_SETTINGS "%sWIRE='%s'\n" "$SIDE_SETTINGS" "$(< "$PAIR/wire")"
    printf -v GUEST_ENVIRONMENT '%sexport VERBENA_BOOT=%s\n' "$SIDE_ENVIRONMENT" "$boot"
    boot "$@"
}

pair_guest_cleanup() {
    guest_cleanup
    if [[ ! -d /proc/$PPID ]]; then rm -rf "$PAIR"; fi # the process that would do it was killed
}
