#!/bin/sh
# Expected: a reverse proxy that may not cache passes a POST's headers on, with Via and X-Forwarded-For at most.
# Happens: Squid adds `Cache-Control: max-age=259200` (three days) to every request that has none, POSTs included and with "cache deny all",
# and `Surrogate-Capability`.
# Touched: servers and gateways that sign, compare or log request headers, or take a request's Cache-Control as the client's.
# Seen with: squid 5.7-2+deb12u6 (Debian 12).
set -eu
version=$(dpkg-query -W -f='${Version}' squid 2>/dev/null) || version=none
[ "$version" = 5.7-2+deb12u6 ] || { echo "needs Debian 12's squid 5.7-2+deb12u6, found: $version" >&2; exit 1; }
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
import { connect, createServer } from 'node:net';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const front = probe.address().port;
await new Promise((resolve) => probe.close(resolve));
const opens = () => new Promise((resolve) => {
  const socket = connect(front, '127.0.0.1', () => (socket.destroy(), resolve(true))).on('error', () => resolve(false));
});
const server = http.createServer((request, answer) => answer.end(JSON.stringify(request.headers))).listen(0, '127.0.0.1');
await once(server, 'listening');
const dir = process.cwd();
writeFileSync('squid.conf', `http_port 127.0.0.1:${front} accel defaultsite=mcp.example.com
cache_peer 127.0.0.1 parent ${server.address().port} 0 no-query originserver name=back
http_access allow all
never_direct allow all
cache deny all
access_log none
visible_hostname front.example.com
pid_filename ${dir}/squid.pid
cache_log ${dir}/cache.log
coredump_dir ${dir}
shutdown_lifetime 1 seconds
`);
const squid = spawn('/usr/sbin/squid', ['-N', '-n', `finding${process.pid}`, '-f', `${dir}/squid.conf`], { stdio: 'ignore' });
process.on('exit', () => squid.kill());
while (!(await opens())) await pause(100);
const headers = await new Promise((resolve, reject) => {
  http.request({ host: '127.0.0.1', port: front, method: 'POST', agent: false, headers: { host: 'mcp.example.com', 'content-length': 2 } }, async (answer) => {
    let text = '';
    for await (const bytes of answer) text += bytes;
    resolve(JSON.parse(text));
  }).on('error', reject).end('{}');
});
console.log(headers);
assert.equal(headers['cache-control'], 'max-age=259200');
assert.equal(headers['surrogate-capability'], 'front.example.com="Surrogate/1.0"');
const gone = once(squid, 'exit');
squid.kill();
await gone;
server.closeAllConnections();
server.close();
JS
echo "squid $version"
node probe.mjs
echo "as described"
