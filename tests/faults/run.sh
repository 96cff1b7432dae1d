#!/usr/bin/env bash
# run.sh faults | soak | mixed: builds the release form and its test programs, and runs the experiments. README.md has the options.
set -euo pipefail
cd "$(dirname "$0")/../.."
what=${1:-faults}
build=${FAULTS_BUILD:-build/faults}

conf/scripts/configure.sh "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINEWARD_TESTS=ON
cmake --build "$build" -j "$(nproc)" --target fault-programs
if [ ! -e tests/e2e/node_modules/.package-lock.json ]; then
  (cd tests/e2e && npm ci --no-audit --no-fund --loglevel=error)
fi
export LINEWARD=$PWD/$build/lineward
case $what in
  faults)
    options=(--seed "${SEED:-1}")
    [ -z "${QUICK:-}" ] || options+=(--quick)
    [ -z "${ROWS:-}" ] || options+=(--rows "$ROWS")
    exec tests/e2e/node.sh tests/faults/run.mjs "${options[@]}"
    ;;
  soak) exec tests/e2e/node.sh tests/faults/soak.mjs --calls "${SOAK_CALLS:-1000000}" ;;
  mixed) exec tests/e2e/node.sh tests/faults/mixed.mjs --seconds "${MIXED_SECONDS:-3600}" --seed "${SEED:-1}" ;;
  *) echo "usage: tests/faults/run.sh faults | soak | mixed" >&2; exit 2 ;;
esac
