#!/usr/bin/env bash
# arm64_units.sh [MODULE…]: the unit tests, built for arm64 as the static binary is, and run under qemu-user. Without names those of
# all modules that start no process: what qemu runs cannot start what is for another processor.
set -uo pipefail
cd "$(dirname "$0")/../.."
modules=("$@")
if [ $# = 0 ]; then
  for module in $(cd tests/unit && find . -name '*_test.cc' -printf '%h\n' | sort -u | sed 's|^\./||'); do
    [[ $module =~ ^(foundation/process|proxy/upstream/stdio)$ ]] || modules+=("$module")
  done
fi
dir=$PWD/build/static/arm64-units
deps=$PWD/build/static-deps/arm64
conf/scripts/static_deps.sh arm64 || exit 1
run=qemu-aarch64-static
# qemu-user makes /proc/self/stat up, and most of it is zero; and in its own signal frames no stack is found.
left_out=('~what a process uses is read from the right columns' '~/proc tells about this process'
          '~a loop that is held up is told once*')
[ "$(uname -m)" != aarch64 ] || { run=; left_out=(); }
options=(-DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINEWARD_WERROR=OFF -DLINEWARD_PCH=ON -DLINEWARD_UNITY=ON -DLINEWARD_STATIC_DEPS="$deps"
         -DLLHTTP_SOURCE_DIR="$deps/root/usr/share/llhttp" -DLLHTTP_INCLUDE_DIR="$deps/root/usr/share/include/llhttp"
         -DLINEWARD_TESTS=ON -DLINEWARD_UNIT_MODULES="$(IFS=';'; echo "${modules[*]}")")
[ -z "$run" ] || options+=(-DCMAKE_TOOLCHAIN_FILE="$PWD/conf/static/arm64.cmake")
targets=()
for module in "${modules[@]}"; do targets+=("unit_${module//\//_}"); done
CCACHE_DISABLE=1 cmake -S . -B "$dir" -G Ninja "${options[@]}" >/dev/null &&
  CCACHE_DISABLE=1 cmake --build "$dir" -j "${JOBS:-$(nproc)}" --target "${targets[@]}" || exit 1
failed=()
for target in "${targets[@]}"; do
  program=$dir/tests/$target
  if ! out=$(timeout 600 $run "$program" "${left_out[@]}" 2>&1); then
    printf '%s\n' "$out" | tail -40
    failed+=("$target")
  fi
  printf '%s: %s\n' "$target" "$(printf '%s\n' "$out" | tail -2 | tr -s '\n' ' ')"
done
[ ${#failed[@]} = 0 ] || printf 'failed: %s\n' "${failed[@]}"
echo "$((${#targets[@]} - ${#failed[@]})) of ${#targets[@]} programs of unit tests passed"
[ ${#failed[@]} = 0 ]
