# Sourced by the selftests that try one page after the other. Theirs is `found_in PAGE`, which says in a word what is found.
page=$(mktemp)
trap 'rm -f "$page"' EXIT
failed=0

try() {  # EXPECTED, page (escapes as printf knows them)
  local got
  printf '%b' "$2" >"$page"
  got=$(found_in "$page")
  [ "$got" = "$1" ] || { echo "selftest: $got, expected $1: $2"; failed=1; }
}

# The end: what has been shown, unless something was not.
shown() {
  [ $failed = 0 ] && echo "$1"
}
