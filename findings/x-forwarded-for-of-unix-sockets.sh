#!/bin/sh
# Expected: reverse proxies name the client of a Unix socket in X-Forwarded-For in the same way, or send none, since it has no address.
# Happens: each of four does something else. nginx sends `X-Forwarded-For: unix:` (and `X-Real-IP: unix:`), nghttpx `localhost`, haproxy and
# Caddy nothing. Both words are no IP address.
# Touched: servers that parse the header as addresses refuse or ignore it; limits and logs per address put all of these clients together.
# Seen with: nginx 1.22.1-9+deb12u11, haproxy 2.6.12-1+deb12u4, caddy 2.6.2-5 and nghttp2-proxy 1.52.0-1+deb12u3 (Debian 12).
set -eu
for one in nginx=1.22.1-9+deb12u11 haproxy=2.6.12-1+deb12u4 caddy=2.6.2-5 nghttp2-proxy=1.52.0-1+deb12u3; do
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
import { connect } from 'node:net';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const opens = (path) => new Promise((resolve) => {
  const socket = connect(path, () => (socket.destroy(), resolve(true))).on('error', () => resolve(false));
});
const server = http.createServer((request, answer) => {
  request.resume();
  answer.end(JSON.stringify(request.headers));
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const back = `127.0.0.1:${server.address().port}`, dir = process.cwd();
const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `${one}_temp_path ${dir}/${one};`).join(' ');
const proxies = {
  nginx: [`daemon off;
pid ${dir}/nginx.pid;
events { }
http {
  access_log off;
  ${temporary}
  server {
    listen unix:${dir}/nginx.socket;
    location / {
      proxy_pass http://${back};
      proxy_set_header X-Real-IP $remote_addr;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}
`, '/usr/sbin/nginx', ['-c', `${dir}/nginx.conf`, '-e', `${dir}/nginx.log`]],
  haproxy: [`defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
  option forwardfor
frontend f
  bind unix@${dir}/haproxy.socket
  default_backend b
backend b
  server s ${back}
`, 'haproxy', ['-db', '-f', 'haproxy.conf']],
  caddy: [`{
  admin off
  auto_https off
}
http:// {
  bind unix/${dir}/caddy.socket
  reverse_proxy ${back}
}
`, 'caddy', ['run', '--adapter', 'caddyfile', '--config', 'caddy.conf']],
  nghttpx: [`frontend=unix:${dir}/nghttpx.socket;no-tls
backend=${back.replace(':', ',')}
add-x-forwarded-for=yes
workers=1
`, 'nghttpx', ['--conf=nghttpx.conf', '--accesslog-file=/dev/null', '--errorlog-file=/dev/null']],
};
async function sent(socketPath) {
  const request = http.request({ socketPath, method: 'POST', agent: false, headers: { host: 'mcp.example.com' } }).end('{}');
  const [answer] = await once(request, 'response');
  let text = '';
  for await (const bytes of answer) text += bytes;
  return JSON.parse(text);
}
const all = {};
for (const [name, [text, command, args]] of Object.entries(proxies)) {
  writeFileSync(`${name}.conf`, text);
  const env = { ...process.env, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir };
  const proxy = spawn(command, args, { stdio: 'ignore', env });
  const kill = () => proxy.kill();
  process.on('exit', kill);
  while (!(await opens(`${dir}/${name}.socket`))) await pause(50);
  const headers = await sent(`${dir}/${name}.socket`);
  all[name] = { 'X-Forwarded-For': headers['x-forwarded-for'] ?? 'none', 'X-Real-IP': headers['x-real-ip'] ?? 'none' };
  const gone = once(proxy, 'exit');
  proxy.kill();
  await gone;
  process.off('exit', kill);
}
console.log(all);
assert.deepEqual(Object.entries(all).map(([name, is]) => [name, ...Object.values(is)]), [
  ['nginx', 'unix:', 'unix:'],
  ['haproxy', 'none', 'none'],
  ['caddy', 'none', 'none'],
  ['nghttpx', 'localhost', 'none'],
]);
server.closeAllConnections();
server.close();
JS
node probe.mjs
echo "as described"
