#!/usr/bin/env bash
# chart.sh: what the Helm chart makes of its values, rendered by helm and checked by schemas (tests/packages/kubernetes).
set -euo pipefail
cd "$(dirname "$0")/../.."
(cd tests/packages/kubernetes && { [ -d node_modules ] || npm ci --ignore-scripts --no-audit --no-fund --legacy-peer-deps --loglevel=error; })
LINEWARD=${LINEWARD:-$PWD/build/deb/lineward}
[ -x "$LINEWARD" ] || conf/scripts/deb.sh build/deb >/dev/null
export LINEWARD
node --test tests/packages/kubernetes/chart.test.mjs
