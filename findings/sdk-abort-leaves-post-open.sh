#!/bin/sh
# Expected: a call over Streamable HTTP that the caller aborts closes its POST.
# Happens: the official TypeScript clients send notifications/cancelled and keep the POST's response open until the server ends it or
# the client closes. The error of the abort has the code of a timeout (-32001; REQUEST_TIMEOUT), in both.
# Touched: a server should not answer a cancelled call, so it has to end such a stream unasked; servers and proxies with a limit of
# streams run full; a caller cannot tell its own abort from a timeout by the code.
# Seen with: @modelcontextprotocol/sdk 1.32.2 and @modelcontextprotocol/client 2.4.0, with a server of 2025-11-25.
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

let open = 0;

/** A server of 2025-11-25: `answers` has what becomes of each tool's call; `log` what came. */
const log = [];
const answers = {
  silent: ({ answer }) => {
    ++open;
    answer.on('close', () => --open);
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.write(': begun\n\n');
  },
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

const codes = { 'sdk 1.32.2': -32001, 'client 2.4.0': 'REQUEST_TIMEOUT' };
for (const [kind, [Client, Transport, call]] of Object.entries(kinds)) {
  const client = new Client({ name: 'sample', version: '1' });
  await client.connect(new Transport(url));
  log.length = 0;
  let code;
  for (let i = 0; i < 3; ++i) {
    const abort = new AbortController();
    setTimeout(() => abort.abort('by the caller'), 200);
    await call(client, 'silent', { signal: abort.signal }).then(() => assert.fail('no error'), (error) => (code = error.code));
  }
  await pause(2_000);
  const before = open;
  await client.close();
  await pause(500);
  const is = { code, cancelled: log.filter((one) => one === 'notifications/cancelled').length, 'open 2 s after three aborts': before, 'open after close()': open };
  console.log(kind, is);
  assert.deepEqual(Object.values(is), [codes[kind], 3, 3, 0]);
}
server.close();
JS
node probe.mjs
echo "as described"
