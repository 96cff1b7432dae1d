#!/usr/bin/env bash
# arm64.sh [FOLDER…]: wire tests against the arm64 binary under qemu-user; the runner is this machine's own (that of build/asan, or it is built). Without folders of
# tests/wire: those that show each part of it once. Time passes slower there, so scripts about time alone are left out.
set -uo pipefail
cd "$(dirname "$0")/../.."
folders=("$@")
[ $# -gt 0 ] || folders=(00_sanity 10_http 20_streamable_http 30_stdio 35_stdio_front 40_eras)
binary=$PWD/build/static/arm64/lineward
runner=build/asan/tests/wire/wire-runner
if [ ! -x "$runner" ]; then
  conf/scripts/configure.sh build/runner -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINEWARD_TESTS=ON
  cmake --build build/runner -j "${JOBS:-$(nproc)}" --target wire-runner >/dev/null || exit 1
  runner=build/runner/tests/wire/wire-runner
fi
gateway=$(mktemp)
trap 'rm -f "$gateway"' EXIT
if [ "$(uname -m)" = aarch64 ]; then command="exec $binary"; else command="exec qemu-aarch64-static $binary"; fi
printf '#!/bin/sh\n%s "$@"\n' "$command" >"$gateway"
chmod +x "$gateway"
"$gateway" --version || exit 1
# qemu-user does not pass limits of memory on to the kernel: there they have no effect.
emulated='30_stdio/rlimit_reaches_the_command.wire'
[ "$(uname -m)" != aarch64 ] || emulated=
passed=0
failed=()
for script in $(for folder in "${folders[@]}"; do ls "tests/wire/$folder"/*.wire; done); do
  if [ "${script#tests/wire/}" = "$emulated" ]; then echo "left out under qemu-user: $emulated"; continue; fi
  if timeout 300 "$runner" --gateway "$gateway" "$script" >/dev/null 2>&1 || timeout 300 "$runner" --gateway "$gateway" "$script" >/dev/null 2>&1; then
    passed=$((passed + 1))
  else
    failed+=("${script#tests/wire/}")
  fi
done
[ ${#failed[@]} = 0 ] || printf 'failed: %s\n' "${failed[@]}"
echo "$passed of $((passed + ${#failed[@]})) wire tests passed"
[ ${#failed[@]} = 0 ]
