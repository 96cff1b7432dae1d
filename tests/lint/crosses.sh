#!/usr/bin/env bash
# docs/what-crosses.md is a list of claims, each with the tests that show it in a comment at its end:
#   <!-- shown by: FOLDER/NAME, FOLDER/NAME -->     (scripts of tests/wire, without .wire)
# A claim is a bullet, a paragraph or a table row, one sentence each; a paragraph that ends with a colon leads to claims.
# One paragraph, the one that says how the page is made, may end with <!-- no claim -->.
#   crosses.sh lint [PAGE]   every claim is shown by tests that exist
#   crosses.sh list [PAGE]   NUMBER-first-words TAB scripts, a line for each claim: what CMake makes tests of
#   crosses.sh selftest      pages with each fault in them are refused
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

claims() {  # PAGE: a line for each: claim TAB line number TAB text TAB scripts; fault TAB line number TAB words
  awk '
    function fault(words) { printf "fault\t%d\t%s\n", begin, words }
    function flush_block(  text, note, at) {
      text = block
      block = ""
      if (text == "") return
      at = index(text, "<!--")
      if (at == 0 && text ~ /:$/ && !row) return
      if (at == 0) { fault("nothing is named that shows: " text); return }
      note = substr(text, at)
      text = substr(text, 1, at - 1)
      sub(/ *\|$/, "", note)
      sub(/ +$/, "", text)
      if (note == "<!-- no claim -->") {
        if (++excused > 1) fault("a second paragraph is no claim: " text)
        return
      }
      if (note !~ /^<!-- shown by: [a-z0-9_\/]+(, [a-z0-9_\/]+)* -->$/) { fault("not one \"shown by\" at the end of: " text); return }
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
      printf "%03d%s\t%s\n", ++number, name, $4
    }'
}

lint() {
  local page=$1 faults=0 kind line text scripts script
  [ -s "$page" ] || { echo "$page: nothing there"; return 1; }
  while IFS=$'\t' read -r kind line text scripts; do
    if [ "$kind" = fault ]; then
      echo "$page:$line: $text"
      faults=$((faults + 1))
      continue
    fi
    for script in $scripts; do
      [ -f "tests/wire/$script.wire" ] && continue
      echo "$page:$line: tests/wire/$script.wire does not exist"
      faults=$((faults + 1))
    done
  done < <(claims "$page")
  local number
  number=$(list "$page" | wc -l)
  [ "$number" -gt 0 ] || { echo "$page: no claims"; return 1; }
  [ "$faults" = 0 ] && echo "$number claims, each with what shows it"
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
  refused "nothing is named" "$good\n- Two."
  refused "nothing is named" "$good\n\nA paragraph."
  refused "nothing is named" "$good\n\n| a | b |\n|---|---|\n| what | how |"
  refused "does not exist" "$good\n- Two. <!-- shown by: 00_sanity/nobody -->"
  refused "more than one sentence" "- One. Two. <!-- shown by: 00_sanity/modern_call_round_trip -->"
  refused "at the end of" "- One <!-- shown by: 00_sanity/modern_call_round_trip --> and two."
  refused "a second paragraph" "$good\n\nA. <!-- no claim -->\n\nB. <!-- no claim -->"
  refused "no claims" "# Nothing"
  rm -f "$page" "$page.out"
  return $bad
}

page=${2:-docs/what-crosses.md}
case ${1:-lint} in
  lint) lint "$page" ;;
  list) list "$page" ;;
  selftest) selftest ;;
  *) echo "usage: crosses.sh lint | list | selftest" >&2; exit 2 ;;
esac
