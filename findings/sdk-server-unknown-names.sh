#!/bin/sh
# Expected: a call of a tool that a server does not have is a JSON-RPC error, -32602, as the specification says, whichever SDK the
# server uses; a resource that it does not have is -32002, as 2025-11-25 says.
# Happens: McpServer of sdk 1.32.2 answers the unknown tool with a result that has isError and the text of an error; 2.4.0 with the error.
# An unknown prompt is an error in both. An unknown resource is -32602 in both, for a client of 2025-11-25 too.
# Touched: clients and gateways that count errors or refresh their list of tools on -32602; models get the text as a tool's own words.
# Seen with: @modelcontextprotocol/sdk 1.32.2 and @modelcontextprotocol/server 2.4.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/server@2.4.0 zod@4.6.7
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
import { InMemoryTransport as Pair1 } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer as Server1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { InMemoryTransport as Pair2, McpServer as Server2 } from '@modelcontextprotocol/server';

version('@modelcontextprotocol/sdk', '1.32.2');
version('@modelcontextprotocol/server', '2.4.0');

async function seen(Server, Pair) {
  const server = new Server({ name: 'sample', version: '1' });
  server.registerTool('known', {}, async () => ({ content: [] }));
  server.registerPrompt('known', {}, async () => ({ messages: [] }));
  server.registerResource('known', 'sample://known', {}, async () => ({ contents: [] }));
  const [near, far] = Pair.createLinkedPair();
  await server.connect(far);
  const waiting = new Map();
  near.onmessage = (message) => waiting.get(message.id)?.(message);
  await near.start();
  const ask = (id, method, params) => new Promise((resolve) => {
    waiting.set(id, resolve);
    near.send({ jsonrpc: '2.0', id, method, params });
  });
  const agreed = await ask(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'sample', version: '1' } });
  assert.equal(agreed.result.protocolVersion, '2025-11-25');
  await near.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const short = ({ result, error }) => error?.code ?? { isError: result.isError, text: result.content[0].text };
  return {
    tool: short(await ask(1, 'tools/call', { name: 'unknown', arguments: {} })),
    prompt: short(await ask(2, 'prompts/get', { name: 'unknown' })),
    resource: short(await ask(3, 'resources/read', { uri: 'sample://unknown' })),
  };
}
const first = await seen(Server1, Pair1), second = await seen(Server2, Pair2);
console.log({ 'sdk 1.32.2': first, 'server 2.4.0': second });
assert.equal(first.tool.isError, true);
assert.match(first.tool.text, /-32602.*not found/);
assert.deepEqual([first.prompt, first.resource], [-32602, -32602]);
assert.deepEqual(second, { tool: -32602, prompt: -32602, resource: -32602 });
JS
node probe.mjs
echo "as described"
