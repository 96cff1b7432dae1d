#!/usr/bin/env bash
# A module is a folder of gateway/ or plugins/, at any depth. A lower one never includes a higher one, modules of one line never include each other, and no module is
# left out. A module's library links each module that it includes, directly or through another: a program of few modules (a fuzz
# target, a unit test) would not build otherwise. Only cli/ and runtime/ know single plugins, and only net/ and process/ know libuv (ARCHITECTURE.md, "The map").
#   modules.sh            gateway/ and plugins/
#   modules.sh sizes      lines of each module, and its part of all
#   modules.sh selftest   what goes upwards or sideways, a folder that is not listed, and a library that is not linked, are refused
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

# Finds includes of modules to which no line lineward_module(FOLDER LIBRARY…) of CMakeLists.txt leads.
linked() {  # ROOT with CMakeLists.txt, gateway/ and plugins/ in it
  (
    cd "$1"
    tr '\n' ' ' <CMakeLists.txt | grep -oE 'lineward_module\([^)]*\)' | sed 's/lineward_module(\(.*\))/module \1/'
    find gateway plugins -name '*.h' -o -name '*.cc' | sort | grep -vE '^plugins/(include|example)/' | xargs grep -HnE '^#include "' /dev/null
  ) | awk '
    function folder(path) { return sub(/\/[^\/]*$/, "", path) ? path : "." }
    function library(name) { gsub(/\//, "_", name); return "lw_" name }
    function reaches(from, to,  n, i, part) {
      if (from == to) return 1
      if ((from, to) in known) return known[from, to]
      known[from, to] = 0
      n = split(links[from], part, " ")
      for (i = 1; i <= n; i++) if (part[i] in links && reaches(part[i], to)) return known[from, to] = 1
      return 0
    }
    $1 == "module" { name = library($2); links[name] = ""; for (i = 3; i <= NF; i++) links[name] = links[name] " " $i; next }
    {
      split($0, part, ":")
      from = part[1]
      sub(/^gateway\//, "", from)
      match($0, /"[^"]+"/)
      from = library(folder(from))
      to = library(folder(substr($0, RSTART + 1, RLENGTH - 2)))
      if (!(from in links) || !(to in links) || reaches(from, to)) next
      print part[1] ":" part[2] ": " from " does not link " to ", which it includes (CMakeLists.txt)"
      bad = 1
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
  link() {  # WORDS or "", LIBRARIES of proxy/core
    rm -rf "$tree/gateway" "$tree/plugins"
    mkdir -p "$tree/gateway/proxy/core" "$tree/plugins"
    printf 'lineward_module(%s)\n' proxy/metrics "config lw_proxy_metrics" "proxy/core $2" >"$tree/CMakeLists.txt"
    echo '#include "proxy/metrics/limits.h"' >"$tree/gateway/proxy/core/a.cc"
    local out
    out=$(linked "$tree" || true)
    case $out in *"${1:-}"*) [ -n "$1" ] || [ -z "$out" ] && return ;; esac
    echo "selftest: proxy/core with '$2': expected '$1', got '$out'"
    bad=1
  }
  link "" lw_proxy_metrics
  link "" "fmt::fmt lw_config"
  link "does not link lw_proxy_metrics" fmt::fmt
  return $bad
}

case ${1:-lint} in
  lint) check . && linked . && echo "the modules are in order" ;;
  sizes) sizes ;;
  selftest) selftest && echo "the order of modules is kept" ;;
  *) echo "usage: modules.sh [lint | sizes | selftest]" >&2; exit 2 ;;
esac
