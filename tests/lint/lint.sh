#!/usr/bin/env bash
# lint.sh BUILD_DIR: modules and sizes, clang-format, and clang-tidy over what BUILD_DIR compiles.
set -uo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
bad=0
tests/lint/modules.sh || bad=1
tests/lint/twins.sh || bad=1
tests/lint/crosses.sh || bad=1
tests/lint/cited.sh || bad=1
tests/lint/security.sh || bad=1
tests/lint/reasons.sh || bad=1
tests/lint/options.sh || bad=1
tests/lint/monitoring.sh || bad=1
tests/lint/kept.sh || bad=1
tests/lint/lifetimes.sh || bad=1
tests/lint/pages.sh || bad=1
! command -v node >/dev/null || node tests/lint/prose.mjs || bad=1
tests/lint/one_source.sh || bad=1
tests/lint/std_names.sh || bad=1
tests/lint/mutants.sh
case $? in 0 | 77) ;; *) bad=1 ;; esac
for tool in clang-format clang-tidy; do
  command -v $tool >/dev/null || { echo "$tool is missing: apt-get install $tool" >&2; exit 2; }
done
git ls-files '*.cc' '*.h' | xargs clang-format --dry-run --Werror || bad=1
conf/scripts/configure.sh "$build" || exit 2
git ls-files 'gateway/*.cc' 'plugins/*.cc' ':!plugins/example' | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p "$build" || bad=1
exit $bad
