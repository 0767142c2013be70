# Provides siw, the kernel's software iWARP, for the guest's kernel. A distribution without siw in its kernel package
# still has the source of siw in its kernel source package. Needs cache.sh, packages.sh, debs.sh and kernel.sh, and a call of
# choose_kernel before. Source this file.
# shellcheck shell=bash

# Sets SIW_MODULE to the module's file, or to nothing if the kernel package has the module.
find_siw() {
    SIW_MODULE=
    if modprobe -D -S "$KERNEL_VERSION" -d "$KERNEL_ROOT" siw > /dev/null 2>&1; then return 0; fi
    SIW_MODULE=$CACHE/siw/$KERNEL_VERSION.ko
    if [[ -s $SIW_MODULE ]]; then return 0; fi
    if with_lock siw build_siw "$SIW_MODULE" >&2 && [[ -s $SIW_MODULE ]]; then return 0; fi
    say "no siw driver for kernel $KERNEL_VERSION"
    return 1
}

# build_siw FILE: builds the module. Installs at most a compiler; all other files are temporary.
build_siw() {
    local file=$1 work
    [[ ! -s $file ]] || return 0 # another run was faster
    if ! has_apt; then
        say "kernel $KERNEL_VERSION has no siw driver, and it can be built only on Debian and its derivatives"
        return 1
    fi
    mkdir -p "$CACHE/siw" || return 1
    rm -rf "$CACHE"/siw/.work.*
    work=$(mktemp -d "$CACHE/siw/.work.XXXXXX") || return 1
    # shellcheck disable=SC2064  # the value of now; this runs in with_lock's own shell
    trap "rm -rf '$work'" EXIT
    fetch_siw_source "$work" && compile_siw "$work" || return 1
    strip --strip-debug "$work/siw/siw.ko" || return 1 # makes it ten times smaller
    mv "$work/siw/siw.ko" "$file"
}

package_version() { # NAME FOLDER
    debs_apt "$2" apt-cache show "$1" 2> /dev/null | sed -n 's/^Version: //p' | head -n 1 || true
}

# Fetches the headers of exactly this kernel and the matching source, and unpacks the needed parts.
fetch_siw_source() {
    local work=$1 headers=linux-headers-$KERNEL_VERSION source version built names package
    version=${KERNEL_VERSION#*.}
    source=linux-source-${KERNEL_VERSION%%.*}.${version%%[!0-9]*} # 6.1 of 6.1.0-48-amd64
    search_debs package_version "$headers" || return 1
    version=$FOUND
    if [[ -z $version ]]; then
        say "the distribution has no package $headers: try a newer kernel with --kernel"
        return 1
    fi
    # Several versions can have the same package name; the image contains its version.
    built=$(grep -aom 1 'Debian [0-9][0-9A-Za-z.+~-]*' "$KERNEL_IMAGE" | head -n 1 | cut -d ' ' -f 2 || true)
    if [[ -n $built && $built != "$version" ]]; then
        say "kernel $KERNEL_VERSION is version $built, but only headers of version $version are available"
        return 1
    fi
    names=$(debs_apt "$DEBS" apt-cache depends "$headers" |
        sed -n 's/^ *|\?Depends: *\(linux-\(headers\|kbuild\)-.*\)/\1/p' | sort -u)
    say "fetching $source $version and its build dependencies, to build siw (140 MB, not installed)"
    # shellcheck disable=SC2086  # package names have no spaces
    if ! (cd "$work" && debs_apt "$DEBS" apt-get download -qq "$source=$version" "$headers=$version" $names); then
        say "cannot fetch $source and $headers of version $version"
        return 1
    fi
    for package in "$work"/linux-headers-*.deb "$work"/linux-kbuild-*.deb; do
        unpack_deb "$package" "$work" || return 1
    done
    mkdir "$work/siw" || return 1
    dpkg-deb --fsys-tarfile "$work/$source"_*.deb | tar -xO "./usr/src/$source.tar.xz" |
        tar -xJ -C "$work/siw" --strip-components=5 "$source/drivers/infiniband/sw/siw" || return 1
    rm -f "$work"/*.deb
}

compile_siw() {
    local work=$1 headers=$1/usr/src/linux-headers-$KERNEL_VERSION compiler
    # The makefile has the path of an installed package.
    sed -i "s|/usr/src/|$work/usr/src/|" "$headers/Makefile"
    compiler=$(sed -n 's/^CC = .*\(gcc-[0-9]*\)$/\1/p' "$headers/.kernelvariables")
    command -v make > /dev/null || need_packages 'building siw' make || return 1
    command -v "${compiler:-gcc}" > /dev/null || need_packages 'building siw' "${compiler:-gcc}" || return 1
    if ! make -s -C "$headers" M="$work/siw" CONFIG_RDMA_SIW=m modules > "$work/log" 2>&1; then
        say "siw does not compile for kernel $KERNEL_VERSION:"
        tail -n 20 "$work/log"
        return 1
    fi
}
