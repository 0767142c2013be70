# Decides between KVM and emulation. Needs cache.sh. Source this file.
# shellcheck shell=bash

# guest_accel KERNEL INITRAMFS: prints kvm or tcg. KVM is used only where the very kernel was seen to boot with it:
# some machines offer a /dev/kvm under which a distribution's kernel hangs.
guest_accel() {
    local answer
    case ${VERBENA_ACCEL:-} in
        kvm | tcg)
            printf '%s' "$VERBENA_ACCEL"
            return
            ;;
    esac
    # Paravirtual page tables: a tiny guest works there, a stock kernel does not.
    if [[ ! -r /dev/kvm || ! -w /dev/kvm || -e /sys/module/kvm_pvm ]]; then
        printf tcg
        return
    fi
    answer=$(accel_answer)
    if [[ ! -s $answer ]]; then with_lock accel probe_kvm "$1" "$2" "$answer"; fi
    cat "$answer"
}

# Where the answer for this kernel is kept until this machine is booted again.
accel_answer() { printf '%s' "$CACHE/accel/$(< /proc/sys/kernel/random/boot_id)-$KERNEL_VERSION"; }

# For when the probe said yes and a guest hung all the same.
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
