#!/usr/bin/env bash
# docs/what-crosses.md and docs/behaviour.md are lists of claims, each with the tests that show it in a comment at its end:
#   <!-- shown by: FOLDER/NAME, unit/FOLDER/NAME_test.cc -->   (a script of tests/wire without .wire, or a path under tests)
# A claim without a test is counted, and ends with "(not tested by itself)". A claim is a bullet, a paragraph or a table
# row, one sentence each; a paragraph that ends with a colon leads to claims. A single paragraph, the one about the
# making of the page, may end with <!-- no claim -->.
#   crosses.sh lint [PAGE]   every claim is shown by tests that exist, on that page or on both
#   crosses.sh list [PAGE]   NUMBER-first-words TAB scripts, a line for each claim with scripts: what CMake makes tests of
#   crosses.sh selftest      pages with each fault in them are refused
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

claims() {  # PAGE: a line for each: claim TAB line number TAB text TAB tests; untested and fault TAB line number TAB words
  awk '
    function fault(words) { printf "fault\t%d\t%s\n", begin, words }
    function flush_block(  text, note, at) {
      text = block
      block = ""
      if (text == "") return
      at = index(text, "<!--")
      if (at == 0 && text ~ /:$/ && !row) return
      if (at == 0 && text ~ /\(not tested by itself\)\.?$/) {
        if (text ~ /[.!?] +[A-Z`*]/) fault("more than one sentence: " text)
        printf "untested\t%d\t%s\n", begin, text
        return
      }
      if (at == 0) { fault("nothing is named that shows: " text); return }
      note = substr(text, at)
      text = substr(text, 1, at - 1)
      sub(/ *\|$/, "", note)
      sub(/ +$/, "", text)
      if (note == "<!-- no claim -->") {
        if (++excused > 1) fault("a second paragraph is no claim: " text)
        return
      }
      if (note !~ /^<!-- shown by: [A-Za-z0-9_.\/-]+(, [A-Za-z0-9_.\/-]+)* -->$/) { fault("not one \"shown by\" at the end of: " text); return }
      if (text ~ /[.!?] +[A-Z`*]/) fault("more than one sentence: " text)
      gsub(/^<!-- shown by: | -->$/, "", note)
      gsub(/,/, "", note)
      printf "claim\t%d\t%s\t%s\n", begin, text, note
    }
    function begin_block(text) { flush_block(); block = text; begin = NR; row = 0 }
    /^```/ { flush_block(); fenced = !fenced; next }
    fenced { next }
    /^ *$/ || /^#/ { flush_block(); next }
    /^\|[-|: ]+\|$/ { block = ""; next }
    /^\|/ { line = $0; sub(/^\| */, "", line); sub(/ *\|$/, "", line); begin_block(line); row = 1; next }
    /^ *[-*] / { line = $0; sub(/^ *[-*] +/, "", line); begin_block(line); next }
    { line = $0; sub(/^ +/, "", line); if (block == "" || row) begin_block(line); else block = block " " line }
    END { flush_block() }
  ' "$1"
}

list() {
  claims "$1" | awk -F '\t' '
    $1 == "claim" {
      words = tolower($3)
      gsub(/[^a-z0-9]+/, " ", words)
      count = split(words, word, " ")
      name = ""
      for (i = 1; i <= count && i <= 6; i++) name = name "-" word[i]
      scripts = ""
      count = split($4, test, " ")
      for (i = 1; i <= count; i++) if (test[i] !~ /\./) scripts = scripts (scripts == "" ? "" : " ") test[i]
      number++
      if (scripts != "") printf "%03d%s\t%s\n", number, name, scripts
    }'
}

lint() {
  local page=$1 faults=0 number=0 untested=0 kind line text tests path
  [ -s "$page" ] || { echo "$page: nothing there"; return 1; }
  while IFS=$'\t' read -r kind line text tests; do
    case $kind in
      fault)
        echo "$page:$line: $text"
        faults=$((faults + 1))
        continue
        ;;
      untested) untested=$((untested + 1)) ;;
      claim) number=$((number + 1)) ;;
    esac
    for path in $tests; do
      case $path in
        *.*) path=tests/$path ;;
        *) path=tests/wire/$path.wire ;;
      esac
      [ -f "$path" ] && continue
      echo "$page:$line: $path does not exist"
      faults=$((faults + 1))
    done
  done < <(claims "$page")
  [ "$number" -gt 0 ] || { echo "$page: no claims"; return 1; }
  [ "$faults" = 0 ] || return 1
  [ "$untested" = 0 ] || claims "$page" | awk -F '\t' -v page="$page" '$1 == "untested" { print page ":" $2 ": " $3 }'
  echo "$page: $number claims with what shows them, $untested that say they are not tested by themselves"
}

selftest() {
  local page bad=0
  local good='- One. <!-- shown by: 00_sanity/modern_call_round_trip -->'
  page=$(mktemp)
  refused() {  # WORDS OF THE FAULT, PAGE
    printf '%b\n' "$2" >"$page"
    if ! lint "$page" >"$page.out" && grep -q -- "$1" "$page.out"; then return; fi
    echo "not refused ($1): $2"
    bad=1
  }
  printf '%s\n' "Leads to:" "" "$good" >"$page"
  lint "$page" >/dev/null || { echo "refused: $good"; bad=1; }
  printf '%s\n' "$good" "- Two. <!-- shown by: unit/protocol/mcp/message_test.cc -->" "- Three (not tested by itself)." >"$page"
  lint "$page" >"$page.out" || { echo "refused: a path under tests, a claim that is not tested"; bad=1; }
  grep -q '2 claims.*, 1 that' "$page.out" || { echo "not counted: a claim that is not tested"; bad=1; }
  [ "$(list "$page" | wc -l)" = 1 ] || { echo "listed, though no script shows it"; bad=1; }
  refused "nothing is named" "$good\n- Two."
  refused "nothing is named" "$good\n\nA paragraph."
  refused "nothing is named" "$good\n\n| a | b |\n|---|---|\n| what | how |"
  refused "does not exist" "$good\n- Two. <!-- shown by: 00_sanity/nobody -->"
  refused "does not exist" "$good\n- Two. <!-- shown by: unit/protocol/mcp/nobody_test.cc -->"
  refused "no claims" "- One (not tested by itself)."
  refused "more than one sentence" "- One. Two (not tested by itself)."
  refused "more than one sentence" "- One. Two. <!-- shown by: 00_sanity/modern_call_round_trip -->"
  refused "at the end of" "- One <!-- shown by: 00_sanity/modern_call_round_trip --> and two."
  refused "a second paragraph" "$good\n\nA. <!-- no claim -->\n\nB. <!-- no claim -->"
  refused "no claims" "# Nothing"
  rm -f "$page" "$page.out"
  return $bad
}

case ${1:-lint} in
  lint)
    bad=0
    for page in ${2:-docs/what-crosses.md docs/behaviour.md}; do lint "$page" || bad=1; done
    exit $bad
    ;;
  list) list "${2:-docs/what-crosses.md}" ;;
  selftest) selftest ;;
  *) echo "usage: crosses.sh lint | list | selftest" >&2; exit 2 ;;
esac
