# Finds the kernel for a guest: an installed one, or one from a package that is unpacked into the cache folder and
# never installed. Needs cache.sh, packages.sh and debs.sh. Source this file.
# shellcheck shell=bash
#
# The result of choose_kernel:
#   KERNEL_VERSION  as in uname -r
#   KERNEL_IMAGE    the bootable file
#   KERNEL_ROOT     the folder that has lib/modules/$KERNEL_VERSION ("/" for an installed kernel)

KERNEL_VERSION=
KERNEL_IMAGE=
KERNEL_ROOT=

# Prints the folder of the kernels that were unpacked.
kernels() { printf '%s' "$CACHE/kernels"; if is_foreign; then printf -- '-%s' "$ARCH"; fi; }

# Large parts of kernel packages that no guest needs.
KERNEL_LEFT_OUT=(--exclude='*/kernel/sound' --exclude='*/drivers/gpu' --exclude='*/drivers/media'
    --exclude='*/drivers/net/wireless' --exclude='*/drivers/staging' --exclude='*/usr/share/doc')

kernel_flavour() { # the last part of the distribution's package name
    case $(. /etc/os-release && printf '%s' "${ID:-}") in
        ubuntu) echo generic ;;
        *) case $ARCH in aarch64) echo arm64 ;; *) echo amd64 ;; esac ;;
    esac
}

# True if version $1 matches the user's $2: "6.1" matches 6.1.0-56-amd64, not 6.12.
kernel_matches() { [[ -z $2 || $1 == "$2" || $1 == "$2"[-.+~]* ]]; }

# Prints the image of version $1 below folder $2, if it is readable and its modules include rdma_rxe. Cloud kernels
# lack that module.
kernel_image_in() {
    local version=$1 root=${2%/} image
    grep -qs '/rdma_rxe\.ko' "$root/lib/modules/$version/modules.dep" || return 0
    for image in "$root/boot/vmlinuz-$version" "$root/boot/vmlinux-$version" "$root/lib/modules/$version/vmlinuz"; do
        if [[ -r $image ]]; then
            printf '%s' "$image"
            return
        fi
    done
}

# Print "VERSION ROOT" of every bootable kernel, installed or in the cache, the newest last.
kernels_installed() {
    local folder
    if is_foreign; then return 0; fi
    for folder in /lib/modules/*/; do
        folder=${folder%/}
        if [[ -n $(kernel_image_in "${folder##*/}" /) ]]; then printf '%s /\n' "${folder##*/}"; fi
    done | sort -V
}
kernels_cached() {
    local root version
    for root in "$(kernels)"/*/; do
        root=${root%/}
        version=${root##*/}
        if [[ -n $(kernel_image_in "$version" "$root") ]]; then printf '%s %s\n' "$version" "$root"; fi
    done | sort -V
}

kernel_use() { # VERSION ROOT
    KERNEL_VERSION=$1
    KERNEL_ROOT=$2
    KERNEL_IMAGE=$(kernel_image_in "$1" "$2")
}

# Picks the newest line of stdin ("VERSION ROOT") that matches $1.
kernel_pick() {
    local version root picked=
    while read -r version root; do
        if kernel_matches "$version" "$1"; then picked="$version $root"; fi
    done
    [[ -n $picked ]] || return 1
    # shellcheck disable=SC2086  # two words without spaces
    kernel_use ${picked%% *} "${picked#* }"
}

# --- packages ---------------------------------------------------------------------------------------------------

# Prints the name of the image package for $1 (a version prefix; empty: the distribution's current kernel).
kernel_package() {
    local want=$1 folder=$2 flavour names
    flavour=$(kernel_flavour)
    names=$(
        if [[ -z $want ]]; then
            debs_apt "$folder" apt-cache depends "linux-image-$flavour" | sed -n 's/^ *Depends: *//p'
        else
            debs_apt "$folder" apt-cache pkgnames linux-image- | while read -r name; do
                if kernel_matches "${name#linux-image-}" "$want"; then echo "$name"; fi
            done
        fi
    )
    grep -E "^linux-image-[0-9].*-$flavour\$" <<< "$names" | grep -vE -- '-(cloud|rt)-' | sort -V | tail -n 1 || true
}

# Unpacks the packages in folder $1 into a kernel folder of the cache and prints the version. The folder gets its name
# only when it is complete: a full disk leaves none.
kernel_unpack() {
    local debs=$1 root version
    root=$(mktemp -d "$(kernels)/.new.XXXXXX") || return 1
    if ! version=$(kernel_unpack_into "$root" "$debs"); then
        rm -rf "$root"
        say "could not unpack $(cd "$debs" && echo *.deb) into $CACHE: is the disk full?"
        return 1
    fi
    if [[ -z $(kernel_image_in "$version" "$root") ]]; then
        rm -rf "$root"
        say "no kernel with rdma_rxe in $(cd "$debs" && echo *.deb)"
        return 1
    fi
    rm -rf "$(kernels)/${version:?}"
    mv "$root" "$(kernels)/$version" || return 1
    printf '%s' "$version"
}

