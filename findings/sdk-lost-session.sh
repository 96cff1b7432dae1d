#!/bin/sh
# Expected: 404 for a session that the server no longer has makes the client initialize again, as Streamable HTTP says it MUST.
# Happens: the official TypeScript clients report an error, to that call and to each later one, with the same dead session id, and send
# no initialize. The application has to build a new client. In 2.4.0 the code of that error is CLIENT_HTTP_NOT_IMPLEMENTED, as it is of a 503.
# Touched: applications whose server restarts. Code that looks for "not implemented" to fall back to an older transport.
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
  lost: ({ answer }) => answer.writeHead(404, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'),
  busy: ({ answer }) => answer.writeHead(503, { 'retry-after': '1' }).end(),
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
  if (method === 'tools/list') return json({ tools: [] });
  answers[params.name]({ answer, json });
}).listen(0, '127.0.0.1');
let sessions = 0;
await once(server, 'listening');
const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);

const kinds = {
  'sdk 1.32.2': [Client1, Transport1, (client, name, options) => client.callTool({ name, arguments: {} }, undefined, options)],
  'client 2.4.0': [Client2, Transport2, (client, name, options) => client.callTool({ name, arguments: {} }, options)],
};

const codes = { 'sdk 1.32.2': [404, 404, 503], 'client 2.4.0': Array(3).fill('CLIENT_HTTP_NOT_IMPLEMENTED') };
for (const [kind, [Client, Transport, call]] of Object.entries(kinds)) {
  const client = new Client({ name: 'sample', version: '1' });
  const transport = new Transport(url);
  await client.connect(transport);
  const first = transport.sessionId;
  await pause(300);
  log.length = 0;
  const seen = [];
  for (const name of ['lost', 'lost', 'busy']) seen.push(await call(client, name, { timeout: 5_000 }).then(() => 'no error', (error) => error.code));
  await pause(1_500);
  console.log(kind, { 'codes of 404, 404, 503': seen, 'what came': log, 'the same session': transport.sessionId === first });
  assert.deepEqual(seen, codes[kind]);
  assert.deepEqual(log, ['tools/call', 'tools/call', 'tools/call']);
  assert.equal(transport.sessionId, first);
  await client.close();
}
server.close();
JS
node probe.mjs
echo "as described"
