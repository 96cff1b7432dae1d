#!/usr/bin/env bash
# one_source.sh: each module compiles as one source. Its sources are compiled some at a time as one, and the groups change with every new
# file: two with one name in anonymous namespaces would break a later build. Sources that CMakeLists.txt compiles one at a time are left
# out.
set -uo pipefail
cd "$(dirname "$0")/../.."
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
while read -r folder; do
  unit=$work/${folder//\//_}.cc
  for source in "$folder"/*.cc; do
    printf '#include "%s"\n' "$PWD/$source"
  done >"$unit"
  clang++ -std=c++20 -fsyntax-only -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror \
    -DFMT_SHARED "-DLINEWARD_SOURCE_DIR=\"$PWD\"" \
    -DLINEWARD_VERSION='"0"' -DCATCH_CONFIG_ENABLE_ALL_STRINGMAKERS -Igateway -Iplugins/include -I. -Itests \
    -isystem build/deps/usr/share/include/llhttp "$unit" || {
    echo "one_source.sh: $folder does not compile as one source; names in anonymous namespaces are a module's own" >&2
    failed=1
  }
done < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else git ls-files 'gateway/*.cc' 'plugins/*.cc' | xargs -n1 dirname | sort -u | grep -vE '^(gateway|gateway/foundation/(net|process)|plugins/(auth|tools))$'; fi)
exit $failed
