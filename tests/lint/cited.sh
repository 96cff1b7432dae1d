#!/usr/bin/env bash
# What a comment, a test or a page cites is in the repository, so that whoever reads it can look it up:
#   a page NAME.md is there, in the folder of the citing file, in docs or at the top;
#   "behaviour.md N", "behaviour.md N, M" and "behaviour.md N and M" name sections of docs/behaviour.md;
#   a page that is not named by its file (a word in capitals and the number of a section) is not cited at all.
#   cited.sh            the whole repository
#   cited.sh selftest   a citation with each fault is refused
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

# The pages that were cited so once, and none of them is here.
unknown='\b(BEHAVIOUR|RELIABILITY|INTEROP)\b|\b(DESIGN|UX|STACK|STYLE|PEERS|HOUSE) [0-9]'

search() {  # FOLDER grep's arguments: file:line:what matches
  local folder=$1
  shift
  grep -rIn "$@" "$folder" --exclude-dir=.git --exclude-dir=build --exclude-dir=node_modules --exclude-dir=data \
    --exclude=cited.sh | sed "s@^$folder/@@" || true
}

faults_of() {  # FOLDER
  local folder=$1 place line text path number
  search "$folder" -E "$unknown" | while IFS=: read -r place line text; do
    echo "$place:$line: cites a page that is not here: ${text:0:120}"
  done
  search "$folder" -oE '[A-Za-z0-9_./-]*[A-Za-z0-9_]\.md\b' | while IFS=: read -r place line text; do
    path=$(sed -E 's@^([./-]*/|-)+@@' <<<"$text")
    case $place in */*) place_folder=$folder/${place%/*} ;; *) place_folder=$folder ;; esac
    [ -e "$place_folder/$text" ] || [ -e "$place_folder/$path" ] || [ -e "$folder/$path" ] || [ -e "$folder/docs/$path" ] ||
      echo "$place:$line: there is no $text"
  done
  search "$folder" -oE 'behaviour\.md [0-9]+((,| and) [0-9]+)*' | while IFS=: read -r place line text; do
    for number in $(grep -oE '[0-9]+' <<<"$text"); do
      grep -q "^## $number\. " "$folder/docs/behaviour.md" || echo "$place:$line: docs/behaviour.md has no section $number"
    done
  done
}

selftest() {
  local folder failed=0
  folder=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$folder'" EXIT
  mkdir -p "$folder/docs" "$folder/gateway"
  printf '# A page\n\n## 1. One\n\n## 2. Two\n' >"$folder/docs/behaviour.md"
  try() {  # WORDS OF THE FAULT, or nothing; comment
    local got
    printf '// %s\n' "$2" >"$folder/gateway/a.h"
    got=$(faults_of "$folder")
    if [ -z "$1" ]; then [ -z "$got" ]; else grep -q -- "$1" <<<"$got"; fi && return
    echo "selftest: expected \"$1\", got \"$got\": $2"
    failed=1
  }
  try "" "What is promised (behaviour.md 1 and 2; docs/behaviour.md)."
  try "" "RFC 7240, HTTP 404."
  try "no section 3" "What is promised (behaviour.md 1, 3)."
  try "no section 3" "What is promised (behaviour.md 1 and 3)."
  try "there is no docs/nowhere.md" "As docs/nowhere.md has it."
  try "not here" "What is promised (BEHAVIOUR 1)."
  try "not here" "As it was designed (DESIGN 3)."
  [ $failed = 0 ] && echo "citations of nothing are found"
  return $failed
}

case ${1:-lint} in
  selftest) selftest ;;
  *)
    faults=$(faults_of .)
    [ -z "$faults" ] || { printf '%s\n' "$faults"; exit 1; }
    echo "every page and section that is cited is there"
    ;;
esac
