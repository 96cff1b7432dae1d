#!/usr/bin/env bash
# deb.sh DIR [cmake options]: builds in DIR and leaves lineward_*.deb and lineward-dbgsym_*.ddeb in DIR/packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$1
shift
command -v dpkg-shlibdeps >/dev/null || { echo "dpkg-shlibdeps is missing; it finds what the package depends on: apt-get install dpkg-dev" >&2; exit 69; }
conf/scripts/configure.sh "$dir" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=/usr
[ $# = 0 ] || cmake "$dir" "$@" >/dev/null
cmake --build "$dir" -j "${JOBS:-$(nproc)}" --target lineward
rm -rf "$dir/packages"
(cd "$dir" && SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)} cpack -G DEB >/dev/null)
ls "$dir"/packages/*.*deb
