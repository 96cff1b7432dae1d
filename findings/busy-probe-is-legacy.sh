#!/bin/sh
# Expected: a client that gets 408, 429 or 503 with Retry-After for its server/discover asks again, or fails: such an answer says nothing about
# the revisions of the server.
# Happens: @modelcontextprotocol/client takes 408 and 429, and the AI SDK's client 503 as well, for a server that does not know
# server/discover. They send initialize at once and keep to 2025-11-25, with a server that speaks 2026-07-28 and is free again. With 503,
# @modelcontextprotocol/client fails to connect.
# Touched: rate limits in front of servers of both revisions: the clients that they slow down lose the newer one. At servers of the newer
# revision alone, such clients cannot connect.
# Seen with: @modelcontextprotocol/client 2.4.0 (versionNegotiation auto) and @ai-sdk/mcp 2.0.99.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error @modelcontextprotocol/client@2.4.0 @ai-sdk/mcp@2.0.99 zod@4.6.7
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { createMCPClient } from '@ai-sdk/mcp';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
for (const [name, is] of [['@modelcontextprotocol/client', '2.4.0'], ['@ai-sdk/mcp', '2.0.99']]) {
  const found = JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
  console.log(name, found);
  assert.equal(found, is);
}
const connects = {
  'client 2.4.0': async (url) => {
    const client = new Client({ name: 'sample', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    await client.listTools();
    await client.close();
  },
  'ai-sdk 2.0.99': async (url) => {
    const client = await createMCPClient({ transport: { type: 'http', url } });
    await client.tools();
    await client.close();
  },
};
/** How a client gets on with a server of both revisions that answers the first request with that status, and every later one as asked. */
async function seen(connect, status) {
  const posts = [], serverInfo = { name: 'sample', version: '1' }, capabilities = { tools: {} };
  const server = http.createServer(async (request, answer) => {
    let text = '';
    for await (const bytes of request) text += bytes;
    const { id, method } = text ? JSON.parse(text) : {};
    if (!method) return answer.writeHead(405).end();
    posts.push(method);
    if (id === undefined) return answer.writeHead(202).end();
    if (posts.length === 1 && status !== 200) return answer.writeHead(status, { 'retry-after': '1' }).end();
    const result = {
      'server/discover': { supportedVersions: ['2026-07-28'], capabilities, serverInfo, ttlMs: 0, cacheScope: 'public' },
      initialize: { protocolVersion: '2025-11-25', capabilities, serverInfo },
      'tools/list': { tools: [], ttlMs: 0, cacheScope: 'public' },
    }[method];
    answer.writeHead(200, { 'content-type': 'application/json' });
    answer.end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const failed = await connect(`http://127.0.0.1:${server.address().port}/mcp`).then(() => false, () => true);
  server.closeAllConnections();
  server.close();
  assert.equal(posts[0], 'server/discover');
  return failed ? 'fails' : posts.includes('initialize') ? '2025-11-25' : '2026-07-28';
}
const all = {};
for (const [name, connect] of Object.entries(connects)) {
  all[name] = {};
  for (const status of [200, 408, 429, 503]) all[name][status] = await seen(connect, status);
}
console.log(all);
const legacy = '2025-11-25';
assert.deepEqual(all, {
  'client 2.4.0': { 200: '2026-07-28', 408: legacy, 429: legacy, 503: 'fails' },
  'ai-sdk 2.0.99': { 200: '2026-07-28', 408: legacy, 429: legacy, 503: legacy },
});
process.exit(0);
JS
node probe.mjs
echo "as described"
