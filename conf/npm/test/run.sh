#!/usr/bin/env bash
# run.sh DIR: the test of the npm packages; their tarballs are in DIR.
set -euo pipefail
LINEWARD_TARBALLS=$(realpath "$1")
export LINEWARD_TARBALLS
cd "$(dirname "$0")"
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
exec ../../../tests/e2e/node.sh --test --test-force-exit --test-reporter=spec npm.test.mjs
