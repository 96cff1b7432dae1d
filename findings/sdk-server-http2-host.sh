#!/bin/sh
# Expected: a server of the official SDK that checks the host serves HTTP/2 requests for an allowed host. HTTP/2 names the host in :authority.
# Happens: both generations look for a Host header only, which HTTP/2 clients do not send. Under Node's http2 they answer 403 to every request:
# `allowedHosts` of sdk 1.32.2 with "Invalid Host header: null", `localhostHostValidation()` of node 2.1.2 with "Missing Host header". The
# same handler serves the same host over HTTP/1.1, and over HTTP/2 without the check.
# Touched: servers that are moved to HTTP/2, and proxies that speak HTTP/2 to their backend: the protection has to be left off.
# Seen with: @modelcontextprotocol/sdk 1.32.2, @modelcontextprotocol/server 2.4.0 and @modelcontextprotocol/node 2.1.2.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/server@2.4.0 @modelcontextprotocol/node@2.1.2 zod@4.6.7
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
function version(name, is) {
  const found = JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
  console.log(name, found);
  assert.equal(found, is);
}
import { McpServer as Server1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport as Transport1 } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { McpServer as Server2 } from '@modelcontextprotocol/server';
import { localhostHostValidation, NodeStreamableHTTPServerTransport as Transport2 } from '@modelcontextprotocol/node';

version('@modelcontextprotocol/sdk', '1.32.2');
version('@modelcontextprotocol/server', '2.4.0');
version('@modelcontextprotocol/node', '2.1.2');

const body = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'sample', version: '1' } },
});
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
async function text(stream) {
  let all = '';
  for await (const bytes of stream) all += bytes;
  return all;
}
async function over1(port) {
  const request = http.request({ host: '127.0.0.1', port, method: 'POST', agent: false, headers }).end(body);
  const [answer] = await once(request, 'response');
  return [answer.statusCode, await text(answer)];
}
async function over2(port) {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  const stream = session.request({ ':method': 'POST', ':path': '/', ...headers }).end(body);
  const [head] = await once(stream, 'response');
  const all = await text(stream);
  session.destroy();
  return [head[':status'], all];
}
/** The answer to the same initialize. `handle` serves a request; it is given the server's port. */
async function seen(create, ask, handle) {
  const server = create((request, answer) => handle(request, answer, server.address().port)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const [status, all] = await ask(server.address().port);
  server.close();
  server.closeAllConnections?.();
  return { status, message: status === 200 ? '' : JSON.parse(all).error.message };
}
const first = (checks) => async (request, answer, port) => {
  const check = checks ? { enableDnsRebindingProtection: true, allowedHosts: [`127.0.0.1:${port}`] } : {};
  const transport = new Transport1({ sessionIdGenerator: undefined, ...check });
  await new Server1({ name: 'sample', version: '1' }).connect(transport);
  await transport.handleRequest(request, answer);
};
const second = (checks) => async (request, answer) => {
  if (checks && !localhostHostValidation()(request, answer)) return;
  const transport = new Transport2({ sessionIdGenerator: undefined });
  await new Server2({ name: 'sample', version: '1' }).connect(transport);
  await transport.handleRequest(request, answer);
};
for (const [name, handler, message] of [['sdk 1.32.2', first, 'Invalid Host header: null'], ['server 2.4.0, node 2.1.2', second, 'Missing Host header']]) {
  const is = {
    'HTTP/1.1, host checked': await seen(http.createServer, over1, handler(true)),
    'HTTP/2, host checked': await seen(http2.createServer, over2, handler(true)),
    'HTTP/2, not checked': await seen(http2.createServer, over2, handler(false)),
  };
  console.log(name, is);
  assert.deepEqual(Object.values(is), [{ status: 200, message: '' }, { status: 403, message }, { status: 200, message: '' }]);
}
process.exit(0);
JS
node --no-warnings probe.mjs
echo "as described"
