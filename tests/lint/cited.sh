#!/usr/bin/env bash
# Citations of comments, tests and pages are in the repository, so that readers can look them up:
#   a page NAME.md is there, in the folder of the citing file, in docs or at the top, or is made (build/…);
#   "behaviour.md N", "behaviour.md N, M" and "behaviour.md N and M" name sections of docs/behaviour.md;
#   a script whose title cites sections stands under a rule of one of them: what it shows is promised there;
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

shown_in() {  # PAGE: a line for each section: its number and the scripts that its rules name
  awk '
    /^## [0-9]+\. / { if (number != "") print number names; number = $2 + 0; names = ""; next }
    { gsub(/,/, " "); for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+_[a-z0-9_]+\//) names = names " " $i }
    END { if (number != "") print number names }
  ' "$1"
}

faults_of() {  # FOLDER
  local folder=$1 place line text path number place_folder shown sections
  shown=$(shown_in "$folder/docs/behaviour.md")
  sections=" $(cut -d ' ' -f 1 <<<"$shown" | tr '\n' ' ')"
  search "$folder" -E "$unknown" | while IFS=: read -r place line text; do
    echo "$place:$line: cites a page that is not here: ${text:0:120}"
  done
  search "$folder" -oE '[A-Za-z0-9_./-]*[A-Za-z0-9_]\.md\b' | while IFS=: read -r place line text; do
    path=$text
    [[ $path != *build/* ]] || continue
    while [[ $path =~ ^([.-]*/|-) ]]; do path=${path#"${BASH_REMATCH[0]}"}; done
    case $place in */*) place_folder=$folder/${place%/*} ;; *) place_folder=$folder ;; esac
    [ -e "$place_folder/$text" ] || [ -e "$place_folder/$path" ] || [ -e "$folder/$path" ] || [ -e "$folder/docs/$path" ] ||
      echo "$place:$line: there is no $text"
  done
  search "$folder" -oE 'behaviour\.md [0-9]+((,| and) [0-9]+)*' | while IFS=: read -r place line text; do
    text=${text#behaviour.md }
    text=${text//,/}
    for number in ${text// and / }; do
      [[ $sections == *" $number "* ]] || echo "$place:$line: docs/behaviour.md has no section $number"
    done
  done
  search "$folder" -E '^wiretest .*behaviour\.md [0-9]' | while IFS=: read -r place line text; do
    path=${place#tests/wire/}
    path=${path%.wire}
    [[ $text =~ behaviour\.md\ ([0-9]+((,|\ and)\ [0-9]+)*) ]] || continue
    text=${BASH_REMATCH[1]//,/}
    for number in ${text// and / }; do
      [[ $'\n'$shown =~ $'\n'$number\ ([^$'\n']*\ )?$path([ $'\n']|$) ]] && continue 2
    done
    echo "$place:$line: no rule of the sections that its title cites is shown by $path"
  done
}

selftest() {
  local folder text failed=0
  folder=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$folder'" EXIT
  mkdir -p "$folder/docs" "$folder/gateway" "$folder/tests/wire/10_a"
  printf '# A page\n\n## 1. One\n- A. <!-- shown by: 10_a/b -->\n\n## 2. Two\n' >"$folder/docs/behaviour.md"
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
  : >"$folder/gateway/a.h"
  for text in "1, 2" "2"; do
    printf 'wiretest "b (behaviour.md %s)"\n' "$text" >"$folder/tests/wire/10_a/b.wire"
    if [ "$text" = 2 ]; then
      grep -q "no rule" <<<"$(faults_of "$folder")"
    else
      [ -z "$(faults_of "$folder")" ]
    fi && continue
    echo "selftest: a script whose title cites $text"
    failed=1
  done
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
