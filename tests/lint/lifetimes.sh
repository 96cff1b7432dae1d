#!/usr/bin/env bash
# There is one way to free later (docs/dev/invariants.md, "Lifetimes"): Loop::retire for what may be on the stack, and
# net::Lifetime for callbacks that may outlive their object. Other ways are refused:
#   shared, weak or made pointers to bool, which are guards of one's own;  delete this;
#   a callback that is deferred only to keep what it captures;  a Lifetime that is not the last member.
#   lifetimes.sh            gateway/ and plugins/
#   lifetimes.sh selftest   each of these is found, and only these
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

faults_of() {  # FILE…
  awk '
    function fault(words) { printf "%s:%d: %s\n", FILENAME, FNR, words }
    FNR == 1 { after = 0 }
    {
      line = $0
      sub(/\/\/.*$/, "", line)
    }
    after && line !~ /^ *$/ {
      if (line !~ /^ *}/) fault("a Lifetime is the last member, so that it ends first")
      after = 0
    }
    line ~ /(shared_ptr|weak_ptr|make_shared) *< *(const +)?bool *>/ { fault("a guard of its own: net::Lifetime is for that") }
    line ~ /(^|[^a-zA-Z_])delete +this([^a-zA-Z_]|$)/ { fault("nobody deletes itself: Loop::retire is for that") }
    line ~ /defer\(\[[^]]*\](\(\))? *\{ *\} *\)/ { fault("deferred only to keep something: Loop::retire is for that") }
    line ~ /(^|[ :])Lifetime +lifetime_;/ { after = 1 }
  ' "$@"
}

selftest() {
  source tests/lint/selftest.sh
  found_in() { faults_of "$1" | wc -l; }
  try 1 '  std::shared_ptr<bool> alive_;\n'
  try 1 '  auto alive = std::make_shared<bool>(true);\n'
  try 1 '  loop.defer([weak = std::weak_ptr<bool>(alive_)] { go(); });\n'
  try 1 '  std::shared_ptr<const bool> alive_;\n'
  try 0 '  std::shared_ptr<boolean> one;\n  std::shared_ptr<std::atomic<bool>> other;  // not a shared_ptr<bool>\n'
  try 1 '  delete this;\n'
  try 1 '  if (done) delete  this;\n'
  try 0 '  delete thistle;\n  // nobody may delete this\n'
  try 1 '  loop_.defer([kept = std::shared_ptr<Call>(std::move(call_))] {});\n'
  try 1 '  loop_.defer([kept]() {});\n'
  try 0 '  loop_.defer([kept] { kept->go(); });\n  loop_.retire(std::move(kept));\n'
  try 0 'class A {\n  net::Lifetime lifetime_;\n};\n'
  try 0 'class A {\n  Lifetime lifetime_;  // the last\n\n  // of all\n};\n'
  try 1 'class A {\n  net::Lifetime lifetime_;\n  net::Timer timer_;\n};\n'
  try 2 '  std::shared_ptr<bool> alive_;\n  delete this;\n'
  shown "each way around Lifetime and retire is found"
}

case ${1:-} in
  selftest) selftest ;;
  "")
    # Code like that of plugins outside of this tree has no loop of ours.
    mapfile -t files < <(git ls-files 'gateway/*.cc' 'gateway/*.h' 'plugins/*.cc' 'plugins/*.h')
    found=$(faults_of "${files[@]}")
    [ -z "$found" ] || { echo "$found"; exit 1; }
    echo "one way to free later in ${#files[@]} files"
    ;;
  *) echo "lifetimes.sh [selftest]" >&2; exit 2 ;;
esac
