#!/bin/sh
# Expected: in the PROXY protocol, LOCAL marks connections that a proxy opens for itself, such as health checks; a relayed client is PROXY.
# Happens: with send-proxy-v2, haproxy sends the same LOCAL header, without an address, for its health checks and for the calls of clients
# that came over a Unix socket. With send-proxy (version 1) it is the other way round: the calls are UNKNOWN, and the health checks carry
# addresses like a client's (TCP4).
# Touched: servers that answer, count or log LOCAL connections as health checks; logs that take the checks of version 1 for a client.
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
const opens = (where) => new Promise((resolve) => {
  const socket = connect(where, () => (socket.destroy(), resolve(true))).on('error', () => resolve(false));
});
const signature = '\r\n\r\n\0\r\nQUIT\n';
/** The header at the start of the bytes in words, and the HTTP request line behind it. */
function parts(bytes) {
  const text = bytes.toString('latin1');
  if (!text.startsWith(signature)) {
    const [header, line] = text.split('\r\n');
    return [header.split(' ').slice(0, 2).join(' '), line];
  }
  const length = bytes.readUInt16BE(14), command = ['LOCAL', 'PROXY'][bytes[12] & 15];
  const family = { 0x00: 'no address', 0x11: 'TCP4' }[bytes[13]];
  return [`${command}, ${family}, ${length} bytes`, text.slice(16 + length).split('\r\n')[0]];
}
const seen = {};
const server = createServer((socket) => {
  let all = Buffer.alloc(0);
  socket.on('error', () => {}).on('data', (bytes) => {
    all = Buffer.concat([all, bytes]);
    const end = all.indexOf(' HTTP/1.');
    if (end < 0 || all.indexOf('\r\n\r\n', end) < 0) return;
    const [header, line] = parts(all);
    seen[line.split(' ')[1]] = header;
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
  });
}).listen(0, '127.0.0.1');
await once(server, 'listening');

async function headers(option) {
  const front = await free(), dir = process.cwd();
  for (const name of Object.keys(seen)) delete seen[name];
  writeFileSync('haproxy.conf', `defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
frontend f
  bind 127.0.0.1:${front}
  bind unix@${dir}/${front}.socket
  default_backend b
backend b
  option httpchk GET /health-check
  server s 127.0.0.1:${server.address().port} ${option} check inter 300
`);
  const proxy = spawn('haproxy', ['-db', '-f', 'haproxy.conf'], { stdio: 'ignore' });
  const kill = () => proxy.kill();
  process.on('exit', kill);
  while (!(await opens(front)) || !seen['/health-check']) await pause(50);
  for (const where of [{ host: '127.0.0.1', port: front, path: '/call-over-tcp' }, { socketPath: `${dir}/${front}.socket`, path: '/call-over-unix-socket' }]) {
    const request = http.request({ ...where, method: 'POST', agent: false }).end('{}');
    const [answer] = await once(request, 'response');
    assert.equal(answer.statusCode, 200);
    await once(answer.resume(), 'end');
  }
  const gone = once(proxy, 'exit');
  proxy.kill();
  await gone;
  process.off('exit', kill);
  return { ...seen };
}
const first = await headers('send-proxy'), second = await headers('send-proxy-v2');
console.log({ 'send-proxy': first, 'send-proxy-v2': second });
assert.deepEqual(first, { '/health-check': 'PROXY TCP4', '/call-over-tcp': 'PROXY TCP4', '/call-over-unix-socket': 'PROXY UNKNOWN' });
assert.deepEqual(second, {
  '/health-check': 'LOCAL, no address, 0 bytes',
  '/call-over-tcp': 'PROXY, TCP4, 12 bytes',
  '/call-over-unix-socket': 'LOCAL, no address, 0 bytes',
});
server.close();
JS
echo "haproxy $version"
node probe.mjs
echo "as described"
