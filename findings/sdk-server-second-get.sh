#!/bin/sh
# Expected: a client may hold several GET streams of one session at once; Streamable HTTP says so.
# Happens: the server transport of the official SDK answers the second with 409 until it has noticed the end of the first. A client
# whose first connection was lost behind a proxy or a NAT cannot open its stream again until then.
# Touched: clients that reconnect their GET stream; proxies that open one for each client of a shared session.
# Seen with: @modelcontextprotocol/sdk 1.32.2.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error @modelcontextprotocol/sdk@1.32.2 zod@4.6.7
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
function version(name, is) {
  const found = JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
  console.log(name, found);
  assert.equal(found, is);
}
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

version('@modelcontextprotocol/sdk', '1.32.2');
const sessions = new Map();
const server = http.createServer(async (request, answer) => {
  let transport = sessions.get(request.headers['mcp-session-id']);
  if (!transport) {
    transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: (id) => sessions.set(id, transport) });
    const one = new McpServer({ name: 'sample', version: '1' }, { capabilities: { logging: {} } });
    one.registerTool('sample', {}, async () => ({ content: [] }));
    await one.connect(transport);
  }
  await transport.handleRequest(request, answer);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}/mcp`;
const common = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const post = (headers, message) => fetch(url, { method: 'POST', headers: { ...common, ...headers }, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
async function open() {
  const params = { protocolVersion: '2025-11-25', capabilities: { sampling: {} }, clientInfo: { name: 'sample', version: '1' } };
  const answer = await post({}, { id: 0, method: 'initialize', params });
  await answer.text();
  const headers = { 'mcp-session-id': answer.headers.get('mcp-session-id'), 'mcp-protocol-version': '2025-11-25' };
  await (await post(headers, { method: 'notifications/initialized' })).text();
  return headers;
}

const headers = await open();
const get = (signal) => fetch(url, { headers: { ...headers, accept: 'text/event-stream' }, signal });
const abort = new AbortController();
const first = await get(abort.signal);
const second = await get();
const text = await second.text();
abort.abort();
await pause(500);
const third = await get();
const is = { first: first.status, second: second.status, 'after the end of the first': third.status };
console.log(is, text);
assert.deepEqual(Object.values(is), [200, 409, 200]);
assert.match(text, /Only one SSE stream is allowed per session/);
process.exit(0);
JS
node probe.mjs
echo "as described"
