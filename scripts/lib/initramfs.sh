# Builds the guest's initial file system: busybox, the kernel modules and guest-init. Needs cache.sh. Source this file.
# shellcheck shell=bash

# Modules in loading order. Built-in and missing modules are skipped.
# crc32_generic: older versions of rxe request it by an alias when a device is added.
# ib_uverbs before rdma_ucm: a device that is removed leaves the later module first. ib_uverbs would wait there until all
# programs have closed the device, and rdma_cm would not tell them to. Newer versions of rxe do not load it themselves.
GUEST_MODULES=(virtio_pci 9pnet_virtio 9p overlay virtio_console virtio_rng ipv6
    crc32_generic ib_uverbs rdma_rxe rdma_ucm ib_umad dummy veth sch_netem vmgenid)

# Applets of busybox that guest-init calls.
GUEST_APPLETS=(cat cp dmesg env grep hostname hwclock insmod ip ln mkdir mkfifo mount seq setsid sh sleep stty switch_root sync
    tail uname usleep)

# initramfs_for VERSION ROOT: prints the file for this kernel and this version of the scripts. Makes it if necessary.
initramfs_for() {
    local version=$1 root=$2 busybox hash file
    busybox=$(static_busybox) || return 1
    hash=$(cat "$LIB/initramfs.sh" "$LIB/guest-init" "$busybox" \
        "${root%/}/lib/modules/$version/modules.dep" "$(command -v rdma)" | sha256sum)
    file=$CACHE/initramfs/$version-${hash:0:16}.cpio
    if [[ ! -s $file ]]; then with_lock initramfs build_initramfs "$version" "$root" "$busybox" "$file" >&2; fi
    [[ -s $file ]] || return 1
    printf '%s' "$file"
}

# Prints the path of a statically linked busybox: the initial file system has no libraries.
static_busybox() {
    local file
    # shellcheck disable=SC2153  # of roots.sh
    if is_foreign && [[ -x $ROOT/usr/bin/busybox ]]; then
        printf '%s' "$ROOT/usr/bin/busybox"
        return 0
    fi
    for file in /bin/busybox /usr/bin/busybox /usr/sbin/busybox /sbin/busybox /usr/bin/busybox.static; do
        if [[ -x $file ]] && ! ldd "$file" > /dev/null 2>&1; then
            printf '%s' "$file"
            return 0
        fi
    done
    say 'no statically linked busybox found'
    return 1
}

build_initramfs() {
    local version=$1 root=$2 busybox=$3 file=$4 work applet
    [[ ! -s $file ]] || return 0
    work=$(mktemp -d) || return 1
    # shellcheck disable=SC2064  # the value of now; this runs in with_lock's own shell
    trap "rm -rf '$work' '$file.$$'" EXIT
    # Each step is checked: a file system that was cut by a full disk must not get its final name.
    mkdir -p "$work"/{bin,modules,proc,sys,dev,host,write,new} "$CACHE/initramfs" || return 1
    cp "$busybox" "$work/bin/busybox" || return 1
    for applet in "${GUEST_APPLETS[@]}"; do ln -s busybox "$work/bin/$applet" || return 1; done
    cp "$LIB/guest-init" "$work/init" || return 1
    chmod 755 "$work/init" "$work/bin/busybox" || return 1
    copy_modules "$version" "$root" "$work/modules" || return 1
    copy_rdma "$work/rdma" || return 1
    # Not compressed: on an emulated processor, unpacking is slower than reading.
    (cd "$work" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) > "$file.$$" || return 1
    mv "$file.$$" "$file"
}

# Copies the program rdma with its libraries into folder $1, for a guest that has no other file system yet.
copy_rdma() {
    local program
    if is_foreign || ! program=$(command -v rdma); then return 0; fi
    mkdir "$1" && cp -L "$program" "$1/rdma" || return 1
    ldd "$program" | grep -o '/[^ ]*' | xargs -r cp -L -t "$1"
}

# Cuts off the signature of module $1: verifying all signatures takes an emulated processor half a second.
# The file ends with the signature, twelve bytes whose last four are its length, and a marker line.
drop_signature() {
    local length
    [[ $(tail -c 28 "$1" | tr -d '\0') == '~Module signature appended~' ]] || return 0
    length=$(tail -c 32 "$1" | od -An -v -t u4 --endian=big -N 4 | tr -d ' ')
    truncate -s "-$((length + 12 + 28))" "$1"
}

# Copies the modules into folder $3, numbered in loading order.
copy_modules() {
    local version=$1 root=$2 folder=$3 name line module target number=100
    local -A seen=()
    for name in "${GUEST_MODULES[@]}"; do
        while read -r line; do
            [[ $line == insmod* ]] || continue # "builtin ..."
            module=${line#insmod }
            module=${module%% *}
            [[ -z ${seen[$module]:-} ]] || continue
            seen[$module]=1
            target=${module##*/}
            target=$folder/$((number++))-${target%.ko*}.ko
            case $module in
                *.xz) xz -dc "$module" > "$target" ;;
                *.zst) zstd -qdc "$module" > "$target" ;;
                *.gz) gzip -dc "$module" > "$target" ;;
                *) cp "$module" "$target" ;;
            esac || { say "cannot copy $module: is the disk full?"; return 1; }
            drop_signature "$target"
        done < <(modprobe -D -S "$version" -d "$root" "$name" 2> /dev/null || true)
    done
    if ! compgen -G "$folder/*-rdma_rxe.ko" > /dev/null; then
        say "kernel $version has no rdma_rxe module"
        return 1
    fi
}
