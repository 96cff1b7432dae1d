#!/usr/bin/env bash
# No two classes, structs, unions or enums of one namespace have the same name in different files, anonymous namespaces
# aside: the linker takes one of two such definitions for both, and says nothing (the one definition rule).
#   twins.sh [FILE…]    without files: gateway/ and plugins/
#   twins.sh selftest   twins are found, and only twins
# Reads what clang-format leaves: `namespace a::b {` and definitions at namespace scope stand at the left edge, and a
# namespace, or a definition of several lines, ends with a line that begins with a brace.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

twins() {
  awk '
    function whole(  i, path) {
      path = ""
      for (i = 1; i <= depth; i++) path = path space[i] "::"
      return path
    }
    FNR == 1 { depth = 0; comment = 0 }
    comment { if (/\*\//) comment = 0; next }
    /^\/\*/ && !/\*\// { comment = 1; next }
    /^(inline )?namespace( [A-Za-z0-9_:]+)? \{$/ {
      name = $0
      sub(/^(inline )?namespace ?/, "", name)
      sub(/ ?\{$/, "", name)
      space[++depth] = name == "" ? "(anonymous)" : name
      next
    }
    /^\}  \/\/ namespace/ { if (depth > 0) depth--; next }
    /^(template <.*> )?(class|struct|union|enum|enum class|enum struct) [A-Za-z_]/ && !/;$/ || /^(class|struct|union|enum( class)?) .*\{.*\};$/ {
      line = $0
      sub(/^template <.*> /, "", line)
      sub(/^(enum class|enum struct|enum|class|struct|union) /, "", line)
      sub(/^(alignas\([^)]*\)|\[\[[a-z_]+\]\]) /, "", line)
      if (match(line, /^[A-Za-z_][A-Za-z0-9_]*/) == 0) next
      name = substr(line, 1, RLENGTH)
      rest = substr(line, RLENGTH + 1)
      if (rest ~ /^(::|<|\()/ || rest ~ /^ [A-Za-z_*&]+(\(|::)/) next  # of another class, a specialisation, a function
      if (rest !~ /^( final)?( : .*)?( \{.*|)$/) next
      full = whole() name
      if (full ~ /\(anonymous\)/) next
      if (full in first && first[full] != FILENAME) {
        printf "%s:%d: %s is defined in %s, too: put one into an anonymous namespace, or name it for what it is\n",
               FILENAME, FNR, full, first[full]
        found = 1
      }
      if (!(full in first)) first[full] = FILENAME
    }
    END { exit found }
  ' "$@"
}

selftest() {
  local folder one two failed=0
  folder=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$folder'" EXIT
  one=$folder/one.h two=$folder/two.cc
  try() {  # EXPECTED, text of one.h, text of two.cc
    printf '%s\n' "$2" >"$one"
    printf '%s\n' "$3" >"$two"
    local got=apart
    twins "$one" "$two" >/dev/null || got=twins
    [ "$got" = "$1" ] || { echo "selftest: $got, expected $1: $2 / $3"; failed=1; }
  }
  local in=$'namespace a::b {\n' out=$'\n}  // namespace a::b'
  local hidden=$'namespace {\n' end=$'\n}  // namespace'
  for twin in $'struct Rules {\n  int a;\n};' 'struct Rules {};' $'class Rules final : public Base {\n};' \
    $'enum class Rules : uint8_t { a, b };' $'template <class T> struct Rules {\n};' $'template <class T>\nclass Rules {\n};' \
    $'class Rules final : public Base,\n              public Other {\n};'; do
    try twins "$in$twin$out" "${in}struct Rules {"$'\n};'"$out"
  done
  try apart "${in}struct Rules {"$'\n};'"$out" "$in${hidden}struct Rules {"$'\n};'"$end$out"
  try apart "${in}struct Rules {"$'\n};'"$out" $'namespace a {\nstruct Rules {\n};\n}  // namespace a'
  try apart "${in}struct Rules {"$'\n};'"$out" "${in}struct Rules;$out"
  try apart "${in}struct Rules {"$'\n};'"$out" "${in}struct Other {"$'\n  struct Rules {\n  };\n};'"$out"
  try apart "${in}struct Rules {"$'\n};'"$out" "${in}struct Rules make() {"$'\n}'"$out"
  try apart "${in}struct Rules {"$'\n};'"$out" "${in}template <> struct Rules<int> {"$'\n};'"$out"
  try apart "${in}struct Rules {"$'\n};'"$out" "${in}struct Rules::Inner {"$'\n};'"$out"
  try twins "$in$hidden"$'int a;'"$end"$'\nstruct Rules {\n};'"$out" "${in}struct Rules {"$'\n};'"$out"
  [ $failed = 0 ] && echo "twins are found, and only twins"
  return $failed
}

case ${1:-} in
  selftest) selftest ;;
  '')
    mapfile -t files < <(git ls-files 'gateway/*.h' 'gateway/*.cc' 'plugins/*.h' 'plugins/*.cc')
    twins "${files[@]}" && echo "no name is defined twice in ${#files[@]} files"
    ;;
  *) twins "$@" ;;
esac
