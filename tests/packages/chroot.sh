# chroot.sh, to be read by others (distros.sh, interop.sh): a fresh Debian in a folder, and commands in it. The mounts and
# processes of a command end with it.

say() { printf '\n== %s\n' "$*"; }

chroot_needs() {
  [ "$(id -u)" = 0 ] || { echo "a Debian in a folder needs root" >&2; return 77; }
  command -v debootstrap >/dev/null || { echo "debootstrap is missing: apt-get install debootstrap" >&2; return 69; }
}

# The mirror that this machine has its own packages from.
chroot_mirror() {
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1)
  [ -n "$mirror" ] || { echo "apt knows no mirror of Debian: apt-get update" >&2; return 1; }
  echo "$mirror"
}

chroot_make() {  # SUITE ROOT CACHE PACKAGE…: once
  local suite=$1 root=$2 cache=$3 mirror
  shift 3
  if [ ! -x "$root/usr/bin/apt-get" ] || [ -d "$root/debootstrap" ]; then
    mirror=$(chroot_mirror) || return 1
    rm -rf --one-file-system "$root"
    mkdir -p "$root" "$cache"
    debootstrap --variant=minbase --cache-dir="$(realpath "$cache")" "$suite" "$root" "$mirror" >"$root.log" 2>&1 ||
      { tail -n 5 "$root.log" >&2; return 1; }
  fi
  # How this machine reaches the mirror. No file here needs to be on the disk.
  apt-config dump | grep -E '^Acquire::(http|https|Check-|Retries)' >"$root/etc/apt/apt.conf.d/99machine"
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
  cp -L /etc/resolv.conf "$root/etc/" 2>/dev/null
  # As the installer writes it.
  [ -e "$root/etc/hosts" ] || printf '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n' >"$root/etc/hosts"
  chroot_install "$root" "$@"
}

chroot_install() {  # ROOT PACKAGE…
  local root=$1
  shift
  # shellcheck disable=SC2016
  chroot_run "$root" 'dpkg -s '"$*"' >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq --no-install-recommends '"$*"' >/root/apt.log 2>&1 || { tail -n 5 /root/apt.log; exit 1; }; }'
}

chroot_run() {  # ROOT COMMAND
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child --propagation private sh -c '
    cd "$0" && mount -t proc proc proc && mount --rbind /dev dev && mount -t tmpfs tmpfs tmp && mount -t sysfs -o ro sysfs sys &&
      exec chroot . env -i $2 HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 bash -c "$1"' \
    "$1" "$2" "$(env | grep -iE '^(https?|no)_proxy=' | tr '\n' ' ')"
}
