#!/usr/bin/env bash
# Data of a peer is kept in types that count it (gateway/foundation/base/counted_string.h, kept_refs.h, held_bytes.h). Members of the modules that hold
# objects of peers (client, exchange, upstream, …: `folders` below) which can hold a peer's bytes and do not count them must stand in
# tests/lint/kept.txt, each with the reason why that is no matter:
#   HEADER MEMBER REASON        MEMBER * means all of that header, for objects that last no longer than a call
#   kept.sh            every such member has a line, and every line has a member
#   kept.sh selftest   a member without a line, a line without a member and a line without a reason are refused
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

folders=(proxy/client proxy/exchange proxy/upstream proxy/cluster proxy/aggregate proxy/plugin)

members() {  # DIRECTORY: "HEADER MEMBER TYPE" of what can hold text
  find "${folders[@]/#/$1/}" -name '*.h' 2>/dev/null | sort | while read -r header; do
    sed -E 's@//.*$@@' "$header" | awk -v header="${header#"$1"/}" '
      # A declaration may go over several lines; what stands in parentheses is no member.
      { line = line " " $0 }
      /[;{}][ \t]*$/ || /:[ \t]*$/ || /^[ \t]*$/ || /^#/ {
        text = line
        line = ""
        if (text !~ /;[ \t]*$/ || text ~ /\(|^ *(using|friend|static|return|enum|typedef|struct|class) /) next
        sub(/ *=[^;]*;|\{[^}]*\} *;|;[ \t]*$/, "", text)
        if (text !~ /std::string( |>|,)|Message( |>)|Headers|HeaderFields|SharedFields|UpstreamRequest|IncomingMessage|LegacyServer|ModernServer|LegacyClient|Verdict|Failure/) next
        if (text ~ /[&*] *[a-z_0-9]+$|Counted|function<|config::|std::unique_ptr/) next
        name = text
        sub(/.*[ >]/, "", name)
        type = text
        sub(/ *[a-z_0-9]+$/, "", type)
        gsub(/ +/, " ", type)
        if (name ~ /^[a-z][a-z_0-9]*$/) print header, name, type
      }'
  done | sort -u -k1,2
}

check() {  # DIRECTORY LIST
  local bad=0
  members "$1" >"$work/members"
  awk -v list="$2" '
    FILENAME == list {
      if ($0 ~ /^ *(#|$)/) next
      if (NF < 3) { printf "%s: no reason: %s\n", list, $0; bad = 1 }
      reason[$1 " " $2] = 1
      next
    }
    { seen[$1 " " $2] = 1; seen[$1 " *"] = 1
      if (($1 " *") in reason || ($1 " " $2) in reason) next
      type = $0; sub(/^[^ ]+ [^ ]+ /, "", type)
      printf "%s: %s (%s) can hold what a peer sent and is not counted\n", $1, $2, type; bad = 1 }
    END {
      for (one in reason) if (!(one in seen)) { printf "%s: there is no such member: %s\n", list, one; bad = 1 }
      exit bad
    }' "$2" "$work/members" || bad=1
  return $bad
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

selftest() {
  local bad=0 tree=$work/tree
  mkdir -p "${folders[@]/#/$tree/}"
  cat >"$tree/proxy/client/a.h" <<'END'
class A {
  const std::string& borrowed_;
  void take(std::string text);
  std::function<void(const std::string&)> told_;
  CountedString kept_;
  std::string text_;  // a comment;
  std::map<std::string,
           size_t> counts_;
};
END
  printf 'proxy/client/a.h text_ bounded by 64\nproxy/client/a.h counts_ none of it is theirs\n' >"$work/good"
  check "$tree" "$work/good" >"$work/out" || { echo "refused:"; cat "$work/out"; bad=1; }
  refused() {  # WORDS, LIST
    printf '%b' "$2" >"$work/list"
    if ! check "$tree" "$work/list" >"$work/out" && grep -q -- "$1" "$work/out"; then return; fi
    echo "not refused: $1"
    bad=1
  }
  refused "counts_ (.*) can hold" 'proxy/client/a.h text_ bounded by 64\n'
  refused "no such member: proxy/client/a.h gone_" "$(cat "$work/good")\nproxy/client/a.h gone_ was there once\n"
  refused "no reason" 'proxy/client/a.h text_\nproxy/client/a.h counts_ none of it is theirs\n'
  printf 'proxy/client/a.h * it lasts a call\n' >"$work/list"
  check "$tree" "$work/list" >"$work/out" || { echo "refused: *"; bad=1; }
  return $bad
}

case ${1:-lint} in
  lint) check gateway tests/lint/kept.txt && echo "what is kept is counted" ;;
  members) members gateway ;;
  selftest) selftest ;;
  *) echo "usage: kept.sh [lint | members | selftest]" >&2; exit 2 ;;
esac
