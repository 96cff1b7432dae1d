#!/bin/sh
# Expected: a tool that fails returns a result with isError, which the model reads; an error has a code of JSON-RPC.
# Happens: mcp-cron answers each failure of a tool with an error of code 0 and no result: an unknown task, a missing argument.
# Touched: clients that give a model only results; retries, metrics and proxies that tell errors apart by their codes.
# Seen with: mcp-cron 0.9.1 (npm's mcp-cron-linux-amd64).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error mcp-cron-linux-amd64@0.9.1
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
function version(name, is) {
  const found = JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
  console.log(name, found);
  assert.equal(found, is);
}

version('mcp-cron-linux-amd64', '0.9.1');
const program = 'node_modules/mcp-cron-linux-amd64/bin/mcp-cron';
const env = { ...process.env, HOME: process.cwd() };
const server = spawn(program, ['-transport', 'stdio', '-db-path', 'sample.db'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
process.on('exit', () => server.kill('SIGKILL'));
const waiting = new Map();
createInterface({ input: server.stdout }).on('line', (line) => {
  const message = JSON.parse(line);
  waiting.get(message.id)?.(message);
});
let ids = 0;
const say = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
function ask(method, params) {
  const id = ++ids;
  say({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}
await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'sample', version: '1' } });
say({ method: 'notifications/initialized' });
const call = async (name, args) => {
  const { result, error } = await ask('tools/call', { name, arguments: args });
  console.log(name, JSON.stringify(args), JSON.stringify(error ?? result));
  return { isResult: Boolean(result), code: error?.code };
};
assert.deepEqual(await call('list_tasks', {}), { isResult: true, code: undefined });
assert.deepEqual(await call('get_task', { id: 'none' }), { isResult: false, code: 0 });
assert.deepEqual(await call('add_task', { name: 'sample' }), { isResult: false, code: 0 });
assert.deepEqual(await call('no-such-tool', {}), { isResult: false, code: -32602 });
process.exit(0);
JS
node probe.mjs
echo "as described"
