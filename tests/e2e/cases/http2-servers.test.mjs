// HTTP/2 towards servers: Node's servers by ALPN and with prior knowledge, and hostile frames by hand.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { createServer } from 'node:net';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { authority } from '../lib/certificates.mjs';
import { startGatewayTo } from '../lib/gateway.mjs';
import { CONTINUATION, DATA, END_HEADERS, END_STREAM, fields, frame, GOAWAY, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE } from '../lib/http2.mjs';
import { lastMessage, modernPost } from '../lib/modern.mjs';
import { answer, beginEvents, call, event, gatewayError, json, startOrigin } from '../lib/raw-origin.mjs';
import { running } from '../lib/reloading.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const CANCEL = 8;
const REFUSED = 7;
const PUSH_PROMISE = 5;
const MAX_CONCURRENT = 3; // a setting
const done = (id, text = 'done') => answer(id, { content: [{ type: 'text', text }], resultType: 'complete' });
const text = ({ message }) => message?.result?.content?.[0]?.text;
const tool = (url, name, args = {}, more) => call(url, 'tools/call', { name, arguments: args }, more);

async function until(isMet, what) {
  for (let left = 800; left > 0; --left) {
    if (await isMet()) return;
    await sleep(25);
  }
  assert.fail(`waited for ${what}`);
}

/** An origin over HTTP/2 with the tools echo, and wait: {waiting: streams by name, closed: their codes}. */
async function waiter(t, options = {}) {
  const waiting = new Map();
  const closed = [];
  const origin = await startOrigin(
    t,
    (request, response, message) => {
      const name = message?.params?.name;
      if (name === undefined) return response.writeHead(400).end();
      if (!name.startsWith('wait')) return json(response, 200, done(message.id, JSON.stringify(message.params.arguments)));
      waiting.set(name, { request, response, id: message.id });
      request.stream.once('close', () => closed.push({ name, code: request.stream.rstCode }));
    },
    { http2: {}, ...options },
  );
  const finish = (name) => {
    const { response, id } = waiting.get(name);
    json(response, 200, done(id, name));
  };
  return { ...origin, waiting, closed, finish, arrived: (name) => until(() => waiting.has(name), name) };
}

// Connections are counted: each worker has its own.
const plainly = { protocolEra: 'modern', http2: 'on', workers: 'one' };

