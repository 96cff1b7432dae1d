#!/bin/sh
# Expected: a proxy made with http-proxy closes its request to the backend when the client has closed its connection.
# Happens: http-proxy never does, neither before the head of the answer nor in its stream: the backend works on until it is done.
# http-proxy-middleware, which is built on it, closes the request in the stream, and before the head as little as http-proxy.
# http-proxy-3, a fork, does both.
# Touched: MCP servers of 2026-07-28, where the end of a request is its cancel, behind a proxy of these or a development server on them.
# Seen with: http-proxy 1.18.1, http-proxy-middleware 3.0.11, http-proxy-3 1.23.3.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error http-proxy@1.18.1 http-proxy-middleware@3.0.11 http-proxy-3@1.23.3
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
function version(name, is) {
  const found = JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
  console.log(name, found);
  assert.equal(found, is);
}
import { connect } from 'node:net';
import httpProxy from 'http-proxy';
import { createProxyServer } from 'http-proxy-3';
import { createProxyMiddleware } from 'http-proxy-middleware';

version('http-proxy', '1.18.1');
version('http-proxy-middleware', '3.0.11');
version('http-proxy-3', '1.23.3');

let begun, closed;
const server = http.createServer((request, answer) => {
  request.resume();
  closed = once(answer, 'close').then(() => 'noticed');
  if (request.url === '/stream') {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    const timer = setInterval(() => answer.write(': more\n\n'), 200);
    answer.on('close', () => clearInterval(timer));
  }
  begun();
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const target = `http://127.0.0.1:${server.address().port}`;
const plain = httpProxy.createProxyServer({ target }).on('error', () => {});
const third = createProxyServer({ target }).on('error', () => {});
const middleware = createProxyMiddleware({ target });
const kinds = { 'http-proxy': (...one) => plain.web(...one), 'http-proxy-middleware': middleware, 'http-proxy-3': (...one) => third.web(...one) };

async function leave(handler, path) {
  const front = http.createServer(handler).listen(0, '127.0.0.1');
  await once(front, 'listening');
  const came = new Promise((resolve) => (begun = resolve));
  const client = connect(front.address().port, '127.0.0.1');
  client.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}`);
  await came;
  if (path === '/stream') await once(client, 'data');
  client.destroy();
  const is = await Promise.race([closed, pause(4_000).then(() => 'not noticed in 4 s')]);
  server.closeAllConnections();
  front.closeAllConnections();
  front.close();
  return is;
}
const is = {};
for (const [name, handler] of Object.entries(kinds)) is[name] = [await leave(handler, '/silent'), await leave(handler, '/stream')];
console.log('a client that leaves before the head, in the stream:', is);
assert.deepEqual(is, {
  'http-proxy': ['not noticed in 4 s', 'not noticed in 4 s'],
  'http-proxy-middleware': ['not noticed in 4 s', 'noticed'],
  'http-proxy-3': ['noticed', 'noticed'],
});
process.exit(0);
JS
node probe.mjs
echo "as described"
