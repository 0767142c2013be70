# Decides between KVM and emulation. Needs cache.sh. Source this file.
# shellcheck shell=bash

# guest_accel KERNEL INITRAMFS: prints kvm or tcg. Prints kvm only if a probe has booted this kernel with KVM: on some
# machines with /dev/kvm, the kernel of a distribution hangs.
guest_accel() {
    local answer
    case ${VERBENA_ACCEL:-} in
        kvm | tcg)
            printf '%s' "$VERBENA_ACCEL"
            return
            ;;
    esac
    if is_foreign; then
        printf tcg
        return
    fi
    # With paravirtual page tables (kvm_pvm), a tiny guest works but a stock kernel does not.
    if [[ ! -r /dev/kvm || ! -w /dev/kvm || -e /sys/module/kvm_pvm ]]; then
        printf tcg
        return
    fi
    answer=$(accel_answer)
    if [[ ! -s $answer ]]; then with_lock accel probe_kvm "$1" "$2" "$answer"; fi
    cat "$answer"
}

# Prints the file with the probe's result for this kernel. It is valid until this machine boots again.
accel_answer() { printf '%s' "$CACHE/accel/$(< /proc/sys/kernel/random/boot_id)-$KERNEL_VERSION"; }

# Records that a guest hung with KVM although the probe succeeded.
kvm_failed() {
    mkdir -p "$CACHE/accel"
    printf 'tcg\n' > "$(accel_answer)"
}

probe_kvm() {
    local kernel=$1 initramfs=$2 answer=$3 console=ttyS0 machine=q35 result=tcg
    [[ ! -s $answer ]] || return 0
    if [[ $(uname -m) == aarch64 ]]; then console=ttyAMA0 machine=virt; fi
    if timeout -s KILL 5 "$(qemu_program)" -nodefaults -no-user-config -machine "$machine" -accel kvm -cpu host -m 512 \
        -kernel "$kernel" -initrd "$initramfs" -append "console=$console panic=-1 quiet verbena.probe" \
        -display none -no-reboot -serial stdio < /dev/null 2> /dev/null | grep verbena-probe-works > /dev/null; then
        result=kvm
    fi
    mkdir -p "$CACHE/accel"
    printf '%s\n' "$result" > "$answer.$$"
    mv "$answer.$$" "$answer"
}
