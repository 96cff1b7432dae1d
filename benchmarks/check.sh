#!/usr/bin/env bash
# `make bench-check`: a plain build as a first `make build` makes it, and its instructions per call (instructions.mjs).
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/bench-check
conf/scripts/configure.sh $build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINEWARD_PCH=ON -DLINEWARD_UNITY=ON
cmake --build $build -j "${JOBS:-$(nproc)}" --target bench-programs >$build/bench-check.log || {
  tail -n 40 $build/bench-check.log
  exit 1
}
exec tests/e2e/node.sh benchmarks/instructions.mjs $build "$@"
