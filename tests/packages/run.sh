#!/usr/bin/env bash
# run.sh [NAME…]: uses each artefact of `make dist` (build/dist) once as its user would, in the smallest surroundings that it says it
# needs. Without names all; ends with one line of passed and failed.
set -uo pipefail
cd "$(dirname "$0")/../.."

# A line for each: its name, and the command that fails when something is wrong.
tests='
checksums   cd build/dist && sha256sum --check --quiet SHA256SUMS
same-bytes  tests/packages/same_bytes.sh
source      tests/packages/source.sh
static      tests/packages/static.sh
arm64       tests/packages/arm64.sh
arm64-units tests/packages/arm64_units.sh
npm         conf/npm/test/run.sh build/dist/npm
image       tests/packages/image.sh
chart       tests/packages/chart.sh
deb         tests/packages/deb.sh
node-image  tests/packages/node_image.sh
'

[ -e build/dist/SHA256SUMS ] || { echo "run.sh: there is no build/dist: run make dist first" >&2; exit 69; }
# Node, and the clients and servers of other projects.
[ -d tests/e2e/node_modules ] || (cd tests/e2e && npm ci --no-audit --no-fund --loglevel=error) || exit 69
passed=0
failed=()
while read -r name command; do
  [ -n "$name" ] || continue
  [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
  started=$SECONDS
  printf '\n== %s\n' "$name"
  if (eval "$command") </dev/null; then
    passed=$((passed + 1))
    printf '== %s passed (%d s)\n' "$name" $((SECONDS - started))
  else
    failed+=("$name")
    printf '== %s FAILED (%d s)\n' "$name" $((SECONDS - started))
  fi
done <<<"$tests"
[ ${#failed[@]} = 0 ] || printf '\nfailed: %s\n' "${failed[*]}"
printf '\n%d passed, %d failed\n' "$passed" "${#failed[@]}"
[ ${#failed[@]} = 0 ] && [ "$passed" -gt 0 ]
