#!/bin/sh
# Expected: an answer with the chunked coding that breaks off, since the backend died, breaks off at the client too: the last chunk is missing,
# or over HTTP/2 the stream is reset.
# Happens: haproxy and Varnish end it in order over HTTP/2, with END_STREAM, and break it off over HTTP/1.1. Caddy ends it in order over
# both. nginx, Apache and nghttpx break it off over both. It is the same for JSON and for event streams.
# Touched: clients and gateways that take an end in order for a whole answer: half of a JSON answer arrives as a success, and a server
# that crashed within a call looks like one that ended its stream.
# Seen with: haproxy 2.6.12-1+deb12u4, varnish 7.1.1-2+deb12u1, caddy 2.6.2-5, nginx 1.22.1-9+deb12u11, apache2-bin 2.4.71-1~deb12u1 and
# nghttp2-proxy 1.52.0-1+deb12u3 (Debian 12).
set -eu
for one in haproxy=2.6.12-1+deb12u4 varnish=7.1.1-2+deb12u1 caddy=2.6.2-5 nginx=1.22.1-9+deb12u11 apache2-bin=2.4.71-1~deb12u1 \
  nghttp2-proxy=1.52.0-1+deb12u3; do
  version=$(dpkg-query -W -f='${Version}' "${one%%=*}" 2>/dev/null) || version=none
  [ "$version" = "${one#*=}" ] || { echo "needs Debian 12's ${one%%=*} ${one#*=}, found: $version" >&2; exit 1; }
  echo "${one%%=*} $version"
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
chmod 777 "$dir"
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
/** A server whose connection ends within each answer: half a JSON object, or an event stream without its last chunk. */
const bodies = { '/json': ['application/json', '{"half":'], '/events': ['text/event-stream', 'data: {}\n\n'] };
const server = http.createServer((request, answer) => {
  request.resume();
  const [type, text] = bodies[request.url];
  answer.writeHead(200, { 'content-type': type });
  answer.write(text);
  setTimeout(() => answer.destroy(), 500);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const back = server.address().port, dir = process.cwd();
const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `${one}_temp_path ${dir}/${one};`).join(' ');
const proxies = {
  haproxy: (front, h2) => [`defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
frontend f
  bind 127.0.0.1:${front} ${h2 ? 'proto h2' : ''}
  default_backend b
backend b
  server s 127.0.0.1:${back}
`, 'haproxy', ['-db', '-f', 'conf']],
  varnish: (front) => [`vcl 4.1;
backend default { .host = "127.0.0.1"; .port = "${back}"; }
sub vcl_recv { return (pass); }
`, '/usr/sbin/varnishd', ['-F', '-n', `${dir}/varnish`, '-f', `${dir}/conf`, '-a', `127.0.0.1:${front}`, '-s', 'malloc,20m', '-p', 'feature=+http2']],
  caddy: (front) => [`{
  admin off
  auto_https off
  servers {
    protocols h1 h2 h2c
  }
}
http://:${front} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${back}
}
`, 'caddy', ['run', '--adapter', 'caddyfile', '--config', 'conf']],
  nginx: (front, h2) => [`daemon off;
pid ${dir}/nginx.pid;
events { }
http {
  access_log off;
  ${temporary}
  server {
    listen 127.0.0.1:${front} ${h2 ? 'http2' : ''};
    location / {
      proxy_pass http://127.0.0.1:${back};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
`, '/usr/sbin/nginx', ['-c', `${dir}/conf`, '-e', `${dir}/log`]],
  apache: (front) => [`${['mpm_event', 'proxy', 'proxy_http', 'http2', 'authz_core']
    .map((one) => `LoadModule ${one}_module /usr/lib/apache2/modules/mod_${one}.so\n`).join('')}ServerName localhost
User www-data
Group www-data
PidFile ${dir}/pid
ErrorLog ${dir}/log
Protocols h2c http/1.1
Listen 127.0.0.1:${front}
ProxyPass / http://127.0.0.1:${back}/ retry=0
`, '/usr/sbin/apache2', ['-X', '-d', dir, '-f', `${dir}/conf`]],
  nghttpx: (front) => [`frontend=127.0.0.1,${front};no-tls
backend=127.0.0.1,${back}
workers=1
`, 'nghttpx', ['--conf=conf', '--accesslog-file=/dev/null', '--errorlog-file=/dev/null']],
};
const over1 = (port, path) => new Promise((resolve) => {
  const request = http.request({ host: '127.0.0.1', port, path, method: 'POST', agent: false }, (answer) => {
    assert.equal(answer.statusCode, 200);
    answer.resume().on('end', () => resolve('whole')).on('error', () => resolve('broken off'));
  });
  request.on('error', () => resolve('no answer')).end('{}');
});
const over2 = (port, path) => new Promise((resolve) => {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  const stream = session.request({ ':method': 'POST', ':path': path });
  let end = 'no answer';
  stream.on('response', (head) => {
    assert.equal(head[':status'], 200);
    end = 'broken off';
  });
  stream.resume().on('end', () => (end = stream.rstCode === 0 ? 'whole' : end)).on('error', () => {});
  stream.on('close', () => (session.destroy(), resolve(end))).end('{}');
});
const all = {};
for (const [name, config] of Object.entries(proxies)) {
  const is = (all[name] = {});
  for (const [version, ask] of [['HTTP/1.1', over1], ['HTTP/2', over2]]) {
    const front = await free();
    const [text, command, args] = config(front, ask === over2);
    writeFileSync('conf', text);
    const env = { ...process.env, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir };
    const proxy = spawn(command, args, { stdio: 'ignore', env });
    const kill = () => proxy.kill();
    process.on('exit', kill);
    while (!(await opens(front))) await pause(50);
    const json = await ask(front, '/json'), events = await ask(front, '/events');
    is[version] = json === events ? json : { json, events };
    const gone = once(proxy, 'exit');
    proxy.kill();
    await gone;
    process.off('exit', kill);
  }
}
console.log(all);
const right = { 'HTTP/1.1': 'broken off', 'HTTP/2': 'broken off' };
assert.deepEqual(all, {
  haproxy: { 'HTTP/1.1': 'broken off', 'HTTP/2': 'whole' },
  varnish: { 'HTTP/1.1': 'broken off', 'HTTP/2': 'whole' },
  caddy: { 'HTTP/1.1': 'whole', 'HTTP/2': 'whole' },
  nginx: right,
  apache: right,
  nghttpx: right,
});
server.closeAllConnections();
server.close();
JS
node probe.mjs
echo "as described"
