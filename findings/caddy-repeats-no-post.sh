#!/bin/sh
# Expected: with lb_try_duration, Caddy tries a request again whose connection to the backend was refused, whatever its method:
# the backend has seen nothing of it.
# Happens: a GET, and a POST without a body, wait for the backend and get 200. A POST with a body gets 502 when the wait is over:
# the first try has closed the body ("invalid Read on closed Body"). With buffer_requests it
# was 200 in twelve runs and 502 in one; that is not asserted.
# Touched: every MCP server behind Caddy, since all messages are POSTs: its restarts are not bridged.
# Seen with: caddy 2.6.2-5 (Debian 12).
set -eu
version=$(dpkg-query -W -f='${Version}' caddy 2>/dev/null) || version=none
[ "$version" = 2.6.2-5 ] || { echo "needs Debian 12's caddy 2.6.2-5, found: $version" >&2; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { connect, createServer } from 'node:net';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function free() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
const opens = (port) => new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1', () => (socket.destroy(), resolve(true))).on('error', () => resolve(false));
});
const ask = (port, method, body) => new Promise((resolve, reject) => {
  http.request({ host: '127.0.0.1', port, method, agent: false, headers: { 'content-length': body.length } }, (answer) => {
    answer.resume().on('end', () => resolve(answer.statusCode));
  }).on('error', reject).end(body);
});

async function seen(line) {
  const front = await free(), back = await free();
  writeFileSync('Caddyfile', `{
    admin off
    auto_https off
  }
  http://:${front} {
    bind 127.0.0.1
    reverse_proxy 127.0.0.1:${back} {
      lb_try_duration 5s
      ${line}
    }
  }`);
  const env = { ...process.env, HOME: process.cwd(), XDG_DATA_HOME: process.cwd(), XDG_CONFIG_HOME: process.cwd() };
  const caddy = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', 'Caddyfile'], { stdio: 'ignore', env });
  const kill = () => caddy.kill();
  process.on('exit', kill);
  while (!(await opens(front))) await pause(50);
  const asked = Promise.all([ask(front, 'GET', ''), ask(front, 'POST', ''), ask(front, 'POST', '{}')]);
  await pause(800); // the backend is away for so long
  const server = http.createServer((_, answer) => answer.end()).listen(back, '127.0.0.1');
  const [get, empty, post] = await asked;
  caddy.kill();
  await once(caddy, 'exit');
  process.off('exit', kill);
  server.closeAllConnections();
  server.close();
  return { get, 'post without a body': empty, 'post with a body': post };
}
for (const line of ['', 'lb_try_interval 100ms']) {
  const is = await seen(line);
  console.log(line || 'lb_try_duration 5s', is);
  assert.deepEqual(is, { get: 200, 'post without a body': 200, 'post with a body': 502 });
}
JS
echo "caddy $version"
node probe.mjs
echo "as described"
