#!/bin/sh
# Expected: a cancel that reaches a bridge from HTTP to stdio reaches the server process that runs the call, or is dropped.
# Happens: supergateway without --stateful starts a new process for each message, the notification of a cancel included, initializes that
# process by itself, writes the cancel to it, and ends it. The process of the call runs on without the cancel.
# Touched: long calls behind supergateway in its default: notifications/cancelled stops none of them, and each one costs a start of the server.
# Seen with: supergateway 4.0.0 (--outputTransport streamableHttp) and @modelcontextprotocol/sdk 1.32.2 as its client.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error supergateway@4.0.0 @modelcontextprotocol/sdk@1.32.2 zod@4.6.7
cat >server.mjs <<'JS'
import { createInterface } from 'node:readline';
import { appendFileSync } from 'node:fs';
const note = (what) => appendFileSync('log', `${process.pid} ${what}\n`);
const tell = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  note(method);
  if (method === 'initialize') tell(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'sample', version: '1' } });
  if (params?.name === 'long') setTimeout(() => (note('done'), tell(id, { content: [] })), 8_000);
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
for (const [name, is] of [['supergateway', '4.0.0'], ['@modelcontextprotocol/sdk', '1.32.2']]) {
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
const args = ['node_modules/.bin/supergateway', '--stdio', `${process.execPath} server.mjs`, '--outputTransport', 'streamableHttp', '--port', `${port}`];
const bridge = spawn(process.execPath, args, { stdio: 'ignore' });
process.on('exit', () => bridge.kill());
while (!(await opens())) await pause(50);

const client = new Client({ name: 'sample', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)));
const abort = new AbortController();
setTimeout(() => abort.abort(), 3_000);
const call = await client.callTool({ name: 'long', arguments: {} }, undefined, { signal: abort.signal }).then(() => 'answered', () => 'aborted');
await pause(12_000);
const processes = new Map();
for (const line of readFileSync('log', 'utf8').trim().split('\n')) {
  const [pid, what] = line.split(' ');
  processes.set(pid, [...(processes.get(pid) ?? []), what]);
}
const all = [...processes.values()];
console.log(`the call: ${call}. What each process of the server got:`, all);
assert.equal(call, 'aborted');
const initialized = ['initialize', 'notifications/initialized'];
assert.deepEqual(all.find((got) => got.includes('tools/call')), [...initialized, 'tools/call', 'done']);
assert.deepEqual(all.find((got) => got.includes('notifications/cancelled')), [...initialized, 'notifications/cancelled']);
await client.close();
const gone = once(bridge, 'exit');
bridge.kill();
await gone;
process.exit(0);
JS
node probe.mjs
echo "as described"
