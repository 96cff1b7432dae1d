#!/usr/bin/env bash
# A class does one thing: it has at most 40 methods (constructors, destructors and operators do not count), and its
# header includes at most 12 of ours. Larger ones stand in classes.txt with their figures, which may only shrink: a
# class that grew fails, and so does one that shrank without a new line.
#   classes.sh            gateway/ and plugins/
#   classes.sh list       every class with its number of methods, the largest first
#   classes.sh selftest   what counts as a method
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C
max_methods=40
max_includes=12

# Prints "COUNT FILE:CLASS" for each class; expects the form that clang-format gives.
methods_of() {  # FILE…
  awk '
    function without_text(line) {
      gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
      gsub(/\047([^\047\\]|\\.)\047/, "0", line)
      sub(/\/\/.*/, "", line)
      return line
    }
    # A statement in the body of a class.
    function statement(said,   bare, name) {
      gsub(/\[\[[^]]*\]\]/, "", said)
      gsub(/^[ \t]+/, "", said)
      if (said ~ /^(using|friend|typedef|static_assert|enum|class|struct)[ (]/) return
      if (said ~ /operator|= *delete|= *default/) return
      if (said !~ /\(/ || (said ~ /=/ && index(said, "=") < index(said, "("))) return
      bare = said
      while (sub(/<[^<>]*>/, "", bare)) {}  # a std::function<void(int)> is no method
      if (!match(bare, /[~A-Za-z_0-9]+ *\(/)) return
      name = substr(bare, RSTART, RLENGTH - 1)
      gsub(/ /, "", name)
      if (name == names[top] || name ~ /^~/ || name == "explicit") return
      ++counts[top]
    }
    FNR == 1 { depth = top = 0; text = "" }
    {
      line = without_text($0)
      if (line ~ /^[ \t]*#/) next
      for (i = 1; i <= length(line); ++i) {
        c = substr(line, i, 1)
        if (c == "{") {
          ++depth
          head = text
          gsub(/^[ \t]+/, "", head)
          sub(/^template *<[^{]*> *(class|struct)/, "class", head)
          if (head ~ /^(class|struct) / && head !~ /[()]/) {
            sub(/^(class|struct) +(\[\[[^]]*\]\] +)?/, "", head)
            match(head, /^[A-Za-z_0-9:]+/)
            names[++top] = substr(head, RSTART, RLENGTH)
            depths[top] = depth
            counts[top] = 0
          } else if (top > 0 && depth == depths[top] + 1) {
            statement(text)
          }
          text = ""
        } else if (c == "}") {
          if (top > 0 && depth == depths[top]) {
            print counts[top], FILENAME ":" names[top]
            --top
          }
          --depth
          text = ""
        } else if (c == ";") {
          if (top > 0 && depth == depths[top]) statement(text)
          text = ""
        } else if (c == ":" && text ~ /(public|private|protected)[ \t]*$/) {
          text = ""
        } else {
          text = text c
        }
      }
      text = text " "
    }
  ' "$@" | sort -rn
}

selftest() {
  source tests/lint/selftest.sh
  # The figures of a class with the body PAGE.
  found_in() {
    methods_of <(echo 'class A final : public B<int> {' && cat "$1" && echo '};') | sed -n 's/^\([0-9]*\) .*:A$/\1/p'
  }
  try 0 ' public:\n  A(int one, int two);\n  explicit A(int one) : one_(one) {}\n  ~A() override;\n'
  try 0 '  A& operator=(const A&) = delete;\n  bool operator==(const A&) const;\n'
  try 0 '  std::function<void(int)> told_;\n  int one_ = f(2);\n  using F = void (*)(int);\n  friend void g(A&);\n'
  try 1 '  void one(int a,\n           int b) const;\n'
  try 1 '  void one() { if (two()) return three(";{"); }\n'
  try 2 ' private:\n  [[nodiscard]] bool one() const { return true; }  // two();\n  static std::map<int, int> two(std::function<void()> f);\n'
  try 1 '  struct Inner {\n    void two();\n    void three();\n  };\n  void one();\n'
  try 1 '  enum class Kind { one, two };\n  template <class F>\n  void one(F&& f);\n'
  shown "methods are counted as they should"
}

files() { git ls-files 'gateway/*.h' 'plugins/*.h' 'gateway/*.cc' 'plugins/*.cc'; }

case ${1:-} in
  selftest) selftest; exit ;;
  list) methods_of $(files); exit ;;
esac

faults=0
fault() {
  echo "$1"
  faults=1
}
# A count, against its limit and its line in classes.txt.
judge() {  # COUNT NAME LIMIT WHAT
  local known
  known=$(sed -nE "s|^$2 ([0-9]+)\$|\\1|p" tests/lint/classes.txt)
  if [ -z "$known" ]; then
    [ "$1" -le "$3" ] || fault "$2: $1 $4 (limit $3)"
  elif [ "$1" -le "$3" ]; then
    fault "$2: $1 $4; its line in tests/lint/classes.txt can go"
  elif [ "$1" -gt "$known" ]; then
    fault "$2: $1 $4, it had $known"
  elif [ "$1" -lt "$known" ]; then
    fault "$2: $1 $4; write so in tests/lint/classes.txt, where $known stands"
  fi
}

while read -r count class; do
  if [ "$count" -gt "$max_methods" ] || grep -q "^$class " tests/lint/classes.txt; then
    judge "$count" "$class" "$max_methods" methods
  fi
done < <(methods_of $(files))
while read -r header; do
  count=$(grep -c '^#include "' "$header" || true)
  if [ "$count" -gt "$max_includes" ] || grep -q "^$header " tests/lint/classes.txt; then
    judge "$count" "$header" "$max_includes" includes
  fi
done < <(git ls-files 'gateway/*.h' 'plugins/*.h')

[ "$faults" = 0 ] && echo "classes are small, or get smaller ($(grep -c '^[a-z]' tests/lint/classes.txt) to go)"
