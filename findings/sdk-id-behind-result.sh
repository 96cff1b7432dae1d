#!/bin/sh
# Expected: a reader of a long answer sees early which request it answers, because `id` stands before `result`, as in the examples of
# JSON-RPC 2.0 and of MCP.
# Happens: McpServer of sdk 1.32.2 and of server 2.4.0 write `result`, `jsonrpc`, `id`: the id of a result of 200 kB is in its last 8
# bytes. Errors are written as `jsonrpc`, `id`, `error`.
# Touched: gateways and clients that want to refuse, cancel or route a long answer while it arrives: with two calls under way they know
# only at its end whose it is.
# Seen with: @modelcontextprotocol/sdk 1.32.2 and @modelcontextprotocol/server 2.4.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/server@2.4.0 zod@4.6.7
cat >server.mjs <<'JS'
const first = process.argv[2] === '1';
const { McpServer } = await import(first ? '@modelcontextprotocol/sdk/server/mcp.js' : '@modelcontextprotocol/server');
const { StdioServerTransport } = await import(first ? '@modelcontextprotocol/sdk/server/stdio.js' : '@modelcontextprotocol/server/stdio');
const server = new McpServer({ name: 'sample', version: '1' });
server.registerTool('long', {}, async () => ({ content: [{ type: 'text', text: 'x'.repeat(200_000) }] }));
await server.connect(new StdioServerTransport());
JS
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

setTimeout(() => { console.error('not over after 60 s'); process.exit(1); }, 60_000).unref();
function version(name, is) {
  const found = JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
  console.log(name, found);
  assert.equal(found, is);
}
version('@modelcontextprotocol/sdk', '1.32.2');
version('@modelcontextprotocol/server', '2.4.0');

async function seen(which) {
  const child = spawn(process.execPath, ['server.mjs', which], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const ask = async (message) => {
    send(message);
    return (await lines.next()).value;
  };
  await ask({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'sample', version: '1' } } });
  send({ method: 'notifications/initialized' });
  const result = await ask({ id: 41, method: 'tools/call', params: { name: 'long', arguments: {} } });
  const error = await ask({ id: 42, method: 'sample/unknown' });
  child.stdin.end();
  child.kill();
  return { result: Object.keys(JSON.parse(result)).join(), behindId: result.length - result.lastIndexOf('"id":41'), error: Object.keys(JSON.parse(error)).join() };
}
const first = await seen('1'), second = await seen('2');
console.log({ 'sdk 1.32.2': first, 'server 2.4.0': second });
for (const { result, behindId, error } of [first, second]) {
  assert.equal(result, 'result,jsonrpc,id');
  assert.equal(error, 'jsonrpc,id,error');
  assert.ok(behindId < 20);
}
JS
node probe.mjs
echo "as described"
