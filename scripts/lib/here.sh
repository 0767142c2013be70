# RDMA devices of this machine. Source this file.
# shellcheck shell=bash

HERE_NETDEV=
HERE_COMMAND=

# True if there is an RDMA device that this user can open.
device_here() {
    compgen -G '/sys/class/infiniband/*' > /dev/null || return 1
    local file
    for file in /dev/infiniband/uverbs*; do
        if [[ -r $file && -w $file ]]; then return 0; fi
    done
    return 1
}

# True if the kernel has the soft-RoCE driver. With -n, does not load the driver.
driver_here() { [[ -d /sys/module/rdma_rxe ]] || modprobe -q "$@" rdma_rxe 2> /dev/null; }

# True if a soft-RoCE device can be added to this machine.
can_add_device_here() {
    ((EUID == 0)) && command -v rdma > /dev/null && command -v ip > /dev/null && driver_here "$@"
}

remove_device_here() {
    trap '' INT TERM HUP
    if [[ -n $HERE_COMMAND ]]; then
        kill "$HERE_COMMAND" 2> /dev/null || true
        wait "$HERE_COMMAND" 2> /dev/null || true # an open device cannot be removed
    fi
    [[ -n $HERE_NETDEV ]] || return 0
    rdma link delete "rxe_$HERE_NETDEV" 2> /dev/null || true
    ip link delete "$HERE_NETDEV" 2> /dev/null || true
}

# Prints an address of an unused IPv4 network, so that two runs do not share an address.
free_address_here() {
    local n used
    used=$(ip -o -4 addr)
    for n in {9..254}; do
        if [[ $used != *" 10.9.$n."* ]]; then
            printf '10.9.%s.1' "$n"
            return
        fi
    done
    return 1
}

run_with_added_device() {
    local address status=0 tries=0
    address=$(free_address_here)
    trap remove_device_here EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
    HERE_NETDEV=vrb$$
    modprobe -q rdma_ucm 2> /dev/null || true
    ip link add "$HERE_NETDEV" type dummy
    ip addr add "$address/24" dev "$HERE_NETDEV"
    ip link set "$HERE_NETDEV" up
    rdma link add "rxe_$HERE_NETDEV" type rxe netdev "$HERE_NETDEV"
    until grep -q ACTIVE "/sys/class/infiniband/rxe_$HERE_NETDEV/ports/1/state"; do
        if ((++tries > 200)); then
            say 'the added soft-RoCE device does not become active'
            return 125
        fi
        sleep 0.05
    done
    export VERBENA_DEVICE=rxe_$HERE_NETDEV VERBENA_ADDRESS=$address
    # In the background, because bash handles signals only after a foreground command; with the default action for Ctrl-C.
    env --default-signal=INT,QUIT -- "$@" <&0 &
    HERE_COMMAND=$!
    wait "$HERE_COMMAND" || status=$?
    HERE_COMMAND=
    return "$status"
}
