#!/usr/bin/env bash
# coverage.sh BUILD: of each room of gateway/, the lines that ran in a build with LINEWARD_COVERAGE.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v gcovr >/dev/null || { echo "coverage: gcovr is not installed (Debian package gcovr)"; exit 0; }
printf '\n== lines that unit and wire tests reach\n'
gcovr "$1" --root . --filter 'gateway/' --exclude-unreachable-branches -j "$(nproc)" --csv - 2>/dev/null |
  awk -F, 'NR > 1 {
      n = split($1, path, "/"); room = n > 2 ? path[2] : "(top)"
      lines[room] += $2; hit[room] += $3; all += $2; reached += $3
    }
    END {
      for (room in lines) printf "%-10s %6d of %6d  %5.1f %%\n", room, hit[room], lines[room], 100 * hit[room] / lines[room] | "sort"
      close("sort")
      if (all) printf "%-10s %6d of %6d  %5.1f %%\n", "all", reached, all, 100 * reached / all
    }'
