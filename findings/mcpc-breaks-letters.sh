#!/bin/sh
# Expected: a tool's result in the output of mcpc has the letters that the server sent.
# Happens: letters of several bytes in a long result are replaced by U+FFFD here and there. The command and the process that holds its
#   connection speak through a socket, and each piece that is read there is made text on its own. A short result, or one in ASCII, is whole.
# Touched: scripts that use long results of mcpc in other languages than English, and comparisons of results with and without a proxy.
# Seen with: @apify/mcpc 0.2.6 on Node.js 22.23.3.
set -eu
dir=$(mktemp -d)
HOME=$dir/home
export HOME
mkdir "$HOME"
cd "$dir"
mcpc() { timeout 60 node_modules/.bin/mcpc --json "$@"; }
end() {
  mcpc close @sample >/dev/null 2>&1 || true
  rm -rf "$dir"
}
trap end EXIT
trap 'exit 1' HUP INT TERM
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --save-exact --loglevel=error @apify/mcpc@0.2.6
cat >server.mjs <<'JS'
import { createInterface } from 'node:readline';
const text = { short: '✓'.repeat(100), ascii: 'x'.repeat(900_000), long: '✓'.repeat(300_000) };
const tools = Object.keys(text).map((name) => ({ name, inputSchema: { type: 'object' } }));
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result =
    method === 'initialize' ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'sample', version: '1' } }
    : method === 'tools/list' ? { tools }
    : method === 'tools/call' ? { content: [{ type: 'text', text: text[params.name] }] }
    : {};
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
}
JS
cat >judge.mjs <<'JS'
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
const { version } = JSON.parse(readFileSync('node_modules/@apify/mcpc/package.json'));
console.log('@apify/mcpc', version);
assert.equal(version, '0.2.6');
const textOf = (name) => JSON.parse(readFileSync(`${name}.json`, 'utf8')).content[0].text;
const broken = (name) => textOf(name).split('\ufffd').length - 1;
console.log('replaced letters:', broken('short'), 'in 100,', broken('long'), 'in 300,000');
assert.equal(textOf('short'), '✓'.repeat(100));
assert.equal(textOf('ascii'), 'x'.repeat(900_000));
assert.ok(broken('long') > 0);
JS
printf '{"mcpServers":{"s":{"command":"node","args":["%s/server.mjs"]}}}' "$dir" >config.json
mcpc connect "$dir/config.json:s" @sample >/dev/null
for tool in short ascii long; do mcpc @sample tools-call $tool '{}' >$tool.json; done
node judge.mjs
