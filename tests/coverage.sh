#!/usr/bin/env bash
# coverage.sh BUILD: of each module of gateway/, the lines that ran in a build with LINEWARD_COVERAGE.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v gcovr >/dev/null || { echo "coverage: gcovr is not installed (Debian package gcovr)"; exit 0; }
printf '\n== lines that unit and wire tests reach\n'
gcovr "$1" --root . --filter 'gateway/' --exclude-unreachable-branches -j "$(nproc)" --csv - 2>/dev/null |
  awk -F, 'NR > 1 {
      module = $1; sub(/^gateway\//, "", module); if (!sub(/\/[^\/]*$/, "", module)) module = "(top)"
      lines[module] += $2; hit[module] += $3; all += $2; reached += $3
    }
    END {
      for (module in lines) printf "%-16s %6d of %6d  %5.1f %%\n", module, hit[module], lines[module], 100 * hit[module] / lines[module] | "sort"
      close("sort")
      if (all) printf "%-16s %6d of %6d  %5.1f %%\n", "all", reached, all, 100 * reached / all
    }'
