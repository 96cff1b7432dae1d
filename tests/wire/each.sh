#!/usr/bin/env bash
# each.sh COMMAND… -- SCRIPT…: runs COMMAND with one script after another; all have to pass.
set -uo pipefail
command=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  command+=("$1")
  shift
done
shift
[ $# -gt 0 ] || { echo "no scripts" >&2; exit 2; }
bad=0
for script in "$@"; do
  "${command[@]}" "$script" || bad=1
done
exit $bad
