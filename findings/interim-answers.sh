#!/bin/sh
# Expected: a server may send 102 or 103 before its answer: proxies pass interim answers on, or drop them, and pass the answer (RFC 9110, 15.2).
# Happens: nginx takes the interim answer for the answer. The client gets its head, and the true answer never arrives: over HTTP/1.1 the
# connection ends with it, over HTTP/2 the stream with an error. Varnish answers 503. haproxy, Caddy, Apache and nghttpx pass both on.
# Touched: servers and frameworks that send Early Hints, or 102 so that a long call does not look dead: each such call is lost.
# Seen with: nginx 1.22.1-9+deb12u11, varnish 7.1.1-2+deb12u1, haproxy 2.6.12-1+deb12u4, caddy 2.6.2-5, apache2-bin 2.4.71-1~deb12u1 and
# nghttp2-proxy 1.52.0-1+deb12u3 (Debian 12).
set -eu
for one in nginx=1.22.1-9+deb12u11 varnish=7.1.1-2+deb12u1 haproxy=2.6.12-1+deb12u4 caddy=2.6.2-5 apache2-bin=2.4.71-1~deb12u1 \
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
const server = http.createServer((request, answer) => {
  request.resume();
  if (request.url === '/102') answer.writeProcessing();
  if (request.url === '/103') answer.writeEarlyHints({ link: '</style.css>; rel=preload' });
  setTimeout(() => answer.end('answer'), 300);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const back = server.address().port, dir = process.cwd();
const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `${one}_temp_path ${dir}/${one};`).join(' ');
const nginx = (listen) => `daemon off;
pid ${dir}/nginx.pid;
events { }
http {
  access_log off;
  ${temporary}
  server {
    listen 127.0.0.1:${listen};
    location / {
      proxy_pass http://127.0.0.1:${back};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
`;
const proxies = {
  nginx: (front) => [nginx(front), '/usr/sbin/nginx', ['-c', `${dir}/conf`, '-e', `${dir}/log`]],
  'nginx, HTTP/2': (front) => [nginx(`${front} http2`), '/usr/sbin/nginx', ['-c', `${dir}/conf`, '-e', `${dir}/log`]],
  varnish: (front) => [`vcl 4.1;
backend default { .host = "127.0.0.1"; .port = "${back}"; }
sub vcl_recv { return (pass); }
`, '/usr/sbin/varnishd', ['-F', '-n', `${dir}/varnish`, '-f', `${dir}/conf`, '-a', `127.0.0.1:${front}`, '-s', 'malloc,20m']],
  haproxy: (front) => [`defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
frontend f
  bind 127.0.0.1:${front}
  default_backend b
backend b
  server s 127.0.0.1:${back}
`, 'haproxy', ['-db', '-f', 'conf']],
  caddy: (front) => [`{
  admin off
  auto_https off
}
http://:${front} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${back}
}
`, 'caddy', ['run', '--adapter', 'caddyfile', '--config', 'conf']],
  apache: (front) => [`${['mpm_event', 'proxy', 'proxy_http', 'authz_core']
    .map((one) => `LoadModule ${one}_module /usr/lib/apache2/modules/mod_${one}.so\n`).join('')}ServerName localhost
User www-data
Group www-data
PidFile ${dir}/pid
ErrorLog ${dir}/log
Listen 127.0.0.1:${front}
ProxyPass / http://127.0.0.1:${back}/ retry=0
`, '/usr/sbin/apache2', ['-X', '-d', dir, '-f', `${dir}/conf`]],
  nghttpx: (front) => [`frontend=127.0.0.1,${front};no-tls
backend=127.0.0.1,${back}
workers=1
`, 'nghttpx', ['--conf=conf', '--accesslog-file=/dev/null', '--errorlog-file=/dev/null']],
};
/** Interim and final statuses, then the body or `error`. */
const over1 = (port, path) => new Promise((resolve) => {
  const seen = [];
  const request = http.request({ host: '127.0.0.1', port, path, method: 'POST', agent: false }, (answer) => {
    let text = '';
    answer.on('data', (bytes) => (text += bytes)).on('end', () => resolve([...seen, answer.statusCode, answer.statusCode === 200 ? text : '']));
  });
  request.on('information', ({ statusCode }) => seen.push(statusCode)).on('error', () => resolve([...seen, 'error'])).end('{}');
});
const over2 = (port, path) => new Promise((resolve) => {
  const seen = [], session = http2.connect(`http://127.0.0.1:${port}`);
  const stream = session.request({ ':method': 'POST', ':path': path });
  let text = '';
  stream.on('headers', (head) => seen.push(head[':status'])).on('response', (head) => seen.push(head[':status'])).on('error', () => (text = 'error'));
  stream.on('data', (bytes) => (text += bytes)).on('close', () => (session.destroy(), resolve([...seen, text]))).end('{}');
});
const all = {};
for (const [name, config] of Object.entries(proxies)) {
  const front = await free();
  const [text, command, args] = config(front);
  writeFileSync('conf', text);
  const env = { ...process.env, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir };
  const proxy = spawn(command, args, { stdio: 'ignore', env });
  const kill = () => proxy.kill();
  process.on('exit', kill);
  while (!(await opens(front))) await pause(50);
  all[name] = {};
  for (const path of ['/', '/102', '/103', '/']) all[name][path] = (await (name.endsWith('2') ? over2 : over1)(front, path)).join(' ').trim();
  const gone = once(proxy, 'exit');
  proxy.kill();
  await gone;
  process.off('exit', kill);
}
console.log(all);
const good = { '/': '200 answer', '/102': '102 200 answer', '/103': '103 200 answer' };
assert.deepEqual(all, {
  nginx: { '/': '200 answer', '/102': '102 error', '/103': '103 error' },
  'nginx, HTTP/2': { '/': '200 answer', '/102': '102 error', '/103': '103 error' },
  varnish: { '/': '200 answer', '/102': '503', '/103': '503' },
  haproxy: good,
  caddy: good,
  apache: good,
  nghttpx: good,
});
server.closeAllConnections();
server.close();
JS
node probe.mjs
echo "as described"
