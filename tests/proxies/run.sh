#!/bin/sh
# run.sh [NAME…]: the table of docs/proxies.md, with the proxies that are installed here (QUIET_MS, SLACK: run.mjs).
set -eu
cd "$(dirname "$0")"
[ -d ../e2e/node_modules ] || (cd ../e2e && npm ci --no-audit --no-fund --loglevel=error)
[ -d node_modules ] || npm ci --no-audit --no-fund --loglevel=error
exec ../e2e/node.sh run.mjs "$@"
