#!/usr/bin/env bash
# SECURITY.md names tests behind what it says: every path below tests/ in it must be there. Each sentence of
# "Boundaries" and "No boundaries" has at least one file of them.
#   security.sh [PAGE]
#   security.sh selftest   pages with a fault in them are refused
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

faults_of() {
  local page=$1 path text
  # In the table a path may be a folder, or a test without what its name ends with.
  while read -r path; do
    for text in "$path" "$path.wire" "$path.test.mjs" "$path.mjs" "${path}_test.cc"; do
      [ ! -e "$text" ] || continue 2
    done
    echo "$page: there is no $path"
  done < <(grep -oE 'tests/[A-Za-z0-9_./-]*[A-Za-z0-9_]' "$page" | sort -u)
  while read -r text; do
    grep -qE '`tests/[A-Za-z0-9_./-]+\.(wire|mjs|cc|sh)`' <<<"$text" || echo "$page: nothing is named that shows: $text"
  done < <(awk '
    function out() { if (item != "") print item; item = "" }
    /^## / { out(); here = /^## (Boundaries|No boundaries)$/; found += here; next }
    here && /^- / { out(); item = substr($0, 3); next }
    here && /^  / && item != "" { item = item " " substr($0, 3); next }
    { out() }
    END { out(); if (found != 2) print "the sections Boundaries and No boundaries" }
  ' "$page")
}

selftest() {
  source tests/lint/selftest.sh
  found_in() { if [ -z "$(faults_of "$1")" ]; then echo fine; else echo faulty; fi; }
  local none='\n## No boundaries\n- B. `tests/lint/security.sh`\n'
  try fine "## Boundaries\n- A\n  goes on. \`tests/lint/security.sh\`\n$none"
  try faulty "## Boundaries\n- A.\n$none"
  try faulty "## Boundaries\n- A. \`tests/lint/nothing.sh\`\n$none"
  try faulty "## Boundaries\n- A. \`tests/lint\`\n$none"
  try faulty "A page without them: tests/lint\n"
  try faulty "tests/none\n## Boundaries\n- A. \`tests/lint/security.sh\`\n$none"
  shown "faults are found"
}

case ${1:-SECURITY.md} in
  selftest) selftest ;;
  *)
    faults=$(faults_of "${1:-SECURITY.md}")
    [ -z "$faults" ] || { printf '%s\n' "$faults"; exit 1; }
    echo "what SECURITY.md says is tested by what is there"
    ;;
esac
