#!/bin/sh
# Expected: a client that was given listChanged handlers, and opens the subscription for them by itself, opens it again when its stream ends.
# Happens: with a server of 2026-07-28 it never does: neither after a cut, nor after the server has ended the subscription in order, as it
# does when it stops. Calls work on. The ends in order are not reported to onerror either. With a server of 2025-11-25, the same
# client tries to open its stream again.
# Touched: applications that rely on the handlers: after one restart of a server or proxy they never see another change of a list.
# Seen with: @modelcontextprotocol/client 2.4.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error @modelcontextprotocol/client@2.4.0 zod@4.6.7
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const version = JSON.parse(readFileSync('node_modules/@modelcontextprotocol/client/package.json')).version;
console.log('@modelcontextprotocol/client', version);
assert.equal(version, '2.4.0');

const event = (message) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
const subscription = (id) => ({ 'io.modelcontextprotocol/subscriptionId': id });
const ends = {
  'cut': ({ answer }) => answer.destroy(),
  'end of the stream': ({ answer }) => answer.end(),
  'result, then end': ({ answer, id }) => answer.end(event({ id, result: { resultType: 'complete', _meta: subscription(id) } })),
};
/** What the client does in the 10 s after the end of its stream, with a server that goes on serving. */
async function seen(modern, end) {
  const streams = [], changed = [], errors = [], serverInfo = { name: 'sample', version: '1' }, capabilities = { tools: { listChanged: true } };
  const change = (id) => event({ method: 'notifications/tools/list_changed', params: id ? { _meta: subscription(id) } : {} });
  const server = http.createServer(async (request, answer) => {
    let text = '';
    for await (const bytes of request) text += bytes;
    const { id, method } = text ? JSON.parse(text) : {};
    const stream = () => {
      streams.push({ answer, id });
      answer.writeHead(200, { 'content-type': 'text/event-stream' });
    };
    if (!modern && request.method === 'GET') return stream(), answer.write(': begun\n\n');
    if (!method) return answer.writeHead(405).end();
    if (id === undefined) return answer.writeHead(202).end();
    if (method === 'subscriptions/listen') {
      stream();
      return answer.write(event({
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: { toolsListChanged: true }, _meta: subscription(id) },
      }));
    }
    const result = {
      ...(modern ? { 'server/discover': { supportedVersions: ['2026-07-28'], capabilities, serverInfo, ttlMs: 0, cacheScope: 'public' } } : {}),
      initialize: { protocolVersion: '2025-11-25', capabilities, serverInfo },
      'tools/list': { tools: [], ttlMs: 0, cacheScope: 'public' },
    }[method];
    answer.writeHead(200, { 'content-type': 'application/json' });
    const error = { code: -32601, message: 'Method not found' };
    answer.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result: { ...(modern ? { resultType: 'complete' } : {}), ...result } } : { error }) }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const listChanged = { tools: { onChanged: () => changed.push(Date.now()) } };
  const client = new Client({ name: 'sample', version: '1' }, { versionNegotiation: { mode: 'auto' }, listChanged });
  client.onerror = ({ message }) => errors.push(message);
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${server.address().port}/mcp`)));
  for (let i = 0; i < 100 && streams.length === 0; ++i) await pause(20);
  await pause(300);
  streams[0].answer.write(change(streams[0].id));
  await pause(1_000);
  const before = changed.length;
  end(streams[0]);
  await pause(10_000);
  const { tools } = await client.listTools();
  await client.close();
  server.closeAllConnections();
  server.close();
  return { 'changes before the end': before, 'streams opened again': streams.length - 1, 'errors reported': errors.length, 'a call after that': tools ? 'answered' : 'failed' };
}
const cases = [...Object.keys(ends).map((name) => ['2026-07-28', name]), ['2025-11-25', 'cut'], ['2025-11-25', 'end of the stream']];
const all = await Promise.all(cases.map(async ([revision, name]) => [`${revision}, ${name}`, await seen(revision === '2026-07-28', ends[name])]));
for (const one of all) console.log(...one);
assert.deepEqual(all.map(([, is]) => Object.values(is)), [
  [1, 0, 1, 'answered'],
  [1, 0, 0, 'answered'],
  [1, 0, 0, 'answered'],
  [1, 1, 1, 'answered'],
  [1, 1, 0, 'answered'],
]);
process.exit(0);
JS
node probe.mjs
echo "as described"
