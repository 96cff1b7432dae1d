#!/usr/bin/env bash
# A lower room never includes a higher one, client/ and upstream/ never include each other, and only net/ knows libuv
# (ARCHITECTURE.md, "The map").
set -euo pipefail
cd "$(dirname "$0")/../.."
faults=0
fault() {
  echo "$*"
  faults=$((faults + 1))
}

declare -A floor=([base]=0 [config]=0 [net]=1 [http]=2 [mcp]=2 [core]=3 [route]=3 [plugin]=3 [client]=4 [upstream]=4
                  [exchange]=5 [cli]=6 [admin]=6)
for file in gateway/*/*.{h,cc}; do
  room=$(basename "$(dirname "$file")")
  while read -r included; do
    [ -n "${floor[$included]:-}" ] || continue
    if [ "${floor[$included]}" -gt "${floor[$room]}" ]; then
      fault "$file: $room/ (floor ${floor[$room]}) includes $included/ (floor ${floor[$included]})"
    fi
    case $room-$included in
      client-upstream | upstream-client | http-mcp | mcp-http) fault "$file: $room/ includes $included/" ;;
    esac
  done < <(sed -nE 's|^#include "([a-z]+)/.*|\1|p' "$file")
  case $room in
    net) ;;
    *) ! grep -q '#include <uv.h>' "$file" || fault "$file: only net/ includes <uv.h>" ;;
  esac
done

for file in plugins/*.{h,cc}; do
  while read -r included; do
    [ -n "${floor[$included]:-}" ] || continue
    [ "${floor[$included]}" -le 3 ] || fault "$file: plugins/ includes $included/ (floor ${floor[$included]})"
  done < <(sed -nE 's|^#include "([a-z]+)/.*|\1|p' "$file")
done

[ "$faults" = 0 ] && echo "the rooms are in order"