# Unpacks the packages in folder $2 into folder $1 and prints the version. Fails if any byte cannot be written.
kernel_unpack_into() {
    local root=$1 debs=$2 version package
    for package in "$debs"/*.deb; do
        unpack_deb "$package" "$root" "${KERNEL_LEFT_OUT[@]}" || return 1
    done
    if [[ ! -d $root/lib/modules && -d $root/usr/lib/modules ]]; then ln -s usr/lib "$root/lib" || return 1; fi
    version=$(ls "$root/lib/modules") || return 1
    chmod -R u+rwX "$root"
    depmod -b "$root" "$version" 2> "$root/depmod.log" || { cat "$root/depmod.log" >&2; return 1; }
    # Hides warnings about missing lists of built-in modules.
    grep -v 'could not open modules' "$root/depmod.log" >&2 || true
    rm -f "$root/depmod.log"
    printf '%s' "$version"
}

# Fetches the kernel for version prefix $1 and prints its version.
kernel_fetch() {
    local want=$1 name debs version kernels
    kernels=$(kernels)
    command -v apt-get > /dev/null || {
        say "no kernel ${want:-image} is installed, and one can be fetched only on Debian and its derivatives"
        return 1
    }
    rm -rf "$kernels"/.new.* "$kernels"/.debs.* # of an aborted run; this run holds the lock
    mkdir -p "$kernels"
    if is_root && may_install && [[ -z $(own_package_lists) ]]; then apt-get update -qq >&2 || true; fi
    search_debs kernel_package "$want" || return 1
    name=$FOUND
    if [[ -z $name ]]; then
        say "no package of kernel ${want:-linux-image} found"
        return 1
    fi
    say "fetching $name into $CACHE (it is not installed)"
    debs=$(mktemp -d "$kernels/.debs.XXXXXX")
    # Some distributions split image and modules; the modules are among the image's dependencies.
    # shellcheck disable=SC2153  # set by search_debs in debs.sh
    debs_apt "$DEBS" apt-cache depends "$name" | sed -n 's/^ *|\?Depends: *//p' |
        grep -E '^linux-(modules|binary)' > "$debs/names" || true
    debs_apt "$DEBS" apt-cache pkgnames "linux-modules-extra-${name#linux-image-}" >> "$debs/names"
    # shellcheck disable=SC2046  # package names have no spaces
    (cd "$debs" && debs_apt "$DEBS" apt-get download -qq "$name" $(sort -u names) >&2) &&
        version=$(kernel_unpack "$debs") || version=
    rm -rf "$debs"
    [[ -n $version ]] || return 1
    if [[ -z $want ]]; then
        # On a full disk, the file keeps its old contents, or there is none.
        printf '%s\n' "$version" > "$kernels/.default.$$" && mv "$kernels/.default.$$" "$kernels/default"
    fi
    printf '%s' "$version"
}

# --- the choice -------------------------------------------------------------------------------------------------

# Unpacks the package in file $1, if not done before, and prints the version.
kernel_of_package() {
    local version debs
    version=$(dpkg-deb --fsys-tarfile "$1" | tar -t | sed -n 's|^\./boot/vmlinuz-||p')
    if [[ -z $(kernel_image_in "$version" "$(kernels)/$version") ]]; then
        mkdir -p "$(kernels)"
        debs=$(mktemp -d "$(kernels)/.debs.XXXXXX")
        ln -s "$1" "$debs/"
        version=$(kernel_unpack "$debs") || version=
        rm -rf "$debs"
    fi
    printf '%s' "$version"
    [[ -n $version ]]
}

kernel_from_file() {
    local file version
    file=$(readlink -f "$1")
    case $file in
        *.deb)
            version=$(with_lock kernel kernel_of_package "$file") || return 1
            kernel_use "$version" "$(kernels)/$version"
            ;;
        *)
            version=${file##*/}
            version=${version#vmlinu[xz]-}
            if [[ $version == vmlinuz ]]; then version=$(basename "$(dirname "$file")"); fi
            KERNEL_VERSION=$version
            KERNEL_ROOT=/
            # shellcheck disable=SC2034  # used by scripts that source this file
            KERNEL_IMAGE=$file
            # An unpacked kernel has its modules next to its boot folder.
            if [[ -d $(dirname "$file")/../lib/modules/$version ]]; then
                KERNEL_ROOT=$(readlink -f "$(dirname "$file")/..")
            fi
            if [[ ! -d ${KERNEL_ROOT%/}/lib/modules/$version ]]; then
                say "no modules for $file: expected /lib/modules/$version"
                return 1
            fi
            ;;
    esac
}

# Prints the version of the default kernel: the newest installed one, or else the one that was fetched from the
# distribution without a version.
default_kernel() {
    local newest
    newest=$(kernels_installed | tail -n 1)
    if [[ -n $newest ]]; then
        printf '%s' "${newest% /}"
    elif [[ -s $(kernels)/default ]]; then
        cat "$(kernels)/default"
    fi
}

# choose_kernel [VERSION|FILE]
choose_kernel() {
    local want=${1:-} version
    if [[ $want == */* || $want == *.deb ]]; then
        if [[ ! -r $want ]]; then
            say "cannot read kernel $want"
            return 1
        fi
        kernel_from_file "$want"
        return
    fi
    if [[ -z $want ]]; then want=$(default_kernel); fi
    if [[ -n $want ]] && { kernel_pick "$want" < <(kernels_installed) || kernel_pick "$want" < <(kernels_cached); }; then
        return 0
    fi
    version=$(with_lock kernel kernel_fetch_once "$want") || return 1
    kernel_use "$version" "$(kernels)/$version"
}

# Runs under the lock. Another run may have fetched the kernel in the meantime.
kernel_fetch_once() {
    local want=$1
    if [[ -z $want && -s $(kernels)/default ]]; then
        cat "$(kernels)/default"
    elif [[ -n $want ]] && kernel_pick "$want" < <(kernels_cached); then
        printf '%s' "$KERNEL_VERSION"
    else
        kernel_fetch "$want"
    fi
}
