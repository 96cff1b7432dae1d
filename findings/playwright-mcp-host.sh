#!/bin/sh
# Expected: an MCP server that listens on loopback answers at http://127.0.0.1:PORT/mcp, as most do.
# Happens: @playwright/mcp with --port answers 403 there, to the Host header 127.0.0.1:PORT, and works at http://localhost:PORT/mcp
# alone; with --host 127.0.0.1 too. --allowed-hosts '*' accepts both.
# Touched: configurations that name 127.0.0.1; proxies that set Host to the backend's address.
# Seen with: @playwright/mcp 0.0.83.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error @playwright/mcp@0.0.83
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
function version(name, is) {
  const found = JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
  console.log(name, found);
  assert.equal(found, is);
}

version('@playwright/mcp', '0.0.83');
const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'sample', version: '1' } };
const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The status of an initialize with this Host, from whichever address of loopback the server listens at. */
function post(port, name, address) {
  const headers = { host: `${name}:${port}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return new Promise((resolve, reject) => {
    const request = http.request({ host: address, port, path: '/mcp', method: 'POST', headers }, async (answer) => {
      let text = '';
      for await (const bytes of answer) text += bytes;
      resolve({ status: answer.statusCode, text });
    });
    request.once('error', reject).end(body);
  });
}

async function statuses(...options) {
  const port = await freePort();
  const args = ['node_modules/@playwright/mcp/cli.js', '--headless', '--isolated', '--port', String(port), ...options];
  const server = spawn(process.execPath, args, { env: { ...process.env, HOME: process.cwd() }, stdio: 'ignore' });
  process.on('exit', () => server.kill('SIGKILL'));
  let address;
  while (!address) {
    for (const one of ['127.0.0.1', '::1']) await post(port, 'localhost', one).then(() => (address = one), () => {});
    await pause(100);
  }
  const answers = [await post(port, '127.0.0.1', address), await post(port, 'localhost', address)];
  const ended = once(server, 'exit');
  server.kill('SIGKILL');
  await ended;
  console.log(options.join(' ') || 'no option', { '127.0.0.1': answers[0].status, localhost: answers[1].status });
  console.log(`  ${answers.find(({ status }) => status === 403)?.text.slice(0, 200) ?? ''}`);
  return answers.map(({ status }) => status);
}

assert.deepEqual(await statuses(), [403, 200]);
assert.deepEqual(await statuses('--host', '127.0.0.1'), [403, 200]);
assert.deepEqual(await statuses('--allowed-hosts', '*'), [200, 200]);
process.exit(0);
JS
node probe.mjs
echo "as described"
