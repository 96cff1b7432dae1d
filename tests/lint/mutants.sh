#!/usr/bin/env bash
# The planted bugs of tests/mutants are current: each patch applies to this tree without fuzz, names the promise that it
# breaks, and touches only its module. No two are the same, and lists name only existing ones. Git is not needed.
#   mutants.sh            tests/mutants
#   mutants.sh selftest   each of these faults is found
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C
command -v patch >/dev/null || { echo "skipped: patch is not installed"; exit 77; }

faults_of() {  # ROOT: of ROOT/tests/mutants
  local name path module file log
  (cd "$1/tests/mutants" && find . -name '*.patch' | sed 's|^\./||' | sort) | while read -r name; do
    path=$1/tests/mutants/$name
    module=${name%/*}
    head -1 "$path" | grep -qE '^Breaks: .{10}' || echo "$name: the first line does not say what it breaks (Breaks: …)"
    grep -q '^+++ b/' "$path" || echo "$name: changes nothing"
    sed -nE 's|^\+\+\+ b/([^[:space:]]+).*|\1|p' "$path" | while read -r file; do
      case ${file%/*} in
        "gateway/$module" | "$module") ;;
        *) echo "$name: $file is not of the module $module" ;;
      esac
    done
    log=$(patch -d "$1" -p1 -s -f -F0 --dry-run <"$path" 2>&1) || echo "$name: does not apply: $(tr '\n' ' ' <<<"$log")"
  done
  # Line numbers move; what is left of a patch without them tells it from others.
  (cd "$1/tests/mutants" && find . -name '*.patch' | sed 's|^\./||' | sort) | while read -r name; do
    printf '%s %s\n' "$(grep -E '^(\+\+\+ |[-+][^-+]|[-+]$)' "$1/tests/mutants/$name" | sha256sum | cut -c1-64)" "$name"
  done | sort | awk '$1 == last { print $2 ": the same as " name } { last = $1; name = $2 }'
  # survivors.txt has a reason for each of its bugs, found.txt a suite.
  local list
  for list in survivors found; do
    [ ! -e "$1/tests/mutants/$list.txt" ] || sed -E '/^(#|$)/d' "$1/tests/mutants/$list.txt" | while read -r name log; do
      [ -e "$1/tests/mutants/$name.patch" ] || echo "$list.txt: there is no $name"
      [ -n "$log" ] || echo "$list.txt: no reason for $name"
    done
  done
  return 0
}

selftest() {
  local folder failed=0
  folder=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$folder'" EXIT
  try() {  # WORDS OF THE FAULT, or nothing; module; first line; the line as the patch knows it
    rm -rf "$folder/t"
    mkdir -p "$folder/t/gateway/foundation/net" "$folder/t/tests/mutants/$2"
    printf 'one\ntwo\nthree\n' >"$folder/t/gateway/foundation/net/a.cc"
    printf '%s\n\n--- a/gateway/foundation/net/a.cc\n+++ b/gateway/foundation/net/a.cc\n@@ -1,3 +1,3 @@\n one\n-%s\n+zwei\n three\n' "$3" "$4" \
      >"$folder/t/tests/mutants/$2/a.patch"
    [ -z "${5:-}" ] || cp "$folder/t/tests/mutants/$2/a.patch" "$folder/t/tests/mutants/$2/b.patch"
    [ -z "${6:-}" ] || printf '%s\n' "$6" >"$folder/t/tests/mutants/${7:-survivors}.txt"
    local got
    got=$(faults_of "$folder/t")
    if [ -z "$1" ]; then [ -z "$got" ]; else grep -q -- "$1" <<<"$got"; fi && return
    echo "selftest: expected \"$1\", got \"$got\""
    failed=1
  }
  try "" foundation/net "Breaks: two comes after one." two
  try "" foundation/net "Breaks: two comes after one." two "" "foundation/net/a nobody counts"
  try "does not apply" foundation/net "Breaks: two comes after one." deux
  try "does not say" foundation/net "A bug." two
  try "not of the module foundation/json" foundation/json "Breaks: two comes after one." two
  try "the same as" foundation/net "Breaks: two comes after one." two twice
  try "there is no foundation/net/c" foundation/net "Breaks: two comes after one." two "" "foundation/net/c nobody counts"
  try "no reason" foundation/net "Breaks: two comes after one." two "" "foundation/net/a"
  try "" foundation/net "Breaks: two comes after one." two "" "foundation/net/a wire 10_http/a" found
  try "found.txt: there is no foundation/net/c" foundation/net "Breaks: two comes after one." two "" "foundation/net/c unit a" found
  [ $failed = 0 ] || return 1
  echo "patches that are out of date are found"
}

case ${1:-} in
  selftest) selftest ;;
  "")
    faults=$(faults_of .)
    [ -z "$faults" ] || { printf '%s\n' "$faults"; exit 1; }
    echo "$(find tests/mutants -name '*.patch' | wc -l) planted bugs apply to this tree"
    ;;
  *) echo "mutants.sh [selftest]" >&2; exit 2 ;;
esac
