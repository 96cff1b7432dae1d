#!/usr/bin/env bash
# docs/dev/*.md, docs/decisions/*.md, ARCHITECTURE.md and CONTRIBUTING.md name files and commits: each has to be there.
#   A path is what stands in backticks, or behind ]( , and begins with a folder of the top level, or of gateway/ in ARCHITECTURE.md;
#   one that has a word in capitals in it (NAME, FOLDER) is a pattern. A commit is seven hexadecimal digits in backticks.
#   pages.sh [PAGE…]
#   pages.sh selftest   pages with a fault in them are refused
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

exists() {  # PATH: as it is, as a pattern, or without what a pair of files ends with
  local path=${1%%#*} each
  path=${path%/}
  for each in "" gateway/; do
    compgen -G "$each$path" >/dev/null && return
    compgen -G "$each$path.*" >/dev/null && return
  done
  return 1
}

faults_of() {  # PAGE
  local page=$1 word
  while read -r word; do
    [[ ! $word =~ (^|[/_.])[A-Z]{2,}([/_.]|$) || -e $word ]] || continue
    exists "$word" || echo "$page: there is no $word"
  done < <({
    grep -oE '`[a-z_]+/[A-Za-z0-9_.*/-]*[A-Za-z0-9_*/]`' "$page" | tr -d '`'
    grep -oE '(^|[ (])(gateway|plugins|conf|tests|docs|benchmarks)/[A-Za-z0-9_./-]*[A-Za-z0-9_/]' "$page" | sed 's/^[ (]//'
  } | grep -E '^(gateway|plugins|conf|tests|docs|benchmarks|runtime|operate|proxy|config|protocol|foundation)/' | sort -u)
  # A clone without history knows no commits.
  [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ] || return 0
  while read -r word; do
    git cat-file -e "$word^{commit}" 2>/dev/null || echo "$page: there is no commit $word"
  done < <(grep -oE '`[0-9a-f]{7}`' "$page" | tr -d '`' | sort -u)
}

selftest() {
  source tests/lint/selftest.sh
  found_in() { if [ -z "$(faults_of "$1")" ]; then echo fine; else echo faulty; fi; }
  try fine 'See `tests/lint/pages.sh`, `gateway/protocol/mcp/`, `protocol/mcp/message.h`, `protocol/mcp/message`, `gateway/protocol/mcp/message.*`.'
  try fine 'A pattern: `tests/wire/FOLDER/NAME.wire`, `plugins/NAME.cc`; no path: `tools/call`, `initialize`.'
  try faulty 'See `tests/lint/nothing.sh`.'
  try faulty 'See `protocol/mcp/nothing.h`.'
  try faulty 'See `gateway/nothing/`.'
  try faulty 'See docs/nothing.'
  try faulty '    tests/lint/nothing.sh here'
  [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" != false ] || try faulty 'As in `0000000`.'
  shown "faults are found"
}

case ${1:-} in
  selftest) selftest ;;
  *)
    [ $# -gt 0 ] || set -- ARCHITECTURE.md CONTRIBUTING.md docs/dev/*.md docs/decisions/*.md
    faults=$(for page; do faults_of "$page"; done)
    [ -z "$faults" ] || { printf '%s\n' "$faults"; exit 1; }
    echo "what these $# pages name is there"
    ;;
esac
