#!/usr/bin/env bash
# Each reason for which a call ends (gateway/protocol/mcp/end_reason.h) has a page in docs/reasons/. Each page there is of a reason,
# has the required content, and its links have targets. The table of docs/errors.md is made from them.
#   reasons.sh [FOLDER]   another folder of pages
#   reasons.sh write      makes the table of docs/errors.md
#   reasons.sh selftest   pages with a fault in them are refused
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

md=md  # else the lint of citations takes patterns for names of pages

names() { sed -nE 's/^ *\{EndReason::[a-z_]+, "([a-z_]+)",.*/\1/p' gateway/protocol/mcp/end_reason.h; }

# The code of the client's error or HTTP status, from a row that ends on the next line at most; 0: none.
reason_rows=$(<gateway/protocol/mcp/end_reason.h)
code_of() {
  local row=${reason_rows#*"\"$1\","}
  [[ $row =~ EndKind::[a-z]+,\ ([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}

# PAGE PARTY: what the page says that the client or the server gets, as a cell of a table in docs/.
gets() {
  sed -n "/^\*\*The $2 gets:\*\* /,/^\$/p" "$1" | sed "s/^\*\*The $2 gets:\*\* //" | tr '\n' ' ' |
    sed -E 's/ +$//; s/\|/\\|/g; s#\]\(([a-z_]+\.md)#](reasons/\1#g; s#\]\(\.\./#](#g'
}

table() {
  echo '| reason | the client gets | the server gets |'
  echo '|---|---|---|'
  local name page
  while read -r name; do
    page=docs/reasons/$name.$md
    echo "| [\`$name\`](reasons/$name.$md) | $(gets "$page" client) | $(gets "$page" server) |"
  done < <(names)
}
first='^| reason | the client gets | the server gets |$'
table_of() { sed -n "/$first/,/^\$/p" docs/errors.md | sed '/^$/d'; }

# As GitHub makes them of headings.
anchors() { sed -nE 's/^#+ +//p' "$1" | tr 'A-Z' 'a-z' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'; }
declare -A anchors_of  # by page: many links name the same one

faults_of() {  # FOLDER
  local folder=$1 name page link file anchor code text paragraph
  while read -r name; do
    page=$folder/$name.$md
    [ -f "$page" ] || { echo "$folder: there is no page of $name"; continue; }
    text=$'\n'$(<"$page")
    [[ $text == $'\n'"# \`$name\`"$'\n'* ]] || echo "$page: its first line is not its name"
    for part in '**The client gets:** ' '**The server gets:** ' '## Checks' '## How to fix it'; do
      [[ $text == *$'\n'"$part"* ]] || echo "$page: there is no '$part'"
    done
    code=$(code_of "$name")
    paragraph=${text#*"**The client gets:** "}
    [ "$code" = 0 ] || [[ ${paragraph%%$'\n\n'*} == *"$code"* ]] || echo "$page: the client gets $code"
    while read -r link; do
      file=${link%%#*} anchor=
      [[ $link != *#* ]] || anchor=${link#*#}
      [ -f "docs/reasons/$file" ] || { echo "$page: there is no $link"; continue; }
      [ -n "$anchor" ] || continue
      [ -n "${anchors_of[$file]:-}" ] || anchors_of[$file]=$'\n'$(anchors "docs/reasons/$file")$'\n'
      [[ ${anchors_of[$file]} == *$'\n'"$anchor"$'\n'* ]] || echo "$page: nothing is called #$anchor in $file"
    done < <(grep -oE '\]\([^)]+\)' "$page" | sed -E 's/^\]\(|\)$//g' | grep -v '^https\?:')
  done < <(names)
  local known=$'\n'$(names)$'\n'
  for page in "$folder"/*.md; do
    name=${page##*/}
    name=${name%.md}
    [[ $known == *$'\n'"$name"$'\n'* ]] || echo "$page: no call ends for that"
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
  try "another code" 'sed -i s/504/503/ timeout_request.*'
  try "no advice" 'sed -i /^##.How/d internal.*'
  try "a link to nothing" 'sed -i s/limits\./limit./g queue_full.*'
  try "an anchor of nothing" 'sed -i s/#shares/#share/ queue_full.*'
  [ $failed = 0 ] && echo "faults are found"
  return $failed
}

if [ "${1:-}" = selftest ]; then selftest; exit; fi
if [ "${1:-}" = write ]; then
  made=$(mktemp)
  { sed "/$first/,\$d" docs/errors.md; table; sed "1,/$first/d" docs/errors.md | sed '1,/^$/{/^$/!d}'; } >"$made"
  cat "$made" >docs/errors.md
  rm "$made"
  exit
fi
found=$(faults_of "${1:-docs/reasons}")
[ "$(table_of)" = "$(table)" ] || found+=$'\n'"docs/errors.md: its table is not made from the pages: tests/lint/reasons.sh write"
if [ -n "$found" ]; then echo "$found"; exit 1; fi
echo "each reason has its page"
