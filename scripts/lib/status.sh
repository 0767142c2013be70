# Prints the resources of this machine. Needs the other files of this folder. Source this file.
# shellcheck shell=bash

status() {
    local would
    if device_here; then
        would='the command on this machine'
    elif can_add_device_here; then
        would='the command on this machine, with a temporary soft-RoCE device'
    elif guest_stays; then
        would='the command in the guest that stays'
    else
        would="the command in a guest$(status_missing)"
    fi
    status_line 'RDMA devices here' "$(status_devices)"
    status_line 'soft-RoCE here' "$(status_driver)"
    status_line 'QEMU' "$(status_qemu)"
    status_line 'guest kernels' "$(status_kernels)"
    status_line 'acceleration' "$(status_accel)"
    status_line 'guest that stays' "$(kept_status)"
    status_line 'run would run' "$would"
}

status_line() { printf '%-18s %s\n' "$1:" "$2"; }

status_devices() {
    local device names=
    for device in /sys/class/infiniband/*; do
        if [[ -e $device ]]; then names+="${device##*/} "; fi
    done
    if [[ -z $names ]]; then
        echo none
    elif device_here; then
        echo "${names% }"
    else
        echo "${names% }, but this user cannot open /dev/infiniband/uverbs*"
    fi
}

status_driver() {
    if ! driver_here; then
        echo "kernel $(uname -r) has no rdma_rxe"
    elif can_add_device_here; then
        echo 'a device can be added'
    elif ! is_root; then
        echo 'available, but only root can add a device'
    elif ! has_programs rdma ip; then
        echo 'available, but the tools to add a device are missing (package iproute2)'
    elif ! capable "$NET_ADMIN"; then
        echo 'available, but root of this container cannot add a device'
    else
        echo 'available, but the driver may not be loaded here'
    fi
}

status_qemu() {
    if command -v "$(qemu_program)" > /dev/null; then
        "$(qemu_program)" --version | sed -n '1s/.*version //p'
    else
        echo "$(qemu_program) is not installed"
    fi
}

status_missing() {
    local missing
    missing=$(missing_guest_packages)
    if [[ -n $missing ]]; then
        if is_root && has_apt && may_install; then echo -n ', after installing'; else echo -n ', if there were'; fi
        printf ' %s' "$missing"
    fi
}

status_kernels() {
    local version root list='' default=
    while read -r version root; do
        if [[ $root == / ]]; then list+="$version (installed), "; else list+="$version (in the cache), "; fi
    done < <(kernels_installed; kernels_cached)
    list=${list%, }
    default=$(default_kernel)
    if [[ -n $default ]]; then list+="; without --kernel: $default"; fi
    echo "${list:-none yet, the first run fetches the package of the distribution}"
}

status_accel() {
    local answers
    if [[ -n ${VERBENA_ACCEL:-} ]]; then
        echo "$VERBENA_ACCEL (from VERBENA_ACCEL)"
    elif [[ ! -e /dev/kvm ]]; then
        echo 'none (no /dev/kvm), emulation'
    elif [[ ! -r /dev/kvm || ! -w /dev/kvm ]]; then
        echo 'none (this user cannot open /dev/kvm), emulation'
    elif [[ -e /sys/module/kvm_pvm ]]; then
        echo 'none (stock kernels hang under the KVM of this machine), emulation'
    else
        answers=$(cat "$CACHE/accel/$(< /proc/sys/kernel/random/boot_id)"-* 2> /dev/null | sort -u)
        echo "${answers:-KVM, if the probe in the first run succeeds}"
    fi
}
