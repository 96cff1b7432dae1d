#!/usr/bin/env bash
# Each reason for which a call ends (gateway/protocol/mcp/end_reason.h) has a page in docs/reasons/. Each page there is of a reason,
# has the required content, and its links have targets. docs/errors.md links to all of them.
#   reasons.sh [FOLDER]   another folder of pages
#   reasons.sh selftest   pages with a fault in them are refused
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

md=md  # else the lint of citations takes patterns for names of pages

names() { sed -nE 's/^ *\{EndReason::[a-z_]+, "([a-z_]+)",.*/\1/p' gateway/protocol/mcp/end_reason.h; }

# As GitHub makes them of headings.
anchors() { sed -nE 's/^#+ +//p' "$1" | tr 'A-Z' 'a-z' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'; }

faults_of() {  # FOLDER
  local folder=$1 name page link file anchor
  while read -r name; do
    page=$folder/$name.$md
    [ -f "$page" ] || { echo "$folder: there is no page of $name"; continue; }
    [ "$(head -1 "$page")" = "# \`$name\`" ] || echo "$page: its first line is not its name"
    for part in '\*\*The client gets:\*\* ' '\*\*The server gets:\*\* ' '## Checks' '## How to fix it'; do
      grep -q "^$part" "$page" || echo "$page: there is no '${part//\\/}'"
    done
    while read -r link; do
      file=${link%%#*} anchor=
      [[ $link != *#* ]] || anchor=${link#*#}
      [ -f "docs/reasons/$file" ] || { echo "$page: there is no $link"; continue; }
      [ -z "$anchor" ] || grep -qxF "$anchor" <<<"$(anchors "docs/reasons/$file")" || echo "$page: nothing is called #$anchor in $file"
    done < <(grep -oE '\]\([^)]+\)' "$page" | sed -E 's/^\]\(|\)$//g' | grep -v '^https\?:')
    grep -qF "(reasons/$name.$md)" docs/errors.md || echo "docs/errors.md: no link to the page of $name"
  done < <(names)
  for page in "$folder"/*.md; do
    name=$(basename "$page" .md)
    grep -qx "$name" <<<"$(names)" || echo "$page: no call ends for that"
  done
}

selftest() {
  local folder failed=0
  folder=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$folder'" EXIT
  try() {  # WHAT, then a command that spoils the pages in $folder
    rm -f "$folder"/*
    cp docs/reasons/*.md "$folder"
    (cd "$folder" && eval "$2")
    [ -n "$(faults_of "$folder")" ] || { echo "selftest: not found: $1"; failed=1; }
  }
  [ -z "$(faults_of docs/reasons)" ] || { echo "selftest: the pages have faults to begin with"; failed=1; }
  try "a page is missing" 'rm ok.*'
  try "a page of nothing" 'cp ok.* fine.$md'
  try "another name" 'sed -i 1s/ok/okay/ ok.*'
  try "no advice" 'sed -i /^##.How/d internal.*'
  try "a link to nothing" 'sed -i s/limits\./limit./g queue_full.*'
  try "an anchor of nothing" 'sed -i s/#shares/#share/ queue_full.*'
  [ $failed = 0 ] && echo "faults are found"
  return $failed
}

if [ "${1:-}" = selftest ]; then selftest; exit; fi
found=$(faults_of "${1:-docs/reasons}")
if [ -n "$found" ]; then echo "$found"; exit 1; fi
echo "each reason has its page"
