#!/usr/bin/env bash
# clients.sh [TEXT…]: real clients from npm with real servers on every road, in one table (README.md). TEXT: only the cells with all of
# these in "client / server / road". The registry is npm's own setting; after the installation nothing reaches a network.
#   LINEWARD=FILE       the binary (build/lineward)
#   INTEROP_CACHE=DIR   where the packages are kept, 1.4 GB (lineward-interop in the folder for temporary files)
#   JOBS=N              cells at once (2)
set -euo pipefail
cd "$(dirname "$0")/../.."
e2e=tests/e2e
[ $e2e/node_modules/.package-lock.json -nt $e2e/package-lock.json ] || (cd $e2e && npm ci --no-audit --no-fund --loglevel=error)
runner=("$e2e/node.sh" tests/interop/clients/run.mjs)
"${runner[@]}" --install "$@"
# The network namespace has loopback alone. A machine that forbids it leaves only the clients' own settings against telemetry.
alone=(unshare --net)
[ "$(id -u)" = 0 ] || alone=(unshare --user --map-current-user --net)
if "${alone[@]}" sh -c 'ip link set lo up' 2>/dev/null; then
  exec "${alone[@]}" sh -c 'ip link set lo up && exec "$@"' sh "${runner[@]}" "$@"
fi
echo "clients.sh: no network namespace here; the run uses the machine's own network" >&2
exec "${runner[@]}" "$@"
