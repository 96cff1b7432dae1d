#!/usr/bin/env bash
# source.sh: the source tarball configures and knows its version and revision where no git is.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$(conf/scripts/version.sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xzf "build/dist/lineward-$version.tar.gz" -C "$work"
revision=$(cat "$work/lineward-$version/.revision")
extra=()
[ ! -e build/deps/usr/share/llhttp/llhttp.c ] || extra=("-DLLHTTP_SOURCE_DIR=$PWD/build/deps/usr/share/llhttp" "-DLLHTTP_INCLUDE_DIR=$PWD/build/deps/usr/share/include/llhttp")
cmake -S "$work/lineward-$version" -B "$work/build" -G Ninja "${extra[@]}" >/dev/null
grep -q "LINEWARD_REVISION=.*$revision" "$work/build/build.ninja"
grep -q "LINEWARD_VERSION=.*$version" "$work/build/build.ninja"
[ "$revision" = "$(git rev-parse --short=12 HEAD)" ]
