# The RDMA device of the machine that a script runs on. Source this file.
# shellcheck shell=bash

# Prints the name of the first device.
device_name() { find /sys/class/infiniband -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | head -n 1; }

# Prints the IPv4 address of the first device: VERBENA_ADDRESS, or that in one of its GIDs. Nothing if there is none.
device_address() {
    local gid
    if [[ -n ${VERBENA_ADDRESS:-} ]]; then
        printf '%s\n' "$VERBENA_ADDRESS"
        return
    fi
    gid=$(cat "/sys/class/infiniband/$(device_name)/ports/1/gids/"* 2> /dev/null | tr -d : |
        sed -n 's/^0\{20\}ffff//p' | head -n 1) || true
    if [[ -n $gid ]]; then printf '%d.%d.%d.%d\n' "0x${gid:0:2}" "0x${gid:2:2}" "0x${gid:4:2}" "0x${gid:6:2}"; fi
}
