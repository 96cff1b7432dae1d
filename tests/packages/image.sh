#!/usr/bin/env bash
# image.sh [OCI.tar]: the image's layout is sound (digests, umoci), and its container runs as an engine would run it. Needs root.
here=$(dirname "$0")
exec "$here/as_root.sh" image namespaces "${1:-build/dist/lineward-$("$here/../../conf/scripts/version.sh").oci.tar}"
