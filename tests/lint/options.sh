#!/usr/bin/env bash
# options.sh [selftest]: every option in the table of a plugin is read by its code: else it would be accepted without effect.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2

unread() {  # FOLDER OF PLUGINS
  local folder name
  for folder in "$1"/*/; do
    while read -r name; do
      [ "$(grep -rhoF "\"$name\"" "$folder" "$1/common" --include=*.cc --include=*.h | wc -l)" -ge 2 ] ||
        printf '%s: the option %s stands in the table, and nobody reads it\n' "${folder%/}" "$name"
    done < <(cat "$folder"*.cc 2>/dev/null | tr '\n' ' ' | grep -oE 'plugin_option\( *"[A-Za-z.]+"' | grep -oE '"[^"]+"' | tr -d '"' | sort -u)
  done
}

if [ "${1:-}" = selftest ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/plugins/one" "$work/plugins/common"
  printf 'plugin_option("read", 1);\nplugin_option(\n    "unread", 1);\nvalues.flag("read");\n' >"$work/plugins/one/one.cc"
  [ "$(unread "$work/plugins")" = "$work/plugins/one: the option unread stands in the table, and nobody reads it" ]
  exit
fi
found=$(unread plugins)
[ -z "$found" ] || { printf '%s\n' "$found"; exit 1; }
echo "each option of a plugin is read"
