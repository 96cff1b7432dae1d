#!/usr/bin/env bash
# `make bench`: builds as `make release` does, fetches the peers, and runs run.mjs. README.md has the options.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BENCH_BUILD:-build/release}

if [ -n "${BENCH_BUILD:-}" ]; then
  conf/scripts/configure.sh "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo
else
  conf/scripts/release.sh "$build"
fi
cmake --build "$build" -j "$(nproc)" --target bench-programs

for folder in tests/e2e tests/peers; do
  [ -e $folder/node_modules/.package-lock.json ] && [ ! $folder/package-lock.json -nt $folder/node_modules/.package-lock.json ] && continue
  echo "npm packages of $folder/package-lock.json"
  (cd $folder && npm ci --no-audit --no-fund --loglevel=error)
done

if [ -x "$build/benchmarks/bench-json" ] && [ "${BENCH_JSON:-1}" = 1 ]; then
  echo "== one message (bench-json)"
  "$build/benchmarks/bench-json"
fi
exec tests/e2e/node.sh benchmarks/run.mjs "$build"
