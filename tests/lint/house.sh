#!/usr/bin/env bash
# house.sh [COMMIT]: figures of the structure of gateway/ and plugins/, of the working tree or of a commit. No limits: a review
# compares two commits with it.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C
if [ $# -gt 0 ]; then
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  git archive "$1" | tar -x -C "$tree"
  cd "$tree"
fi

sources() { find gateway plugins -name '*.h' -o -name '*.cc' | grep -v '^plugins/example/' | sort; }
row() { printf '%7s  %s\n' "$1" "$2"; }

row "$(sources | xargs cat | wc -l)" "lines of gateway/ and plugins/"
row "$(find gateway -mindepth 1 -maxdepth 1 -type d | wc -l)" "folders at the top of gateway/"
row "$(sources | wc -l)" "files"
row "$(sources | xargs grep -hoE '^ *(class|struct) [A-Za-z]+ .*\{|^ *(class|struct) [A-Za-z]+ \{' | wc -l)" "classes and structs"

# An interface has a pure virtual function. Its implementations are the classes that name it as a base.
interfaces() {
  find gateway plugins -name '*.h' -print0 | xargs -0 awk '
    FNR == 1 { name = "" }
    match($0, /^ *(class|struct) [A-Za-z]+/) && $0 !~ /;$/ { name = $2; sub(/:.*/, "", name) }
    /\)( const)?( noexcept)? = 0;/ && name != "" { print name }' | sort -u
}
implementers() { grep -rhE "^ *(class|struct) [A-Za-z:]+ .*\b$1\b|^ +(public|protected|private)? ?([a-z_]+::)*$1[,{ ]" --include='*.h' --include='*.cc' "${@:2}" 2>/dev/null | grep -cvE "^ *(class|struct) $1\b" || true; }
all=0 single=0 unfaked=() 
while read -r name; do
  all=$((all + 1))
  [ "$(implementers "$name" gateway plugins)" -le 1 ] || continue
  single=$((single + 1))
  [ "$(implementers "$name" tests)" != 0 ] || unfaked+=("$name")
done < <(interfaces)
row $all "interfaces (classes with a pure virtual function)"
row $single "of these, with one implementation"
row ${#unfaked[@]} "of these, without another one in a test: ${unfaked[*]}"

virtuals() {  # CLASS FILE
  sed -n "/^class $1 {/,/^};/p" "$2" | grep -v '~' | grep -c '  virtual ' || true
}
upstream=$(find gateway -path '*core/upstream.h')
row "$(virtuals Upstream "$upstream")" "virtual functions of Upstream"
row "$(virtuals Call "$upstream")" "virtual functions of Call"
row "$(sources | xargs grep -hoE '^ *(struct|class) [A-Za-z]*(Fault|Refusal|Denial|Failure|Error)\b[^;]*\{' | wc -l)" "types of errors"
row "$(sources | xargs grep -lE '1ll? ?<< ?std::min|1 << std::min|(pause|wait|delay)[a-z_]* \* 2' | wc -l)" "files that double a pause"
row "$(find gateway -name '*.h' -print0 | xargs -0 grep -hE '\b[a-z_]*acknowledged[a-z_]* ?(=|;)' | wc -l)" "fields called acknowledged"
row "$(grep -rlw timeout_park gateway plugins docs tests/e2e tests/lint conf | wc -l)" "files that name the end reason timeout_park"
row "$(wc -l <ARCHITECTURE.md)" "lines of ARCHITECTURE.md"
