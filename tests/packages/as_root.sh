#!/usr/bin/env bash
# as_root.sh NAME WHY FILE: tests/packages/NAME.test.mjs on FILE, which it finds in LINEWARD_ARTEFACT. WHY says what needs root.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "$1.sh: $2 need root" >&2; exit 77; }
LINEWARD_ARTEFACT=$(realpath "$3")
export LINEWARD_ARTEFACT
exec tests/e2e/node.sh --test --test-force-exit --test-reporter=spec "tests/packages/$1.test.mjs"
