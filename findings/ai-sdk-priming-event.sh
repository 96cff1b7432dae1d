#!/bin/sh
# Expected: the event that opens a stream by 2025-11-25, an id and an empty `data:` so that the client can resume, passes unnoticed.
# Happens: the AI SDK's client takes the empty data for a message and reports "Failed to parse message" to onUncaughtError for each such stream.
# The call itself is answered.
# Touched: logs and alerts of applications of the AI SDK, with every server that can resume streams (an official server with an event store).
# Seen with: @ai-sdk/mcp 2.0.99.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error @ai-sdk/mcp@2.0.99
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
import { createMCPClient } from '@ai-sdk/mcp';

version('@ai-sdk/mcp', '2.0.99');

/** A server of 2025-11-25: `answers` has what becomes of each tool's call; `log` what came. */
const log = [];
const answers = {
  primed: ({ answer, id }) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.write('id: 1\ndata: \n\n');
    answer.end(`id: 2\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`);
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
  if (method === 'server/discover') return answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }));
  if (method === 'initialize') {
    return json({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'sample', version: '1' } }, { 'mcp-session-id': `session-${++sessions}` });
  }
  if (method === 'tools/list') return json({ tools: [{ name: 'primed', inputSchema: { type: 'object' } }] });
  answers[params.name]({ answer, json, id });
}).listen(0, '127.0.0.1');
let sessions = 0;
await once(server, 'listening');
const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);

const errors = [];
const client = await createMCPClient({ transport: { type: 'http', url: url.href }, onUncaughtError: (error) => errors.push(error.message) });
const { primed } = await client.tools();
const result = await primed.execute({}, { toolCallId: 'one', messages: [] });
await pause(300);
console.log({ result, errors });
assert.deepEqual(result.content, []);
assert.equal(errors.length, 1);
assert.match(errors[0], /Failed to parse message/);
process.exit(0);
JS
node probe.mjs
echo "as described"
