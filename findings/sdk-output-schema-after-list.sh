#!/bin/sh
# Expected: a client checks structured results against a tool's output schema in every call, or in none.
# Happens: it depends on whether the application has called listTools() on this client before. Without, a result that breaks the
# schema is returned as it is; after it, the same call of the same tool throws -32602.
# Touched: applications that know their tools' names and add a list later; tests that skip the list.
# Seen with: @modelcontextprotocol/sdk 1.32.2 and @modelcontextprotocol/client 2.4.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 zod@4.6.7
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
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';

version('@modelcontextprotocol/sdk', '1.32.2');
version('@modelcontextprotocol/client', '2.4.0');

/** A server of 2025-11-25: `answers` has what becomes of each tool's call; `log` what came. */
const log = [];
const answers = {
  typed: ({ json }) => json({ content: [], structuredContent: { count: 'many' } }),
};
const server = http.createServer(async (request, answer) => {
  let text = '';
  for await (const bytes of request) text += bytes;
  const { id, method, params } = text ? JSON.parse(text) : {};
  log.push(method ?? request.method);
  const json = (result, headers = {}) => {
    answer.writeHead(200, { 'content-type': 'application/json', ...headers });
    answer.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  if (!method) return answer.writeHead(405).end();
  if (id === undefined) return answer.writeHead(202).end();
  if (method === 'initialize') {
    return json({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'sample', version: '1' } }, { 'mcp-session-id': `session-${++sessions}` });
  }
  if (method === 'tools/list') return json({ tools: [{ name: 'typed', inputSchema: { type: 'object' }, outputSchema: { type: 'object', properties: { count: { type: 'number' } } } }] });
  answers[params.name]({ answer, json });
}).listen(0, '127.0.0.1');
let sessions = 0;
await once(server, 'listening');
const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);

const kinds = {
  'sdk 1.32.2': [Client1, Transport1, (client, name, options) => client.callTool({ name, arguments: {} }, undefined, options)],
  'client 2.4.0': [Client2, Transport2, (client, name, options) => client.callTool({ name, arguments: {} }, options)],
};

for (const [kind, [Client, Transport, call]] of Object.entries(kinds)) {
  const client = new Client({ name: 'sample', version: '1' });
  await client.connect(new Transport(url));
  const before = await call(client, 'typed').then((result) => result.structuredContent);
  await client.listTools();
  const after = await call(client, 'typed').then(() => 'no error', (error) => error.code);
  console.log(kind, { 'before listTools()': before, after });
  assert.deepEqual([before, after], [{ count: 'many' }, -32602]);
  await client.close();
}
server.close();
JS
node probe.mjs
echo "as described"
