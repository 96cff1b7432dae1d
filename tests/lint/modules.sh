#!/usr/bin/env bash
# A module is a folder of gateway/ or plugins/, at any depth. A lower one never includes a higher one, modules of one line never include each other, and no module is
# left out. Only cli/ and runtime/ know single plugins, and only net/ and process/ know libuv (ARCHITECTURE.md, "The map").
#   modules.sh            gateway/ and plugins/
#   modules.sh sizes      lines of each module, and its part of all
#   modules.sh selftest   what goes upwards or sideways, and a folder that is not listed, are refused
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

# From the lowest to the highest; what stands in one line is of one rank and apart from each other.
order='
foundation/base
foundation/json
foundation/log
foundation/net
foundation/process
config protocol/http protocol/mcp
protocol/http2
config/options
config/reader proxy/metrics proxy/audit
proxy/core operate/config_formats
proxy/plugin
proxy/plugin/abi proxy/upstream/http_client plugins/common
plugins/auth plugins/audit plugins/hook plugins/rate_limit plugins/telemetry plugins/trace
plugins/tools
plugins
proxy/upstream/shared
proxy/upstream/http proxy/upstream/stdio proxy/upstream/layers proxy/upstream/bridge proxy/cluster
proxy/aggregate
proxy/client/http2
proxy/client/http
proxy/client/session proxy/client/replica
proxy/client/endpoint
proxy/client/stdio proxy/exchange
operate/fetch
operate/admin operate/doctor operate/mcp_client
operate/cli
operate/share
runtime
.
'

check() {  # ROOT with gateway/ and plugins/ in it
  (cd "$1" && find gateway plugins -name '*.h' -o -name '*.cc' | sort | grep -vE '^plugins/(include|example)/' |
    xargs grep -HnE '^#include ["<]' /dev/null) |
    awk -v order="$order" '
      function module(path) {  # of a path as it is included: below gateway/, or with plugins/
        if (path !~ /\//) return "."
        sub(/\/[^\/]*$/, "", path)
        return path
      }
      BEGIN {
        lines = split(order, line, "\n")
        for (i = 1; i <= lines; i++) {
          n = split(line[i], name, " ")
          for (j = 1; j <= n; j++) rank[name[j]] = i
        }
      }
      {
        split($0, part, ":")
        file = part[1]
        from = file
        sub(/^gateway\//, "", from)
        from = module(from)
        if (!(from in rank)) {
          if (!(from in told)) print file ": the module " from " has no place in the order of tests/lint/modules.sh"
          told[from] = bad = 1
          next
        }
        if ($0 ~ /#include <uv.h>/) {
          if (from != "foundation/net" && from != "foundation/process") { print file ":" part[2] ": only net/ and process/ include <uv.h>"; bad = 1 }
          next
        }
        if (!match($0, /#include "[^"]+"/)) next
        to = module(substr($0, RSTART + 10, RLENGTH - 11))
        if (to == from || !(to in rank)) next
        if (to ~ /^plugins/ && from !~ /^plugins/ && rank[from] < rank["operate/cli"]) {
          print file ":" part[2] ": " from "/ includes " to "/, which only cli/ and runtime/ know"; bad = 1
        }
        if (rank[to] > rank[from]) { print file ":" part[2] ": " from "/ includes " to "/, which stands above it"; bad = 1 }
        if (rank[to] == rank[from]) { print file ":" part[2] ": " from "/ includes " to "/, which stands beside it"; bad = 1 }
      }
      END { exit bad }'
}

sizes() {
  find gateway plugins -name '*.h' -o -name '*.cc' | while read -r file; do
    echo "$(dirname "${file#gateway/}") $(wc -l <"$file")"
  done | awk '{ lines[$1] += $2; files[$1]++; all += $2 }
              END { for (m in lines) printf "%6d %5.1f %% %4d files  %s\n", lines[m], 100 * lines[m] / all, files[m], m }' | sort -rn
}

selftest() {
  local tree bad=0
  tree=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$tree'" EXIT
  try() {  # WORDS or "", FILE, LINE
    rm -rf "$tree/gateway" "$tree/plugins"
    mkdir -p "$tree/$(dirname "$2")" "$tree/gateway" "$tree/plugins"
    printf '%s\n' "$3" >"$tree/$2"
    local out
    out=$(check "$tree" || true)
    case $out in *"${1:-}"*) [ -n "$1" ] || [ -z "$out" ] && return ;; esac
    echo "selftest: $2 with $3: expected '$1', got '$out'"
    bad=1
  }
  try "" gateway/proxy/core/a.h '#include "protocol/mcp/message.h"'
  try "above it" gateway/protocol/mcp/a.h '#include "proxy/core/upstream.h"'
  try "beside it" gateway/proxy/upstream/http/a.cc '#include "proxy/upstream/stdio/stdio_call.h"'
  try "above it" gateway/proxy/upstream/shared/a.cc '#include "proxy/upstream/http/http_call.h"'
  try "" gateway/proxy/upstream/http/a.cc '#include "proxy/upstream/shared/server_era.h"'
  try "above it" plugins/auth/a.cc '#include "plugins/registry.h"'
  try "above it" plugins/hook/a.cc '#include "proxy/exchange/exchange.h"'
  try "only cli/" gateway/proxy/exchange/a.cc '#include "plugins/auth/jwt.h"'
  try "only net/" gateway/proxy/core/a.cc '#include <uv.h>'
  try "" gateway/foundation/process/a.cc '#include <uv.h>'
  try "has no place" gateway/attic/deep/a.cc '#include <string>'
  try "" gateway/main.cc '#include "runtime/gateway.h"'
  return $bad
}

case ${1:-lint} in
  lint) check . && echo "the modules are in order" ;;
  sizes) sizes ;;
  selftest) selftest && echo "the order of modules is kept" ;;
  *) echo "usage: modules.sh [lint | sizes | selftest]" >&2; exit 2 ;;
esac
