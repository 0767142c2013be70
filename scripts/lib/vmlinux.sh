# Unpacks a kernel image on this machine: in an emulated guest, unpacking takes ten seconds.
# Needs cache.sh and packages.sh. Source this file.
# shellcheck shell=bash

ZBOOT=1735223674 # "zimg": an image for EFI that unpacks itself, which QEMU can boot only from version 8 on

# bootable_kernel VERSION IMAGE: prints the file for QEMU, which is the image itself if it cannot be unpacked.
bootable_kernel() {
    local version=$1 image=$2 file
    file=$CACHE/vmlinux/$version-$(stat -L -c %s-%Y "$image")
    if [[ $ARCH != x86_64 && $(number_at "$image" 4 4) != "$ZBOOT" ]]; then
        printf '%s' "$image"
        return
    fi
    if [[ ! -e $file ]]; then
        with_lock vmlinux unpack_kernel "$image" "$file" >&2 ||
            say "cannot unpack $image into $CACHE (the disk is full, or a program is missing): the guest starts slowly"
    fi
    if [[ -s $file ]]; then printf '%s' "$file"; else printf '%s' "$image"; fi
}

# Prints the little-endian number of $3 bytes at offset $2 of file $1.
number_at() { od -An -v -t "u$3" --endian=little -j "$2" -N "$3" "$1" | tr -d ' '; }

# Writes the kernel of the bzImage $1 to file $2, or an empty file if QEMU cannot boot that kernel. Writes no file if the
# kernel cannot be written completely.
unpack_kernel() {
    local image=$1 file=$2 offset length unpack
    [[ ! -e $file ]] || return 0
    mkdir -p "${file%/*}" || return 1
    if [[ $(number_at "$image" 4 4) == "$ZBOOT" ]]; then # see the kernel's drivers/firmware/efi/libstub/zboot-header.S
        offset=$(number_at "$image" 8 4)
        length=$(number_at "$image" 12 4)
        case $(od -An -c -j 24 -N 4 "$image" | tr -d ' ') in
            gzip*) unpack=(gzip -dc) ;;
            xz*) unpack=(xz -dc) ;;
            zstd*) unpack=(zstd -dc) ;;
            *) unpack=(false) ;;
        esac
        (
            set +o pipefail
            tail -c "+$((offset + 1))" "$image" 2> /dev/null | head -c "$length" 2> /dev/null |
                "${unpack[@]}" > "$file.$$" 2> /dev/null
        ) || { rm -f "$file.$$"; return 1; }
        mv "$file.$$" "$file"
        return
    fi
    # Position of the compressed kernel: see the kernel's Documentation/arch/x86/boot.rst. The last four bytes are its
    # unpacked size, which is part of the gzip format but not of the others.
    offset=$((($(number_at "$image" 497 1) + 1) * 512 + $(number_at "$image" 584 4)))
    length=$(number_at "$image" 588 4)
    case $(od -An -v -t x1 -j "$offset" -N 4 "$image" | tr -d ' ') in
        1f8b*) unpack=(gzip -dc) length=$((length + 4)) ;;
        fd377a58) unpack=(xz -dc) ;;
        28b52ffd)
            unpack=(zstd -dc) # of Debian 13, which has the program only if something needs it
            command -v zstd > /dev/null || need_packages 'unpacking the kernel' zstd || return 1
            ;;
        02214c18) unpack=(lz4 -dc) ;;
        *) unpack=(true) ;;
    esac
    # The status of the last program counts: the others are ended early.
    (
        set +o pipefail
        tail -c "+$((offset + 1))" "$image" 2> /dev/null | head -c "$((length - 4))" 2> /dev/null |
            "${unpack[@]}" > "$file.$$" 2> /dev/null
    ) || { rm -f "$file.$$"; return 1; }
    # QEMU boots the kernel only if it has the ELF note with the entry point of a PVH guest.
    if ! LC_ALL=C grep -aqP '\x04\x00{3}[\x04\x08]\x00{3}\x12\x00{3}Xen\x00' "$file.$$"; then : > "$file.$$"; fi
    mv "$file.$$" "$file"
}
