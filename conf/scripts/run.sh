#!/usr/bin/env bash
# run.sh BUILD_DIR "COMMAND": Lineward in front of the demo server or of COMMAND, with a curl line to paste.
set -euo pipefail
build=$1
command=${2:-}
address=${LISTEN:-127.0.0.1:8000}

if [ -n "$command" ]; then
  read -ra words <<<"$command"
  if ! command -v "${words[0]}" >/dev/null; then
    echo "'${words[0]}' is not installed." >&2
    case ${words[0]} in
      npx | npm | node) echo "  fix   apt-get install nodejs npm   (or any Node of version 20 or newer)" >&2 ;;
      uvx | uv) echo "  fix   install uv, which brings uvx" >&2 ;;
    esac
    exit 69
  fi
  tool_call='{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
  method=tools/list
  name=
else
  words=("$build/demo-server")
  tool_call='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"countdown","arguments":{"steps":5},"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
  method=tools/call
  name=" -H 'Mcp-Name: countdown'"
fi

cat >&2 <<TXT
Try it from another terminal:

  curl -N http://$address/mcp -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: $method'$name -d '$tool_call'

TXT
exec "$build/lineward" run --listen "$address" "${@:3}" -- "${words[@]}"
