#!/usr/bin/env bash
# static.sh [x86-64|arm64] [DIR]: one binary that needs no library where it runs, DIR/lineward (default build/static/ARCH),
# stripped, with a build id. DIR/lineward.debug has its debug information, DIR/NOTICE the licences of all that is linked in.
# The same sources are to give the same bytes, in whatever folder (tests/packages/same_bytes.sh).
set -euo pipefail
export CCACHE_DISABLE=1
cd "$(dirname "$0")/../.."
case ${1:-x86-64} in
  x86-64 | amd64 | x64) arch=amd64 tools= ;;
  arm64 | aarch64) arch=arm64 tools=aarch64-linux-gnu- ;;
  *)
    echo "static.sh: there is ARCH=x86-64 and ARCH=arm64, not '$1'" >&2
    exit 2
    ;;
esac
[ "$arch" != "$(dpkg --print-architecture)" ] || tools=
dir=$(realpath -m "${2:-build/static/$arch}")
deps=$PWD/build/static-deps/$arch

conf/scripts/static_deps.sh $arch
options=(-DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINEWARD_WERROR=OFF -DLINEWARD_PCH=ON -DLINEWARD_UNITY=ON -DLINEWARD_STATIC_DEPS="$deps"
         -DLLHTTP_SOURCE_DIR="$deps/root/usr/share/llhttp" -DLLHTTP_INCLUDE_DIR="$deps/root/usr/share/include/llhttp")
[ -z "$tools" ] || options+=(-DCMAKE_TOOLCHAIN_FILE="$PWD/conf/static/$arch.cmake")
cmake -S . -B "$dir/build" -G Ninja "${options[@]}" >/dev/null
cmake --build "$dir/build" -j "${JOBS:-$(nproc)}" --target lineward

built=$dir/build/lineward
"${tools}objcopy" --only-keep-debug "$built" "$dir/lineward.debug"
"${tools}strip" --strip-unneeded -R .comment -o "$dir/lineward" "$built"
(cd "$dir" && "${tools}objcopy" --add-gnu-debuglink=lineward.debug lineward)
conf/scripts/notice.sh $arch >"$dir/NOTICE"
if "${tools}readelf" -d "$dir/lineward" | grep -q NEEDED || "${tools}readelf" -l "$dir/lineward" | grep -q INTERP; then
  echo "static.sh: $dir/lineward needs a library or a loader" >&2
  exit 70
fi
echo "$dir/lineward: $(stat -c %s "$dir/lineward") bytes, build id $("${tools}readelf" -n "$dir/lineward" | sed -n 's/.*Build ID: //p')"
