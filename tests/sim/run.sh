#!/usr/bin/env bash
# run.sh SECONDS [PROGRAM]: fresh worlds on every core, then the sums. The first failure of each core is made smaller and
# told. With PROGRAM that one looks at them (CI's is sanitized, and its ctest has been through seeds.txt); else one is built.
set -uo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
sim=${2:-build/sim/tests/sim/sim}
if [ $# -lt 2 ]; then
  export CCACHE_DEPEND=1
  conf/scripts/configure.sh build/sim -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINEWARD_TESTS=ON &&
    cmake --build build/sim -j "${JOBS:-$(nproc)}" --target sim || exit 1
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