describe('HTTP/2 towards servers', { skip: DIRECT }, () => {
  for (const [name, secure] of [['by ALPN', true], ['with prior knowledge', false]]) {
    test(`both eras, ${name}`, async (t) => {
      const ca = authority(t);
      const tls = secure ? ca.certificate('127.0.0.1').tls : undefined;
      const server = { workers: 'one', ...(secure ? { caFile: ca.caFile } : { http2: 'on' }) };
      const modern = await startOrigin(
        t,
        (request, response, { id, params }) => {
          if (params.name === 'events') {
            beginEvents(response);
            response.write(event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'one' } }));
            return response.end(event(done(id, 'events')));
          }
          return json(response, 200, done(id, params.name));
        },
        { tls, http2: {} },
      );
      const one = await startGatewayTo(t, { url: modern.url, ...server });
      assert.equal(text(await tool(one.url, 'first')), 'first');
      const many = await Promise.all(Array.from({ length: 60 }, (_, n) => tool(one.url, `t${n}`)));
      assert.ok(many.every((result, n) => text(result) === `t${n}`));
      assert.equal(modern.connections(), 1, 'one connection for all of them');
      const events = await fetch(one.url, modernPost('tools/call', { name: 'events' }, { id: 1 }));
      const sent = await events.text();
      assert.match(sent, /notifications\/message/);
      assert.equal(lastMessage(sent).result.content[0].text, 'events');
      const { headers, version } = modern.requests.at(-1);
      assert.equal(version, '2.0');
      assert.equal(headers[':authority'], new URL(modern.url).host);
      assert.equal(headers[':scheme'], secure ? 'https' : 'http');
      for (const gone of ['host', 'connection', 'keep-alive', 'te', 'transfer-encoding', 'upgrade']) assert.equal(headers[gone], undefined, gone);

      const streams = new Set();
      const legacy = await startOrigin(
        t,
        (request, response, message) => {
          if (request.method === 'DELETE') return response.writeHead(204).end();
          if (request.method === 'GET') {
            beginEvents(response);
            response.write(': hello\n\n');
            streams.add(response);
            return response.once('close', () => streams.delete(response));
          }
          if (message.method === 'initialize')
            return json(response, 200, answer(message.id, { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'o', version: '1' } }), { 'mcp-session-id': 'abc' });
          if (message.id === undefined) return response.writeHead(202).end();
          if (message.method === 'server/discover') return json(response, 200, JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no' } }));
          return json(response, 200, done(message.id, request.headers['mcp-session-id']));
        },
        { tls, http2: {}, era: 'none' },
      );
      const two = await startGatewayTo(t, { url: legacy.url, ...server });
      assert.equal(text(await tool(two.url, 'x')), 'abc');
      assert.ok(legacy.requests.every(({ version }) => version === '2.0'));
    });
  }

  test('off, and servers without HTTP/2: HTTP/1.1 as ever; on: an error that says so', async (t) => {
    const ca = authority(t);
    const { tls } = ca.certificate('127.0.0.1');
    const versions = async (options, server) => {
      const origin = await startOrigin(t, (request, response, { id }) => json(response, 200, done(id, request.httpVersion)), options);
      const gateway = await startGatewayTo(t, { url: origin.url, protocolEra: 'modern', ...(options.tls && { caFile: ca.caFile }), ...server });
      return tool(gateway.url, 'x');
    };
    const both = { tls, http2: { allowHTTP1: true } };
    assert.equal(text(await versions(both, {})), '2.0');
    assert.equal(text(await versions(both, { http2: 'off' })), '1.1');
    assert.equal(text(await versions(both, { http2: 'on' })), '2.0');
    assert.equal(text(await versions({ tls }, {})), '1.1');
    assert.equal(text(await versions({}, {})), '1.1');
    const refused = gatewayError(await versions({ tls }, { http2: 'on' }));
    assert.equal(refused.reason, 'upstream_unreachable');
    const plain = gatewayError(await versions({}, { http2: 'on' }));
    assert.match(plain.text, /before it spoke HTTP\/2|speaks HTTP\/1, not HTTP\/2 \(http2: on\)/);
  });

  test('a cancel resets its stream with CANCEL, once and at once; others go on', async (t) => {
    const origin = await waiter(t);
    const gateway = await startGatewayTo(t, { url: origin.url, ...plainly });
    await tool(gateway.url, 'echo');
    const leave = new AbortController();
    const left = fetch(gateway.url, { ...modernPost('tools/call', { name: 'wait-left' }, { id: 1 }), signal: leave.signal }).catch(() => 'left');
    const stays = tool(gateway.url, 'wait-stays');
    await Promise.all([origin.arrived('wait-left'), origin.arrived('wait-stays')]);
    leave.abort();
    assert.equal(await left, 'left');
    await until(() => origin.closed.length > 0, 'the reset');
    assert.deepEqual(origin.closed, [{ name: 'wait-left', code: CANCEL }]);
    assert.equal(text(await tool(gateway.url, 'echo', { a: 1 })), '{"a":1}');
    origin.finish('wait-stays');
    assert.equal(text(await stays), 'wait-stays');
    await until(() => origin.closed.length === 2, 'the end of the other');
    assert.deepEqual(origin.closed[1], { name: 'wait-stays', code: 0 });
    assert.equal(origin.connections(), 1);
  });

  test('GOAWAY: calls under way finish, later ones have another connection', async (t) => {
    const origin = await waiter(t);
    const gateway = await startGatewayTo(t, { url: origin.url, ...plainly });
    const old = tool(gateway.url, 'wait-old');
    await origin.arrived('wait-old');
    for (const session of origin.sessions) session.goaway(0);
    await sleep(50);
    assert.equal(text(await tool(gateway.url, 'echo', { a: 2 })), '{"a":2}');
    assert.equal(origin.connections(), 2);
    origin.finish('wait-old');
    assert.equal(text(await old), 'wait-old');
    await until(() => origin.sessions.size === 1, 'the end of the first connection');
  });

  test('a lost connection ends its calls', async (t) => {
    const origin = await waiter(t);
    const gateway = await startGatewayTo(t, { url: origin.url, ...plainly });
    const calls = ['wait-1', 'wait-2', 'wait-3'].map((name) => tool(gateway.url, name));
    await Promise.all(['wait-1', 'wait-2', 'wait-3'].map((name) => origin.arrived(name)));
    for (const session of origin.sessions) session.destroy();
    for (const failed of await Promise.all(calls)) assert.equal(gatewayError(failed).reason, 'upstream_unreachable');
    assert.equal(text(await tool(gateway.url, 'echo')), '{}');
  });

  test('one stream at a time: each call under way has a connection, up to limits.maxConnections', async (t) => {
    const origin = await waiter(t, { http2: { settings: { maxConcurrentStreams: 1 } } });
    const gateway = await startGatewayTo(t, { url: origin.url, ...plainly, limits: { maxConnections: 3 } });
    await tool(gateway.url, 'echo');
    const names = [1, 2, 3, 4, 5].map((n) => `wait-${n}`);
    const calls = names.map((name) => tool(gateway.url, name));
    await until(() => origin.waiting.size === 3, 'three calls');
    await sleep(100);
    assert.equal(origin.waiting.size, 3);
    const finished = new Set();
    for (let n = 0; n < 5; ++n) {
      await until(() => [...origin.waiting.keys()].some((name) => !finished.has(name)), 'one more');
      const name = [...origin.waiting.keys()].find((one) => !finished.has(one));
      finished.add(name);
      origin.finish(name);
    }
    assert.deepEqual((await Promise.all(calls)).map(text), names);
    assert.ok(origin.connections() <= 3, `${origin.connections()} connections`);
  });

  test('3 MiB in both directions, and a server that answers before it reads the body', async (t) => {
    const large = 'x'.repeat(3 << 20);
    const codes = [];
    const origin = await startOrigin(
      t,
      (request, response, { id, params }) => json(response, 200, done(id, params.arguments.large)),
      { http2: {} },
    );
    const early = await startOrigin(t, () => {}, { http2: {}, era: 'none' });
    early.server.removeAllListeners('request');
    early.server.on('stream', (stream, headers) => {
      stream.once('close', () => codes.push(stream.rstCode));
      stream.on('error', () => {});
      if (Number(headers['content-length']) < 1000) {
        stream.respond({ ':status': 200, 'content-type': 'application/json' });
        return stream.end(done(1, 'small'));
      }
      stream.respond({ ':status': 413, 'content-type': 'text/plain' });
      stream.end('too large');
    });
    const gateway = await startGatewayTo(t, { url: origin.url, ...plainly });
    const result = await tool(gateway.url, 'echo', { large });
    assert.equal(text(result).length, large.length);
    const other = await startGatewayTo(t, { url: early.url, ...plainly });
    const refused = gatewayError(await tool(other.url, 'echo', { large }));
    assert.match(refused.text, /413/);
    await until(() => codes.length > 0, 'the end of the stream');
    assert.equal(codes[0], 0);
    assert.equal(early.connections(), 1);
  });

  test('a slow reader slows its stream only', async (t) => {
    let written = 0;
    const origin = await startOrigin(
      t,
      (request, response, { id, params }) => {
        if (params.name !== 'flood') return json(response, 200, done(id, params.name));
        beginEvents(response);
        const piece = event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(64 << 10) } });
        const more = () => {
          while (written < 200 && !response.writableEnded) {
            ++written;
            if (!response.write(piece)) return response.once('drain', more);
          }
          response.end(event(done(id, 'flooded')));
        };
        more();
      },
      { http2: {} },
    );
    const gateway = await startGatewayTo(t, { url: origin.url, ...plainly });
    await tool(gateway.url, 'first');
    const { body, ...options } = modernPost('tools/call', { name: 'flood', _meta: { 'io.modelcontextprotocol/logLevel': 'info' } }, { id: 1 });
    const request = http.request(gateway.url, options);
    request.end(body);
    const [response] = await once(request, 'response');
    response.pause();
    let before = -1;
    await until(async () => {
      await sleep(150);
      return before === (before = written) && written > 0;
    }, 'a stream that is held back');
    assert.ok(written < 200, `${written} pieces`);
    const fast = await Promise.all(Array.from({ length: 50 }, (_, n) => tool(gateway.url, `t${n}`)));
    assert.ok(fast.every((one, n) => text(one) === `t${n}`));
    assert.equal(origin.connections(), 1);
    let size = 0;
    response.on('data', (chunk) => (size += chunk.length));
    response.resume();
    await once(response, 'end');
    assert.equal(written, 200);
    assert.ok(size > 200 * (64 << 10));
  });

  test('metrics count connections and streams of a server', async (t) => {
    const origin = await waiter(t);
    const one = await running(t, { s: { url: origin.url, ...plainly } });
    await tool(one.at('s'), 'echo');
    assert.equal(await one.metric('lineward_upstream_http2_connections'), 1);
    assert.ok((await one.metric('lineward_upstream_http2_streams_total')) >= 1);
    await until(async () => (await one.metric('lineward_upstream_http2_connections')) === 0, 'limits.idleTimeout');
  });

  // ---- frames by hand ----

  /** A server of frames: `play({id, rpc, send, socket, number})` is called for each whole request. */
  async function frames(t, play, { greet = [frame(SETTINGS, 0, 0)] } = {}) {
    const sockets = new Set();
    const seen = [];
    let connections = 0;
    const server = createServer((socket) => {
      const mine = ++connections;
      const bodies = new Map();
      sockets.add(socket.on('error', () => {}).once('close', () => sockets.delete(socket)));
      let bytes = Buffer.alloc(0);
      let preface = PREFACE.length;
      const send = (...parts) => socket.writable && socket.write(Buffer.concat(parts));
      send(...greet);
      socket.on('data', (chunk) => {
        bytes = Buffer.concat([bytes, chunk]);
        if (preface > 0 && bytes.length >= preface) {
          bytes = bytes.subarray(preface);
          preface = 0;
        }
        while (preface === 0 && bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
          const size = bytes.readUIntBE(0, 3);
          const one = { type: bytes[3], flags: bytes[4], stream: bytes.readUInt32BE(5), payload: bytes.subarray(9, 9 + size) };
          bytes = bytes.subarray(9 + size);
          seen.push(one);
          if (one.type === SETTINGS && one.flags === 0 && greet.length > 0) send(frame(SETTINGS, 1, 0));
          if (one.type > HEADERS) continue;
          if (one.type === DATA) bodies.set(one.stream, (bodies.get(one.stream) ?? '') + one.payload);
          if ((one.flags & END_STREAM) === 0) continue;
          const rpc = JSON.parse(bodies.get(one.stream) ?? '{}').id;
          play({ id: one.stream, rpc, send, socket, number: mine });
        }
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return { url: `http://127.0.0.1:${server.address().port}/mcp`, seen, connections: () => connections };
  }
  const head = (id, more = {}, flags = END_HEADERS) => frame(HEADERS, flags, id, fields({ ':status': '200', 'content-type': 'application/json', ...more }));
  const whole = (id, body) => [head(id), frame(DATA, END_STREAM, id, Buffer.from(body))];
  const pair = (id, value) => {
    const bytes = Buffer.alloc(6);
    bytes.writeUInt16BE(id, 0);
    bytes.writeUInt32BE(value, 2);
    return bytes;
  };
  const number = (value) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  // A field of 4000 bytes that enters the table, and `count` references to it.
  const bomb = (id, count) => {
    const value = Buffer.alloc(4000, 'y');
    const size = [0x7f, ((4000 - 127) & 127) | 128, (4000 - 127) >> 7];
    return frame(HEADERS, END_HEADERS, id, Buffer.concat([fields({ ':status': '200' }), Buffer.from([0x40, 1, 0x78, ...size]), value, Buffer.alloc(count, 0xbe)]));
  };
  const many = (count, make) => Array.from({ length: count }, (_, n) => make(n));

  for (const [what, reply, expected, more] of [
    ['a flood of PING', ({ id, send }) => send(head(id), ...many(3000, () => frame(PING, 0, 0, Buffer.alloc(8)))), /more HTTP\/2 control frames than it may/],
    ['a flood of SETTINGS', ({ send }) => send(...many(400, () => frame(SETTINGS, 0, 0))), /more HTTP\/2 control frames than it may/],
    ['a flood of CONTINUATION', ({ id, send }) => send(frame(HEADERS, 0, id, fields({ ':status': '200' })), ...many(100, () => frame(CONTINUATION, 0, id))), /limits\.maxHeadBytes\), or in too many frames/],
    ['a large compressed head', ({ id, send }) => send(frame(HEADERS, 0, id, fields({ ':status': '200' })), ...many(6, () => frame(CONTINUATION, 0, id, Buffer.alloc(16000)))), /limits\.maxHeadBytes/],
    ['a head over the limit', ({ id, send }) => send(head(id, { x: 'y'.repeat(9000) })), /limits\.maxHeadBytes/, { limits: { maxHeadBytes: 8192 } }],
    ['a head that is small on the wire only', ({ id, send }) => send(bomb(id, 20)), /its head has more than 65536 bytes \(limits\.maxHeadBytes\)/],
    ['a head that is much too large when it is read', ({ id, send }) => send(bomb(id, 200)), /a head is larger than it may be \(limits\.maxHeadBytes\)/],
    ['HTTP/1', ({ socket }) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), /speaks HTTP\/1, not HTTP\/2 \(http2: on\)/, { greet: [] }],
    ['DATA behind the end', ({ id, rpc, send }) => send(head(id), frame(DATA, 0, id, Buffer.from('{')), frame(HEADERS, END_HEADERS, id, fields({ x: '1' })), frame(DATA, END_STREAM, id, Buffer.from(done(rpc)))), /HTTP\/2/],
    ['too many fields', ({ id, send }) => send(head(id, Object.fromEntries(many(250, (n) => [`x${n}`, '1'])))), /200 header fields/],
    ['PUSH_PROMISE', ({ id, send }) => send(frame(PUSH_PROMISE, END_HEADERS, id, Buffer.concat([number(2), fields({ ':method': 'GET', ':scheme': 'http', ':path': '/', ':authority': 'a' })]))), /pushes over HTTP\/2|does not keep to HTTP\/2/],
    ['DATA on stream 0', ({ send }) => send(frame(DATA, 0, 0, Buffer.from('x'))), /does not keep to HTTP\/2/],
    ['HEADERS of an idle stream', ({ send }) => send(head(77)), /does not keep to HTTP\/2/],
    ['an oversized frame', ({ id, send }) => send(head(id), frame(DATA, 0, id, Buffer.alloc(20000))), /does not keep to HTTP\/2|not valid HTTP\/2/],
    ['a window that overflows', ({ send }) => send(frame(WINDOW_UPDATE, 0, 0, number(0x7fffffff)), frame(WINDOW_UPDATE, 0, 0, number(0x7fffffff))), /does not keep to HTTP\/2/],
    ['a field of HTTP/1 connections', ({ id, send }) => send(head(id, { connection: 'close' }), frame(DATA, END_STREAM, id)), /not valid HTTP\/2/],
    ['no status', ({ id, send }) => send(frame(HEADERS, END_HEADERS, id, fields({ 'content-type': 'application/json' }))), /not valid HTTP\/2/],
    ['a length that is wrong', ({ id, send }) => send(head(id, { 'content-length': '5' }), frame(DATA, END_STREAM, id, Buffer.from('{}'))), /not valid HTTP\/2/],
    ['interim answers without end', ({ id, send }) => send(...many(40, () => frame(HEADERS, END_HEADERS, id, fields({ ':status': '103' })))), /interim/],
    ['status 101', ({ id, send }) => send(frame(HEADERS, END_HEADERS, id, fields({ ':status': '101' }))), /not valid HTTP\/2/],
    ['more than the window', ({ id, send }) => send(head(id), ...many(20, () => frame(DATA, 0, id, Buffer.alloc(16384, 'x')))), /window|HTTP\/2|maxMessageBytes/, { limits: { maxMessageBytes: 1024 } }],
    ['a reset', ({ id, send }) => send(frame(RST_STREAM, 0, id, number(2))), /reset the stream of the call \(INTERNAL_ERROR\)/],
    ['a reset in the body', ({ id, send }) => send(head(id), frame(DATA, 0, id, Buffer.from('{')), frame(RST_STREAM, 0, id, number(0))), /reset the stream of the call \(NO_ERROR\)/],
    ['GOAWAY and the end', ({ send, socket }) => (send(frame(GOAWAY, 0, 0, Buffer.concat([number(2 ** 31 - 1), number(11)]))), socket.end()), /GOAWAY ENHANCE_YOUR_CALM/],
  ]) {
    test(`${what}: the call fails and says why`, async (t) => {
      const { greet, ...server } = more ?? {};
      const origin = await frames(t, reply, greet && { greet });
      const gateway = await startGatewayTo(t, { url: origin.url, ...plainly, ...server });
      const failed = gatewayError(await tool(gateway.url, 'x'));
      assert.match(failed.text, expected);
      assert.match(failed.reason, /^upstream_(protocol|unreachable)$/);
    });
  }

  test('no SETTINGS: timeouts.connect', async (t) => {
    const origin = await frames(t, () => {}, { greet: [] });
    const gateway = await startGatewayTo(t, { url: origin.url, ...plainly, timeouts: { connect: '300ms' } });
    const failed = gatewayError(await tool(gateway.url, 'x'));
    assert.match(failed.text, /did not begin HTTP\/2 at \S+ in time \(300 ms, lineward timeouts\.connect\)/);
    assert.equal(failed.reason, 'timeout_connect');
  });

  test('no credit at all: the call has its time, and others theirs', async (t) => {
    const origin = await frames(t, () => {}, { greet: [frame(SETTINGS, 0, 0, pair(4, 0))] });
    const gateway = await startGatewayTo(t, { url: origin.url, ...plainly, timeouts: { request: '500ms' } });
    const failed = gatewayError(await tool(gateway.url, 'x'));
    assert.equal(failed.reason, 'timeout_request');
    await until(() => origin.seen.some(({ type, stream }) => type === RST_STREAM && stream === 1), 'the reset');
    assert.equal(origin.seen.find(({ type }) => type === RST_STREAM).payload.readUInt32BE(0), CANCEL);
  });

  test('trailers are dropped, and so is what follows a whole answer', async (t) => {
    const origin = await frames(t, ({ id, rpc, send }) => {
      send(head(id), frame(DATA, 0, id, Buffer.from(done(rpc, 'ok'))), frame(HEADERS, END_HEADERS | END_STREAM, id, fields({ 'x-checksum': '1' })));
      send(frame(RST_STREAM, 0, id, number(0)), frame(WINDOW_UPDATE, 0, id, number(100)));
    });
    const gateway = await startGatewayTo(t, { url: origin.url, ...plainly });
    for (let n = 0; n < 3; ++n) assert.equal(text(await tool(gateway.url, 'x')), 'ok');
  });

  test('a refused stream, and one above the last of GOAWAY, go to a new connection', async (t) => {
    for (const refuse of [
      ({ id, send }) => send(frame(RST_STREAM, 0, id, number(REFUSED))),
      ({ send, id }) => send(frame(GOAWAY, 0, 0, Buffer.concat([number(id - 2), number(0)]))),
    ]) {
      const origin = await frames(t, (one) => (one.number === 1 && one.id > 1 ? refuse(one) : one.send(...whole(one.id, done(one.rpc, `c${one.number}`)))));
      const gateway = await startGatewayTo(t, { url: origin.url, ...plainly });
      assert.equal(text(await tool(gateway.url, 'x')), 'c1');
      assert.equal(text(await tool(gateway.url, 'x')), 'c2');
      assert.equal(origin.connections(), 2);
    }
  });

  test('a connection that is silent gets no further call', async (t) => {
    const origin = await frames(t, (one) => (one.number === 1 && one.id > 1 ? undefined : one.send(...whole(one.id, done(one.rpc, `c${one.number}`)))));
    const gateway = await startGatewayTo(t, { url: origin.url, ...plainly, timeouts: { request: '1200ms' } });
    assert.equal(text(await tool(gateway.url, 'x')), 'c1');
    assert.equal(gatewayError(await tool(gateway.url, 'x')).reason, 'timeout_request');
    assert.equal(text(await tool(gateway.url, 'x')), 'c2');
  });

  test('the number of streams falls: calls wait, or have other connections', async (t) => {
    const origin = await frames(t, ({ id, rpc, send }) => send(frame(SETTINGS, 0, 0, pair(MAX_CONCURRENT, 1)), ...whole(id, done(rpc, 'ok'))));
    const gateway = await startGatewayTo(t, { url: origin.url, ...plainly });
    const all = await Promise.all(many(20, () => tool(gateway.url, 'x')));
    assert.ok(all.every((one) => text(one) === 'ok'));
    assert.equal(text(await tool(gateway.url, 'x')), 'ok');
  });
});
