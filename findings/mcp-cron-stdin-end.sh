#!/bin/sh
# Expected: a stdio server exits when its client closes stdin, and at SIGTERM at the latest; MCP's stdio transport ends a server so.
# Happens: mcp-cron runs on, with its scheduler, after stdin was closed. SIGTERM then does not end it either (10 s), while it does with
# stdin open. A client that closes stdin and goes leaves a process that only SIGKILL ends.
# Touched: clients that end a server by closing stdin or by SIGTERM; proxies and supervisors without SIGKILL.
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
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
function version(name, is) {
  const found = JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
  console.log(name, found);
  assert.equal(found, is);
}

version('mcp-cron-linux-amd64', '0.9.1');
const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'sample', version: '1' } };
const hello = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });

/** Starts a server and initializes it. */
async function start(name) {
  const program = 'node_modules/mcp-cron-linux-amd64/bin/mcp-cron';
  const env = { ...process.env, HOME: process.cwd() };
  const server = spawn(program, ['-transport', 'stdio', '-db-path', `${name}.db`], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  process.on('exit', () => server.kill('SIGKILL'));
  server.ended = once(server, 'exit').then(([code, signal]) => signal ?? code);
  server.stdin.write(`${hello}\n`);
  const [line] = await once(createInterface({ input: server.stdout }), 'line');
  assert.equal(JSON.parse(line).result.serverInfo.version, '0.9.1');
  return server;
}

/** How it ended within that time, or that it runs. */
const within = (server, ms) => Promise.race([server.ended.then((how) => `ended (${how})`), pause(ms).then(() => 'runs')]);

const open = await start('open');
open.kill('SIGTERM');
const is = { 'SIGTERM with stdin open': await within(open, 10_000) };
const closed = await start('closed');
closed.stdin.end();
is['stdin closed'] = await within(closed, 5_000);
closed.kill('SIGTERM');
is['SIGTERM after that'] = await within(closed, 10_000);
closed.kill('SIGKILL');
is['SIGKILL'] = await within(closed, 10_000);
console.log(is);
assert.match(is['SIGTERM with stdin open'], /^ended/);
assert.deepEqual([is['stdin closed'], is['SIGTERM after that'], is.SIGKILL], ['runs', 'runs', 'ended (SIGKILL)']);
process.exit(0);
JS
node probe.mjs
echo "as described"
