#!/bin/sh
# Expected: mcp-remote opens one session with the server for the one client that started it, with the client's own initialize.
# Happens: before the client's first message it sends a GET without a session, looks for OAuth, and initializes a session of its own as
# mcp-remote-fallback-test with a GET stream. The client's initialize opens a second one. Both streams stay until the end, and neither
# session gets a DELETE. The server needs no OAuth.
# Touched: servers that start a process or take a place for each session; logs that count clients; limits of streams.
# Seen with: mcp-remote 0.15.1.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error mcp-remote@0.15.1
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';

setTimeout(() => { console.error('not over after 150 s:', came, { sessions, streams }); process.exit(1); }, 150_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
function version(name, is) {
  const found = JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
  console.log(name, found);
  assert.equal(found, is);
}
import { spawn } from 'node:child_process';

version('mcp-remote', '0.15.1');

const came = [];
let sessions = 0, streams = 0;
const server = http.createServer(async (request, answer) => {
  let text = '';
  for await (const bytes of request) text += bytes;
  const { id, method, params } = text ? JSON.parse(text) : {};
  const session = request.headers['mcp-session-id'];
  if (request.url !== '/mcp') return answer.writeHead(404).end();
  came.push([method ?? request.method, session ?? 'no session', params?.clientInfo?.name].filter(Boolean).join(' '));
  if (request.method === 'GET' && session) {
    ++streams;
    answer.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n');
    return answer.on('close', () => --streams);
  }
  if (!method) return answer.writeHead(400).end();
  if (id === undefined) return answer.writeHead(202).end();
  const opened = method === 'initialize' && { 'mcp-session-id': `session-${++sessions}` };
  const result = opened ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'sample', version: '1' } } : { tools: [] };
  answer.writeHead(200, { 'content-type': 'application/json', ...opened }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const env = { ...process.env, HOME: process.cwd(), MCP_REMOTE_CONFIG_DIR: process.cwd() };
const remote = spawn(process.execPath, ['node_modules/mcp-remote/dist/proxy.js', `http://127.0.0.1:${server.address().port}/mcp`, '--allow-http'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
process.on('exit', () => remote.kill());
let said = '';
remote.stdout.on('data', (bytes) => (said += bytes));
const until = async (met) => { while (!met()) await pause(50); };
const say = (message) => remote.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
await until(() => streams === 1);
const before = came.splice(0);
say({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'the client', version: '1' } } });
await until(() => said.includes('"result"'));
say({ method: 'notifications/initialized' });
say({ id: 1, method: 'tools/list' });
await until(() => said.includes('"tools":[]') && streams === 2);
const after = came.splice(0);
const gone = once(remote, 'exit');
remote.stdin.end();
await gone;
await until(() => streams === 0);
console.log({ 'before the client': before, 'with the client': after, 'at the end': came });
assert.ok(before.includes('initialize no session mcp-remote-fallback-test'));
assert.ok(after.some((one) => /^initialize no session the client/.test(one)));
assert.deepEqual([sessions, came], [2, []]);
server.close();
JS
node probe.mjs
echo "as described"
