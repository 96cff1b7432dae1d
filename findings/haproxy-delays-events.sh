#!/bin/sh
# Expected: haproxy passes each piece of a streamed answer on at once, as it arrives.
# Happens: each event of an event stream that is sent in chunks is passed on some 200 ms late: haproxy waits for more data. With
# `option http-no-delay` it is not late.
# Touched: progress, questions and answers of MCP servers over Streamable HTTP behind haproxy: every answer costs 0.2 s.
# Seen with: haproxy 2.6.12-1+deb12u4 (Debian 12).
set -eu
version=$(dpkg-query -W -f='${Version}' haproxy 2>/dev/null) || version=none
[ "$version" = 2.6.12-1+deb12u4 ] || { echo "needs Debian 12's haproxy 2.6.12-1+deb12u4, found: $version" >&2; exit 1; }
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
const server = http.createServer((request, answer) => {
  request.resume();
  answer.writeHead(200, { 'content-type': 'text/event-stream' });
  let left = 8;
  const timer = setInterval(() => {
    if (left-- > 0) return answer.write(`data: ${Date.now()}\n\n`);
    clearInterval(timer);
    answer.end();
  }, 500);
}).listen(0, '127.0.0.1');
await once(server, 'listening');

async function lateness(option) {
  const front = await free();
  writeFileSync('haproxy.cfg', `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  ${option}
frontend f
  bind 127.0.0.1:${front}
  default_backend b
backend b
  server s 127.0.0.1:${server.address().port}
`);
  const proxy = spawn('haproxy', ['-db', '-f', 'haproxy.cfg'], { stdio: 'ignore' });
  const kill = () => proxy.kill();
  process.on('exit', kill);
  while (!(await opens(front))) await pause(50);
  const late = [];
  await new Promise((resolve, reject) => {
    http.request({ host: '127.0.0.1', port: front, method: 'POST', agent: false }, (answer) => {
      answer.on('data', (bytes) => {
        for (const [, at] of String(bytes).matchAll(/data: (\d+)/g)) late.push(Date.now() - Number(at));
      }).on('end', resolve);
    }).on('error', reject).end('{}');
  });
  const gone = once(proxy, 'exit');
  proxy.kill();
  await gone;
  process.off('exit', kill);
  return late.sort((a, b) => a - b);
}
const plain = await lateness(''), mended = await lateness('option http-no-delay');
console.log('milliseconds that eight events are late:', { 'by default': plain, 'http-no-delay': mended });
assert.ok(plain.length === 8 && plain[4] >= 150 && plain[4] < 500, 'late by default');
assert.ok(mended.length === 8 && mended[4] < 100, 'not late with http-no-delay');
server.closeAllConnections();
server.close();
JS
echo "haproxy $version"
node probe.mjs
echo "as described"
