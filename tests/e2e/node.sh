#!/bin/sh
# Runs Node 22 out of node_modules, whatever the system's own version is; its arguments are node's.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
case $(uname -m) in
  x86_64) arch=x64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) echo "node.sh: no Node for $(uname -m)" >&2; exit 1 ;;
esac
node=$here/node_modules/node-linux-$arch/bin/node
if [ ! -x "$node" ]; then
  echo "node.sh: $node is missing: run npm ci --no-audit --no-fund in $here" >&2
  exit 1
fi
# Programs that look for node by name find the same one.
PATH=${node%/*}:$PATH
export PATH
if [ "${1-}" = --path ]; then echo "$node"; else exec "$node" "$@"; fi
