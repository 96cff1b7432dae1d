#!/bin/sh
# Expected: a client whose GET stream is cut opens it again when the server is back, after the time that Retry-After names if it was refused.
# Happens: the official TypeScript clients try twice, 1.0 s and 2.5 s after the cut, and never again in that session. Calls work on, and
# succeed once the server is back, so nothing shows that notifications and questions of the server no longer arrive. Retry-After is not
# read. A server that has sent `retry: 200`, so that clients return soon, loses them sooner: both tries are over after 0.4 s.
# Touched: every session without a server or proxy for more than 2.5 s, such as a restart: list changes, log messages, sampling, elicitation.
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

/** What a client does whose GET stream is cut, and whose server refuses everything for 4 s after that. */
async function seen(Client, Transport, retry) {
  let stream, cutAt;
  const tries = [];
  const server = http.createServer(async (request, answer) => {
    let text = '';
    for await (const bytes of request) text += bytes;
    const { id, method } = text ? JSON.parse(text) : {};
    if (cutAt && request.method === 'GET') tries.push((Date.now() - cutAt) / 1000);
    if (cutAt && Date.now() - cutAt < 4_000) return answer.writeHead(503, { 'retry-after': '4' }).end();
    const json = (result, headers = {}) => {
      answer.writeHead(200, { 'content-type': 'application/json', ...headers });
      answer.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    };
    if (request.method === 'GET') {
      stream = answer.writeHead(200, { 'content-type': 'text/event-stream' });
      return stream.write(retry ? `retry: ${retry}\n\n` : ': begun\n\n');
    }
    if (id === undefined) return answer.writeHead(202).end();
    if (method === 'initialize') {
      return json({ protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'sample', version: '1' } }, { 'mcp-session-id': 'one' });
    }
    json({ tools: [] });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new Client({ name: 'sample', version: '1' });
  await client.connect(new Transport(new URL(`http://127.0.0.1:${server.address().port}/mcp`)));
  while (!stream) await pause(20);
  await pause(300);
  cutAt = Date.now();
  stream.destroy();
  await pause(20_000);
  const { tools } = await client.listTools();
  await client.close();
  server.closeAllConnections();
  server.close();
  return { 'seconds from the cut to each GET, in 20 s': tries, 'a call after that': tools ? 'answered' : 'failed' };
}
const kinds = { 'sdk 1.32.2': [Client1, Transport1], 'client 2.4.0': [Client2, Transport2] };
const cases = Object.entries(kinds).flatMap(([name, kind]) => [undefined, 200].map((retry) => [retry ? `${name}, retry: ${retry}` : name, kind, retry]));
const all = await Promise.all(cases.map(async ([name, kind, retry]) => [name, await seen(...kind, retry), retry]));
for (const [name, is, retry] of all) {
  console.log(name, is);
  const [[first, second, ...more], call] = Object.values(is);
  assert.deepEqual([more, call], [[], 'answered']);
  const [from, to] = retry ? [[0.1, 0.3], [0.8, 1.5]] : [[0.9, 2.2], [2, 4]];
  assert.ok(first >= from[0] && second >= from[1] && first < to[0] && second < to[1]);
}
JS
node probe.mjs
echo "as described"
