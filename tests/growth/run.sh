#!/usr/bin/env bash
# run.sh [options of growth.mjs]: builds the release form and the programs of this folder, and measures how work grows.
# GROWTH_BUILD names another build folder; README.md has the options.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${GROWTH_BUILD:-build/growth}

# The compiler's warnings are the other builds' business; at -O3 some of them are wrong.
conf/scripts/configure.sh "$build" -DCMAKE_BUILD_TYPE=Release -DLINEWARD_TESTS=ON -DLINEWARD_WERROR=OFF
cmake --build "$build" -j "$(nproc)" --target growth-programs
if [ ! -e tests/e2e/node_modules/.package-lock.json ]; then
  (cd tests/e2e && npm ci --no-audit --no-fund --loglevel=error)
fi
LINEWARD=$PWD/$build/lineward exec tests/e2e/node.sh tests/growth/growth.mjs "$@"
