#!/bin/sh
# Expected: the abortSignal of a tool's execute() makes the client send notifications/cancelled on stdio, and over HTTP with 2025-11-25.
# Happens: execute() fails at once. On stdio the client sends nothing. Over HTTP it only closes the POST, which does not cancel a call by
# 2025-11-25: a server of the official SDK runs the tool on with its signal not aborted.
# Touched: long or costly tools behind applications of the AI SDK whose users press stop.
# Seen with: @ai-sdk/mcp 2.0.99, and @modelcontextprotocol/sdk 1.32.2 as the HTTP server.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error @ai-sdk/mcp@2.0.99 @modelcontextprotocol/sdk@1.32.2 zod@4.6.7
cat >server.mjs <<'JS'
import { createInterface } from 'node:readline';
import { appendFileSync } from 'node:fs';
const [, , log, era] = process.argv;
const note = (what) => appendFileSync(log, `${process.pid} ${what}\n`);
const tell = (id, rest) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...rest })}\n`);
const serverInfo = { name: 'sample', version: '1' }, capabilities = { tools: {} };
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  note(method);
  if (id === undefined || method === 'tools/call') return;
  if (method === 'initialize') return tell(id, { result: { protocolVersion: params.protocolVersion, capabilities, serverInfo } });
  if (method === 'tools/list') return tell(id, { result: { resultType: 'complete', tools: [{ name: 'silent', inputSchema: { type: 'object' } }], ttlMs: 0, cacheScope: 'public' } });
  if (method === 'server/discover' && era === 'modern') {
    return tell(id, { result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities, serverInfo, ttlMs: 0, cacheScope: 'public' } });
  }
  tell(id, { error: { code: -32601, message: 'Method not found' } });
}).on('close', () => process.exit(0));
JS
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
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

version('@ai-sdk/mcp', '2.0.99');
version('@modelcontextprotocol/sdk', '1.32.2');

async function aborted(transport) {
  const client = await createMCPClient({ transport });
  const { silent } = await client.tools();
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 500);
  const error = await silent.execute({}, { toolCallId: 'one', messages: [], abortSignal: abort.signal }).then(() => 'no error', ({ message }) => message);
  await pause(1_500);
  return { client, error };
}

for (const era of ['legacy', 'modern']) {
  const { client, error } = await aborted(new StdioTransport({ command: process.execPath, args: ['server.mjs', `${era}.log`, era] }));
  const got = readFileSync(`${era}.log`, 'utf8').trim().split('\n').map((line) => line.split(' ')[1]);
  console.log(`stdio, ${era} server:`, { error, got });
  assert.match(error, /aborted/);
  assert.equal(got.at(-1), 'tools/call');
  await client.close();
}

let signal;
const came = [];
const sessions = new Map();
const server = http.createServer(async (request, answer) => {
  let text = '';
  for await (const bytes of request) text += bytes;
  const message = text ? JSON.parse(text) : undefined;
  came.push(message?.method ?? request.method);
  if (message?.method === 'tools/call') answer.on('close', () => came.push(answer.writableFinished ? 'answered' : 'POST closed'));
  let transport = sessions.get(request.headers['mcp-session-id']);
  if (!transport) {
    transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: (id) => sessions.set(id, transport) });
    const one = new McpServer({ name: 'sample', version: '1' });
    one.registerTool('silent', {}, (extra) => {
      signal = extra.signal;
      return new Promise(() => {});
    });
    await one.connect(transport);
  }
  await transport.handleRequest(request, answer, message);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const { error } = await aborted({ type: 'http', url: `http://127.0.0.1:${server.address().port}/mcp` });
console.log('HTTP, 2025-11-25:', { error, came, "the tool's signal": signal.aborted });
assert.match(error, /aborted/);
assert.ok(came.includes('initialize') && came.at(-1) === 'POST closed' && !came.includes('notifications/cancelled'));
assert.equal(signal.aborted, false);
process.exit(0);
JS
node probe.mjs
echo "as described"
