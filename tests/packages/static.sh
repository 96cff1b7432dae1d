#!/usr/bin/env bash
# static.sh [BINARY]: the static binary alone in a folder that is its whole world (chroot). Needs root.
exec "$(dirname "$0")/as_root.sh" static chroots "${1:-build/static/amd64/lineward}"
