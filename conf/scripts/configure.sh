#!/usr/bin/env bash
# configure.sh DIR [cmake options]: configures DIR once; later calls cost nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$1
shift
extra=("$@")
if [ -e build/deps/usr/share/llhttp/llhttp.c ]; then
  extra+=("-DLLHTTP_SOURCE_DIR=$PWD/build/deps/usr/share/llhttp" "-DLLHTTP_INCLUDE_DIR=$PWD/build/deps/usr/share/include/llhttp")
fi
[ -e "$dir/build.ninja" ] || cmake -S . -B "$dir" -G Ninja "${extra[@]}" >/dev/null
