#!/bin/sh
# Expected: Apache closes its request to a backend when the client closes its connection, as nginx, Caddy and Squid do.
# Happens: mod_proxy does not look at the client. The backend's connection ends at the backend's second write after the client has left;
# while the backend is silent it stays open. A client that ends only its own direction (half-close) is never noticed.
# Touched: MCP servers of 2026-07-28, where the end of a request is its cancel: behind Apache a call runs on until the server has written twice.
# Seen with: apache2-bin 2.4.71-1~deb12u1 (Debian 12).
set -eu
version=$(dpkg-query -W -f='${Version}' apache2-bin 2>/dev/null) || version=none
[ "$version" = 2.4.71-1~deb12u1 ] || { echo "needs Debian 12's apache2-bin 2.4.71-1~deb12u1, found: $version" >&2; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$dir"
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
const front = await free();
let write, closedAt;
const server = http.createServer((request, answer) => {
  request.resume();
  closedAt = undefined;
  answer.writeHead(200, { 'content-type': 'text/event-stream' });
  answer.write(': begun\n\n');
  answer.on('close', () => (closedAt = Date.now()));
  write = () => answer.write(': more\n\n');
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const dir = process.cwd();
writeFileSync('apache.conf', ['mpm_event', 'proxy', 'proxy_http', 'authz_core']
  .map((one) => `LoadModule ${one}_module /usr/lib/apache2/modules/mod_${one}.so\n`).join('') + `ServerName localhost
User www-data
Group www-data
PidFile ${dir}/pid
ErrorLog ${dir}/log
Listen 127.0.0.1:${front}
ProxyPass / http://127.0.0.1:${server.address().port}/ retry=0 flushpackets=on
`);
const apache = spawn('/usr/sbin/apache2', ['-X', '-d', dir, '-f', `${dir}/apache.conf`], { stdio: 'ignore' });
process.on('exit', () => apache.kill());
while (!(await opens(front))) await pause(100);

/** A client that is in its stream when it ends; how many writes of the backend it took until Apache closed (at most 4). */
async function writes(end, silentMs) {
  const client = connect(front, '127.0.0.1');
  client.on('error', () => {});
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}');
  for (let text = ''; !text.includes('begun'); ) text += (await once(client, 'data'))[0];
  client[end]();
  await pause(silentMs);
  if (closedAt) return 0;
  for (let many = 1; many <= 4; ++many) {
    write();
    await pause(500);
    if (closedAt) return many;
  }
  client.destroy();
  return 'never';
}
const is = { 'writes until a closed connection is noticed, after 5 s of silence': await writes('destroy', 5_000), 'a half-close': await writes('end', 500) };
console.log(is);
assert.deepEqual(Object.values(is), [2, 'never']);
const gone = once(apache, 'exit');
apache.kill();
server.closeAllConnections();
server.close();
await gone;
JS
echo "apache2-bin $version"
node probe.mjs
echo "as described"
