#!/bin/sh
# Expected: a bridge from stdio to HTTP whose server process has ended starts it again, ends itself, or at least reports that it is not well.
# Happens: mcp-proxy does none of these. Its process goes on, /ping answers 200, new clients can initialize and ping with the name and
# capabilities of the dead server, and each call and list of every client fails with -32603 "Not connected" (watched for 15 s).
# Touched: servers behind mcp-proxy in containers: one crash of the server outlives health checks and supervisors.
# Seen with: mcp-proxy 6.7.19 and @modelcontextprotocol/sdk 1.32.2 as its client.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error mcp-proxy@6.7.19 @modelcontextprotocol/sdk@1.32.2 zod@4.6.7
cat >server.mjs <<'JS'
import { createInterface } from 'node:readline';
import { appendFileSync } from 'node:fs';
appendFileSync('starts', '.');
const tell = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
const tools = ['greet', 'crash'].map((name) => ({ name, inputSchema: { type: 'object' } }));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize') return tell(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'sample', version: '1' } });
  if (method === 'tools/list') return tell(id, { tools });
  if (params?.name === 'crash') process.exit(1);
  tell(id, { content: [] });
}).on('close', () => process.exit(0));
JS
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
for (const [name, is] of [['mcp-proxy', '6.7.19'], ['@modelcontextprotocol/sdk', '1.32.2']]) {
  const found = JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
  console.log(name, found);
  assert.equal(found, is);
}
const hold = createServer().listen(0, '127.0.0.1');
await once(hold, 'listening');
const { port } = hold.address();
await new Promise((resolve) => hold.close(resolve));
const opens = () => new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1', () => (socket.destroy(), resolve(true))).on('error', () => resolve(false));
});
const args = ['node_modules/.bin/mcp-proxy', '--port', `${port}`, '--host', '127.0.0.1', '--', process.execPath, 'server.mjs'];
const bridge = spawn(process.execPath, args, { stdio: 'ignore' });
process.on('exit', () => bridge.kill());
while (!(await opens())) await pause(50);

async function connected() {
  const client = new Client({ name: 'sample', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)));
  return client;
}
const outcome = (promise) => promise.then(() => 'answered', ({ message }) => message.replace(/^MCP error /, ''));
const call = (client, name) => outcome(client.callTool({ name, arguments: {} }, undefined, { timeout: 5_000 }));
const first = await connected(), other = await connected();
assert.equal(await call(other, 'greet'), 'answered');
const crash = await call(first, 'crash');
await pause(15_000);
const late = await connected();
const is = {
  'the call that ends the server': crash,
  '15 s later: the bridge': bridge.exitCode === null ? 'runs' : 'has ended',
  '/ping': (await fetch(`http://127.0.0.1:${port}/ping`)).status,
  'starts of the server': readFileSync('starts', 'utf8').length,
  "a new client's initialize names": late.getServerVersion().name,
  'its ping': await outcome(late.ping()),
  'its list of tools': await outcome(late.listTools()),
  'its call': await call(late, 'greet'),
  "an older client's call": await call(other, 'greet'),
};
console.log(is);
const dead = '-32603: Not connected';
assert.deepEqual(Object.values(is).slice(1), ['runs', 200, 1, 'sample', 'answered', ...Array(3).fill(is['its call'])]);
assert.ok(is['its call'].endsWith(dead));
const gone = once(bridge, 'exit');
bridge.kill();
await gone;
process.exit(0);
JS
node probe.mjs
echo "as described"
