#!/usr/bin/env bash
# static.sh [BINARY]: the static binary alone in a folder that is its whole world (chroot). Needs root.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "static.sh: chroot needs root" >&2; exit 77; }
LINEWARD_STATIC=$(realpath "${1:-build/static/amd64/lineward}")
export LINEWARD_STATIC
exec tests/e2e/node.sh --test --test-force-exit --test-reporter=spec tests/packages/static.test.mjs
