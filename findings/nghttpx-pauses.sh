#!/bin/sh
# Expected: a reverse proxy serves again as soon as its backend listens again.
# Happens: after each refused connection nghttpx tries its backend only after a random pause, whose bound doubles up to 120 s, and
# answers 502 meanwhile. A backend that was away for 6 s stays unreachable for one to several seconds more. With
# backend-max-backoff=1s it is about one second at most.
# Touched: every server behind nghttpx that restarts; the longer it was away, the longer the pause can be.
# Seen with: nghttp2-proxy 1.52.0-1+deb12u3 (Debian 12).
set -eu
version=$(dpkg-query -W -f='${Version}' nghttp2-proxy 2>/dev/null) || version=none
[ "$version" = 1.52.0-1+deb12u3 ] || { echo "needs Debian 12's nghttp2-proxy 1.52.0-1+deb12u3, found: $version" >&2; exit 1; }
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
const ask = (port) => new Promise((resolve, reject) => {
  http.get({ host: '127.0.0.1', port, agent: false }, (answer) => answer.resume().on('end', () => resolve(answer.statusCode))).on('error', reject);
});

/** Requests with 502 while the backend is away for 6 s, and milliseconds until 200 after it is back. */
async function seen(line) {
  const front = await free(), back = await free();
  const file = `${front}.conf`;
  writeFileSync(file, `frontend=127.0.0.1,${front};no-tls\nbackend=127.0.0.1,${back}\nworkers=1\n${line}\n`);
  const proxy = spawn('nghttpx', [`--conf=${file}`, '--accesslog-file=/dev/null', '--errorlog-file=/dev/null'], { stdio: 'ignore' });
  const kill = () => proxy.kill();
  process.on('exit', kill);
  while (!(await opens(front))) await pause(50);
  for (const end = Date.now() + 6_000; Date.now() < end; await pause(50)) assert.equal(await ask(front), 502);
  const server = http.createServer((_, answer) => answer.end()).listen(back, '127.0.0.1');
  await once(server, 'listening');
  const since = Date.now();
  while ((await ask(front)) === 502) await pause(20);
  const ms = Date.now() - since;
  const gone = once(proxy, 'exit');
  proxy.kill();
  await gone;
  process.off('exit', kill);
  server.closeAllConnections();
  server.close();
  return ms;
}
const often = (line) => Promise.all([1, 2, 3, 4, 5].map(() => seen(line)));
const plain = await often(''), bounded = await often('backend-max-backoff=1s');
console.log('milliseconds of 502 after the backend is back:', { 'by default': plain, 'backend-max-backoff=1s': bounded });
assert.ok(Math.max(...plain) > 700, 'a pause by default');
assert.ok(Math.max(...bounded) < 1_500, 'a bounded pause');
JS
echo "nghttp2-proxy $version"
node probe.mjs
echo "as described"
