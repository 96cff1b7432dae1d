#!/usr/bin/env bash
# A free function with parameters of std types, or of types made of them (nlohmann::json), does not have the name of a function of std.
# An unqualified call finds both, and a newer compiler may take the other. `quoted` was one. Such a file that calls fmt::join includes
# <fmt/ranges.h> itself: from fmt 11 on it is in no other header.
#   std_names.sh            gateway/, plugins/, conf/demo and tests/
#   std_names.sh selftest   such a name, and a missing header, are refused
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

# Functions of <algorithm>, <iomanip>, <iterator>, <numeric>, <utility>, <tuple>, <string>, <variant>, <format> and <cmath>.
names='accumulate adjacent_find advance align all_of any_of apply as_const bind binary_search bit_cast byteswap cbegin ceil clamp copy
copy_if copy_n count count_if crbegin data destroy distance empty end equal equal_range erase erase_if exchange fill fill_n find
find_end find_first_of find_if find_if_not flush floor for_each format format_to forward from_chars gcd generate get getline get_if
hash_value holds_alternative in_range includes inner_product inserter invoke iota iter_swap launder lcm lower_bound make_pair make_tuple max
max_element merge min min_element minmax mismatch move move_backward next next_permutation none_of nth_element partition
prev print println put_money put_time quoted reduce ref remove remove_copy remove_if rename replace replace_copy replace_if reverse
rotate round sample search set_difference set_intersection set_union setfill setw shift_left shift_right shuffle size sort
stable_sort stod stoi stol stoul stoull swap swap_ranges tie to_address to_array to_chars to_string to_underlying
to_wstring transform trunc unique upper_bound vformat visit'

check() {  # ROOT
  local root=$1 bad=0 file
  local alternatives
  alternatives=$(echo $names | tr ' ' '|')
  # A definition or a declaration begins in the first column and has its type in front; a member has :: or is indented.
  # redaction::apply is called by that name alone.
  if (cd "$root" && { find gateway plugins conf/demo tests -name node_modules -prune -o \( -name '*.cc' -o -name '*.h' \) -print 2>/dev/null || true; } | sort |
    grep -v '^gateway/foundation/log/redaction\.' | xargs -r grep -HnE "^(inline |static |constexpr |\[\[nodiscard\]\] )*[A-Za-z_][A-Za-z0-9_:<>, ]*[&*]? [&*]?($alternatives)\((const )?[^)]*(std::|json[& ])" /dev/null); then
    echo "std_names.sh: these have the name of a function of std, which an unqualified call finds as well"
    bad=1
  fi
  while read -r file; do
    grep -q '#include <fmt/ranges.h>' "$root/$file" || { echo "$file: fmt::join needs #include <fmt/ranges.h>"; bad=1; }
  done < <(cd "$root" && grep -rlE 'fmt::join\(' --include='*.cc' --include='*.h' gateway plugins conf/demo benchmarks tests --exclude-dir=node_modules 2>/dev/null | sort)
  return $bad
}

selftest() {
  local tree bad=0
  tree=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$tree'" EXIT
  try() {  # WORDS or "", TEXT
    mkdir -p "$tree/gateway/a"
    printf '%s\n' "$2" >"$tree/gateway/a/a.cc"
    local out
    out=$(check "$tree" || true)
    case $out in *"${1:-}"*) [ -n "$1" ] || [ -z "$out" ] && return ;; esac
    echo "selftest: '$2': expected '$1', got '$out'"
    bad=1
  }
  try "name of a function of std" 'std::string quoted(std::string_view text) {'
  try "name of a function of std" 'int64_t count(const json& object, const char* key) {'
  try "" 'std::string in_quotes(std::string_view text) {'
  try "" 'size_t count(const Changes& changes, Change kind) {'
  try "" 'std::string Splice::apply(std::string_view text) {'
  try "" '  return count(std::string("x"));'
  try "fmt/ranges.h" '  return fmt::format("{}", fmt::join(words, ","));'
  return $bad
}

case ${1:-lint} in
  lint) check . && echo "no helper has the name of a function of std" ;;
  selftest) selftest && echo "names of std are refused" ;;
  *) echo "usage: std_names.sh [lint | selftest]" >&2; exit 2 ;;
esac
