#!/bin/sh
# Expected: Apache serves as many streams of one HTTP/2 connection at once as it announces: 100 (H2MaxSessionStreams).
# Happens: on a new connection it serves six. The seventh request waits, without a head and without reaching the backend, until one of the
# six ends; H2MaxSessionStreams, H2MinWorkers and H2MaxWorkers change nothing. Short requests that end raise the number. Each stream
# that the client cancels lowers it: after one cancel four streams are served at once, after two cancels two.
# Touched: MCP clients and gateways that hold several event streams on one HTTP/2 connection, or cancel calls: later calls wait for ever.
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
import http2 from 'node:http2';
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

/** An event stream with an event each 100 ms, or, at /short, an answer that is over at once. */
let open = 0;
const server = http.createServer((request, answer) => {
  request.resume();
  answer.writeHead(200, { 'content-type': 'text/event-stream' });
  if (request.url === '/short') return answer.end();
  ++open;
  const timer = setInterval(() => answer.write(': beat\n\n'), 100);
  answer.on('close', () => (--open, clearInterval(timer)));
}).listen(0, '127.0.0.1');
await once(server, 'listening');

async function started(front, more) {
  const dir = process.cwd();
  writeFileSync('apache.conf', ['mpm_event', 'proxy', 'proxy_http', 'http2', 'authz_core']
    .map((one) => `LoadModule ${one}_module /usr/lib/apache2/modules/mod_${one}.so\n`).join('') + `ServerName localhost
User www-data
Group www-data
PidFile ${dir}/pid
ErrorLog ${dir}/log
Listen 127.0.0.1:${front}
Protocols h2c http/1.1
${more}
ProxyPass / http://127.0.0.1:${server.address().port}/ retry=0 flushpackets=on
`);
  const apache = spawn('/usr/sbin/apache2', ['-DFOREGROUND', '-d', dir, '-f', `${dir}/apache.conf`], { stdio: 'ignore' });
  const kill = () => apache.kill();
  process.on('exit', kill);
  while (!(await opens(front))) await pause(100);
  return async () => {
    const gone = once(apache, 'exit');
    apache.kill();
    await gone;
    process.off('exit', kill);
  };
}
function ask(session, path) {
  const stream = session.request({ ':method': 'POST', ':path': path });
  stream.resume().on('error', () => {}).end('{}');
  return stream;
}
/** How many of 40 event streams on one new connection are served after 2 s, after so many short requests and cancelled streams. */
async function served(front, { short = 0, cancelled = 0 }) {
  const session = http2.connect(`http://127.0.0.1:${front}`);
  await once(session, 'remoteSettings');
  const announced = session.remoteSettings.maxConcurrentStreams;
  for (let i = 0; i < short; ++i) await once(ask(session, '/short'), 'close');
  for (let i = 0; i < cancelled; ++i) {
    const stream = ask(session, '/stream');
    await once(stream, 'response');
    await pause(300);
    stream.close(http2.constants.NGHTTP2_CANCEL);
    while (open > 0) await pause(50);
    await pause(300);
  }
  let heads = 0;
  for (let i = 0; i < 40; ++i) ask(session, '/stream').on('response', () => ++heads);
  await pause(2_000);
  assert.equal(heads, open);
  session.destroy();
  while (open > 0) await pause(50);
  return { announced, served: heads };
}
const front = await free();
let end = await started(front, '');
const is = {
  'new connection': await served(front, {}),
  'after one cancel': await served(front, { cancelled: 1 }),
  'after two cancels': await served(front, { cancelled: 2 }),
  'after 200 short requests': await served(front, { short: 200 }),
};
await end();
const second = await free();
end = await started(second, 'H2MaxSessionStreams 200\nH2MinWorkers 64\nH2MaxWorkers 256');
is['new connection, with 200 streams and 64 to 256 workers'] = await served(second, {});
await end();
console.log(is);
const [fresh, one, two, warm, set] = Object.values(is);
assert.deepEqual([fresh.served, one.served, two.served, set.served], [6, 4, 2, 6]);
assert.deepEqual([fresh.announced, set.announced], [100, 200]);
assert.ok(warm.served > 6, 'more after short requests');
server.closeAllConnections();
server.close();
JS
echo "apache2-bin $version"
node probe.mjs
echo "as described"
