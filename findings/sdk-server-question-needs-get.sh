#!/bin/sh
# Expected: a sampling request that a tool sends within a call goes out on that call's open stream; a log message too.
# Happens: server.createMessage() and sendLoggingMessage() of the official SDK go to the session's GET stream. Where the client holds
# none (it need not, by the specification), the request is dropped and fails at its timeout; the log message is dropped without an error.
# extra.sendRequest() and extra.sendNotification() use the call's stream.
# Touched: tools that sample or log, with clients that open no GET stream or open it a moment after the call.
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
import { CreateMessageResultSchema } from '@modelcontextprotocol/sdk/types.js';
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
    const params = { messages: [{ role: 'user', content: { type: 'text', text: 'a question' } }], maxTokens: 5 };
    const level = 'warning';
    const asked = (question) => question.then(() => 'answered', (error) => error.message).then((text) => ({ content: [{ type: 'text', text }] }));
    one.registerTool('by-server', {}, async (extra) => {
      await one.sendLoggingMessage({ level, data: 'a log line' }, extra.sessionId);
      return asked(one.server.createMessage(params, { timeout: 2_000 }));
    });
    one.registerTool('by-extra', {}, async (extra) => {
      await extra.sendNotification({ method: 'notifications/message', params: { level, data: 'a log line' } });
      return asked(extra.sendRequest({ method: 'sampling/createMessage', params }, CreateMessageResultSchema, { timeout: 2_000 }));
    });
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
const is = {};
for (const name of ['by-server', 'by-extra']) {
  const stream = await (await post(headers, { id: 1, method: 'tools/call', params: { name, arguments: {} } })).text();
  is[name] = { question: stream.includes('"sampling/createMessage"'), log: stream.includes('a log line'), result: /"text":"([^"]*)"/.exec(stream.slice(stream.indexOf('"result"')))?.[1] };
}
console.log("on the call's stream, no GET stream there, the client not answering:", is);
assert.deepEqual([is['by-server'].question, is['by-server'].log], [false, false]);
assert.deepEqual([is['by-extra'].question, is['by-extra'].log], [true, true]);
assert.match(is['by-server'].result, /Request timed out/);
process.exit(0);
JS
node probe.mjs
echo "as described"
