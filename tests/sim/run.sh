#!/usr/bin/env bash
# run.sh SECONDS [PROGRAM]: fresh worlds on every core, then the sums. The first failure of each core is made smaller and
# told. With PROGRAM that one looks at them (CI's is sanitized, and its ctest has been through seeds.txt); else one is built.
# SIM_PROFILED=1 builds it twice with GCC, for this machine's processor, the second time by the profile of 2,000 worlds and as one
# whole (lld does not support that with GCC). It runs half as many worlds again in a second, for runs of hours.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
seconds=${1:-60}
dir=build/sim
[ -z "${SIM_PROFILED:-}" ] || dir=build/sim-profiled
sim=${2:-$dir/tests/sim/sim}

build() { cmake --build $dir -j "${JOBS:-$(nproc)}" --target sim || exit 1; }

# The profile lacks later changes, which is no fault.
profiled() {
  local flags
  for flags in '-march=native -fprofile-generate' \
    '-march=native -flto=auto -fprofile-use -fprofile-partial-training -Wno-missing-profile -Wno-coverage-mismatch'; do
    [ "$flags" != '-march=native -fprofile-generate' ] || [ ! -e $dir/profiled ] || continue
    CC=gcc CXX=g++ conf/scripts/configure.sh $dir -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINEWARD_TESTS=ON -DLLD= \
      "-DCMAKE_AR=$(command -v gcc-ar)" "-DCMAKE_RANLIB=$(command -v gcc-ranlib)" &&
      cmake -S . -B $dir "-DCMAKE_CXX_FLAGS=$flags" "-DCMAKE_C_FLAGS=$flags" >/dev/null || exit 1
    build
    [ -e $dir/profiled ] || { "$sim" --small --from 1 --worlds 1500 && "$sim" --from 100000 --worlds 500; } || exit 1
    touch $dir/profiled
  done
}

if [ $# -lt 2 ]; then
  export CCACHE_DEPEND=1
  if [ -n "${SIM_PROFILED:-}" ]; then
    profiled
  else
    conf/scripts/configure.sh $dir -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINEWARD_TESTS=ON || exit 1
    build
  fi
  "$sim" --seeds tests/sim/seeds.txt || exit 1
fi
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
pids=()
# Each stays on its core: of a world's threads one runs at a time, and to wake one elsewhere takes longer than its turn.
readarray -t cores < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' | while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done)
for core in "${cores[@]}"; do
  taskset -c "$core" "$sim" --seconds "$seconds" >"$logs/$core" &
  pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
cat "$logs"/*
exit $failed
