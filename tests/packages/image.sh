#!/usr/bin/env bash
# image.sh [OCI.tar]: the image's layout is sound (digests, umoci), and its container runs as an engine would run it. Needs root.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "image.sh: namespaces need root" >&2; exit 77; }
LINEWARD_IMAGE=$(realpath "${1:-build/dist/lineward-$(conf/scripts/version.sh).oci.tar}")
export LINEWARD_IMAGE
exec tests/e2e/node.sh --test --test-force-exit --test-reporter=spec tests/packages/image.test.mjs
