# RDMA devices of this machine. Needs cache.sh and packages.sh for adding a device. Source this file.
# shellcheck shell=bash

HERE_NETDEV=
HERE_ADDRESS=
HERE_COMMAND=
HERE_LOADED= # the modules that were loaded before this script added a device

# Capabilities, by their bits in the kernel's list.
NET_ADMIN=12
SYS_MODULE=16

# True if there is an RDMA device that this user can open.
device_here() { devices_here 1; }

# True if there are $1 RDMA devices that this user can open.
devices_here() {
    compgen -G '/sys/class/infiniband/*' > /dev/null || return 1
    local file count=0
    for file in /dev/infiniband/uverbs*; do
        if [[ -r $file && -w $file ]]; then count=$((count + 1)); fi
    done
    ((count >= $1))
}

# True for root with the capability $1. In a container, root has few.
capable() {
    is_root && [[ $(< /proc/self/status) =~ CapEff:[[:space:]]*([0-9a-f]+) ]] && ((0x${BASH_REMATCH[1]} >> $1 & 1))
}

# True if the soft-RoCE driver is loaded.
driver_loaded() { [[ -d /sys/module/rdma_rxe ]]; }

# True if the kernel has the soft-RoCE driver, loaded or not.
driver_here() { driver_loaded || modprobe -q -n rdma_rxe 2> /dev/null; }

# True if it seems that a soft-RoCE device can be added to this machine. Changes nothing.
can_add_device_here() {
    capable "$NET_ADMIN" && command -v rdma > /dev/null && command -v ip > /dev/null || return 1
    driver_loaded || { may_install && capable "$SYS_MODULE" && driver_here; }
}

# Expects the packages that building and running on a device take, if that must be in a guest.
expect_build_and_device() {
    expect_packages maven
    if ! device_here && ! can_add_device_here; then
        # shellcheck disable=SC2046  # a list of names
        expect_packages $(missing_for_guest "$(uname -m)")
    fi
}

# Prints the names of the loaded modules, the newest first.
loaded_modules() { cut -d ' ' -f 1 /proc/modules 2> /dev/null || true; }

# Prints the names of the modules that a soft-RoCE device causes to be loaded.
modules_of_device() {
    local name
    for name in rdma_rxe rdma_ucm ib_uverbs dummy; do
        modprobe -D "$name" 2> /dev/null || true
    done | sed -n 's|^insmod .*/\([^/ ]*\)\.ko.*|\1|p' | tr - _ | sort -u
}

# Removes the modules that were loaded for the device, unless another program uses them now.
unload_modules_here() {
    local name removed=yes ours
    ours=$(modules_of_device)
    while [[ $removed == yes ]]; do
        removed=no
        for name in $(loaded_modules); do
            if grep -qx "$name" <<< "$ours" && ! grep -qx "$name" <<< "$HERE_LOADED" &&
                rmmod "$name" 2> /dev/null; then
                removed=yes
            fi
        done
    done
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
    unload_modules_here
    HERE_NETDEV=
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

# Loads the driver and makes the device. Prints the reason if that fails.
make_device_here() {
    local tries=0
    if ! driver_loaded; then
        modprobe -q ib_uverbs 2> /dev/null || true # before rdma_cm: see GUEST_MODULES in initramfs.sh
        modprobe rdma_rxe || return 1
    fi
    if may_install; then modprobe -q rdma_ucm 2> /dev/null || true; fi
    ip link add "$HERE_NETDEV" type dummy && ip addr add "$HERE_ADDRESS/24" dev "$HERE_NETDEV" &&
        ip link set "$HERE_NETDEV" up && rdma link add "rxe_$HERE_NETDEV" type rxe netdev "$HERE_NETDEV" || return 1
    until grep -q ACTIVE "/sys/class/infiniband/rxe_$HERE_NETDEV/ports/1/state" && device_here; do
        if ((++tries > 200)); then
            echo 'the added device does not become active, or /dev/infiniband/uverbs* is missing'
            return 1
        fi
        sleep 0.05
    done 2> /dev/null
}

# Adds a soft-RoCE device to this machine until the script ends. Returns 1 if that fails, after undoing all of it: in a
# container, root may neither add devices nor see those of the host.
add_device_here() {
    local problem
    trap remove_device_here EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
    HERE_LOADED=$(loaded_modules)
    driver_loaded || say 'loading the kernel module rdma_rxe until the end of this run (not with --no-install)'
    HERE_NETDEV=vrb$$
    if HERE_ADDRESS=$(free_address_here) && problem=$(make_device_here 2>&1); then return 0; fi
    say "cannot add a soft-RoCE device to this machine: $(tail -n 1 <<< "${problem:-no free address}")"
    remove_device_here
    trap - EXIT INT TERM HUP
    return 1
}

run_with_added_device() {
    local status=0
    export VERBENA_DEVICE=rxe_$HERE_NETDEV VERBENA_ADDRESS=$HERE_ADDRESS
    # In the background, because bash handles signals only after a foreground command; with the default action for Ctrl-C.
    env --default-signal=INT,QUIT -- "$@" <&0 &
    HERE_COMMAND=$!
    wait "$HERE_COMMAND" || status=$?
    HERE_COMMAND=
    return "$status"
}
