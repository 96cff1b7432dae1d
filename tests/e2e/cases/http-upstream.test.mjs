// Lineward in front of HTTP servers that no SDK would write: what passes, what is held back, what is refused.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { binary } from '../lib/binary.mjs';
import { Inbox, bounded } from '../lib/events.mjs';
import { startGatewayTo } from '../lib/gateway.mjs';
import { eventually } from '../lib/operator.mjs';
import { answer, beginEvents, call, event, gatewayError, json, rawCall, startOrigin } from '../lib/raw-origin.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const MiB = 1 << 20;
// A sanitizer makes every byte dear.
const FLOOD_MIB = readFileSync(binary()).includes('__asan_init') ? 48 : 200;
const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
const line = (bytes) =>
  event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(bytes) } });

/** The result of look() after it was the same for a second. */
async function settled(look) {
  let last = look();
  for (let since = Date.now(); Date.now() - since < 1000; await sleep(20)) {
    const now = look();
    if (now !== last) since = Date.now();
    last = now;
  }
  return last;
}

const percentile = (sorted, p) => sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * p) / 100))];

// A sanitizer keeps freed memory for a while; that is not what is measured here.
const MEASURED = { env: { ASAN_OPTIONS: 'quarantine_size_mb=1:malloc_context_size=0' } };

describe('HTTP servers', { skip: DIRECT }, () => {
  test(`${FLOOD_MIB} MiB for a slow client: little memory, every byte, and the server is held back`, { timeout: 120_000 }, async (t) => {
    const total = FLOOD_MIB * MiB;
    const piece = line(64 * 1024);
    let written = 0;
    const origin = await startOrigin(t, async (_, response, message) => {
      beginEvents(response);
      while (written < total && !response.destroyed) {
        written += piece.length;
        if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
      }
      response.end(event(answer(message.id, { content: [], resultType: 'complete' })));
    });
    const gateway = await startGatewayTo(t, { url: origin.url }, MEASURED);
    await call(gateway.url, 'server/discover');
    const before = rss(gateway.pid);
    const socket = await rawCall(t, gateway.url, 7, 'tools/call', { name: 'flood' });
    let received = 0;
    let most = 0;
    let tail = '';
    socket.pause();
    // The client takes nothing: everything on the way fills up, and then the server waits.
    const ahead = await settled(() => written);
    assert.ok(ahead < 40 * MiB, `the server could write ${ahead} bytes ahead of a client that reads nothing`);
    // Slowly, but steadily: some, a pause, some.
    for await (const chunk of socket) {
      received += chunk.length;
      tail = (tail + chunk.toString('latin1')).slice(-400);
      most = Math.max(most, rss(gateway.pid));
      if (received % (4 * MiB) < chunk.length) await sleep(10);
      if (tail.includes('"result"') && tail.endsWith('0\r\n\r\n')) break;
    }
    assert.ok(received > total, `${received} bytes arrived`);
    assert.match(tail, /"id":7/);
    assert.ok(most - before < 32 * MiB, `memory grew by ${((most - before) / MiB).toFixed(1)} MiB`);
  });

  test('a client that takes nothing is cut in the end, and its call with it; others go on', async (t) => {
    const seen = new Inbox();
    const origin = await startOrigin(t, async (_, response, message) => {
      if (message.params.name === 'quick') return json(response, 200, answer(message.id, { content: [] }));
      beginEvents(response);
      response.on('close', () => seen.put('closed'));
      const piece = line(64 * 1024);
      while (!response.destroyed) {
        if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
      }
      return undefined;
    });
    const gateway = await startGatewayTo(t, { url: origin.url }, { listen: { writeTimeout: '4s' } });
    const socket = await rawCall(t, gateway.url, 1, 'tools/call', { name: 'flood' });
    socket.pause();
    const begun = Date.now();
    assert.equal((await call(gateway.url, 'tools/call', { name: 'quick' })).status, 200);
    await seen.until((one) => one === 'closed', 'the end of the flood');
    assert.ok(Date.now() - begun > 3_900, 'slow is not yet too slow');
    // The log line comes after the closing, and by another pipe.
    await eventually(() => /client_too_slow/.test(gateway.stderr()), 'the log line');
  });

  test('a client that closes ends its stream within milliseconds', async (t) => {
    const closed = new Map();
    const begun = new Inbox();
    const origin = await startOrigin(t, (_, response, message) => {
      const { name } = message.params;
      beginEvents(response).write(line(10));
      response.on('close', () => closed.get(name)(performance.now()));
      begun.put(name);
    });
    const gateway = await startGatewayTo(t, { url: origin.url });
    const times = [];
    for (let i = 0; i < 200; i++) {
      const name = `call${i}`;
      const end = new Promise((resolve) => closed.set(name, resolve));
      const socket = await rawCall(t, gateway.url, i, 'tools/call', { name });
      await once(socket, 'data');
      const start = performance.now();
      socket.destroy();
      times.push((await bounded(end, 30_000, `the end of ${name}`)) - start);
    }
    times.sort((a, b) => a - b);
    const [p50, p99] = [percentile(times, 50), percentile(times, 99)];
    console.log(`# cancel by closing, 200 calls: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`);
    // A wait for an outcome would last timeouts.cancelGrace, 5 s; the rest is the machine's.
    assert.ok(p50 < 100 && p99 < 2500, `p50 ${p50} ms, p99 ${p99} ms`);
    // Not one of those connections carried two calls.
    const calls = origin.requests.filter(({ message }) => message?.method === 'tools/call');
    assert.equal(new Set(calls.map(({ connection }) => connection)).size, 200);
  });

  test('a limit closes the stream too', async (t) => {
    const ended = new Inbox();
    const origin = await startOrigin(t, (_, response) => {
      beginEvents(response).write(line(10));
      response.on('close', () => ended.put(performance.now()));
    });
    const gateway = await startGatewayTo(t, { url: origin.url, timeouts: { request: '200ms' } });
    const start = performance.now();
    const { reason } = gatewayError(await call(gateway.url, 'tools/call', { name: 'x' }));
    assert.equal(reason, 'timeout_request');
    const [at] = await ended.count(1);
    assert.ok(at - start < 4000); // timeouts.cancelGrace is 5 s
  });

  test('legacy: the cancel is told on another connection before the stream is closed', async (t) => {
    const order = new Inbox();
    const origin = await startOrigin(
      t,
      (request, response, message) => {
        if (message.method === 'notifications/cancelled') {
          order.put({ what: 'cancel', connection: request.number, id: message.params.requestId });
          return response.writeHead(202).end();
        }
        beginEvents(response).write(line(10));
        response.on('close', () => order.put({ what: 'closed', connection: request.number, id: message.id }));
        order.put({ what: 'begun' });
        return undefined;
      },
      { era: 'legacy' },
    );
    const gateway = await startGatewayTo(t, { url: origin.url });
    const socket = await rawCall(t, gateway.url, 1, 'tools/call', { name: 'x' });
    await order.count(1);
    socket.destroy();
    const [, first, second] = await order.count(3);
    assert.deepEqual([first.what, second.what], ['cancel', 'closed']);
    assert.equal(first.id, second.id);
    assert.notEqual(first.connection, second.connection);
  });

  test('a connection that was cut, half read or spoke out of turn is never used again', async (t) => {
    const bad = {
      short: (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"jsonrpc"'),
      reset: (socket) => socket.resetAndDestroy(),
      chunk: (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nda'),
      twice: (socket, id) => {
        const body = answer(id, { content: [], resultType: 'complete' });
        const one = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
        socket.write(one + one);
      },
      foreign: (socket) => {
        const body = answer(987654, { content: [], resultType: 'complete' });
        socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      },
      html: (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 20\r\n\r\n<html>'),
    };
    const origin = await startOrigin(t, (request, response, message) => {
      const { name } = message.params;
      if (bad[name]) return bad[name](request.socket, message.id);
      return json(response, 200, answer(message.id, { content: [{ type: 'text', text: name }], resultType: 'complete' }));
    });
    const gateway = await startGatewayTo(t, { url: origin.url });
    const dirty = new Set();
    for (const name of Object.keys(bad)) {
      for (let i = 0; i < 3; i++) {
        const result = await call(gateway.url, 'tools/call', { name });
        if (name !== 'twice') assert.equal(gatewayError(result).code, 502, name);
        dirty.add(origin.requests.findLast(({ message }) => message?.params?.name === name).connection);
        const good = await call(gateway.url, 'tools/call', { name: `good ${name}` });
        assert.equal(good.message.result?.content[0].text, `good ${name}`);
        assert.ok(!dirty.has(origin.requests.at(-1).connection), `${name}: its connection was used again`);
      }
    }
    assert.equal(dirty.size, 3 * Object.keys(bad).length, 'every bad call had a connection of its own');
  });

  test('redirects are refused and named, without their secrets; interim responses are passed over', async (t) => {
    const elsewhere = await startOrigin(t, (_, response) => json(response, 200, '{}'), { era: 'none' });
    const origin = await startOrigin(t, (request, response, message) => {
      const { name } = message.params;
      if (name === 'redirect') {
        const location = `http://user:hunter2@127.0.0.1:${elsewhere.port}/other?token=hunter3#hunter4`;
        return response.writeHead(307, { location }).end();
      }
      if (name === 'storm') return request.socket.write('HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n'.repeat(100));
      request.socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </style>\r\n\r\n');
      return json(response, 200, answer(message.id, { content: [], resultType: 'complete' }));
    });
    const gateway = await startGatewayTo(t, { url: origin.url, headers: { Authorization: 'Bearer secret' } });
    const refused = gatewayError(await call(gateway.url, 'tools/call', { name: 'redirect' }));
    assert.equal(refused.reason, 'upstream_protocol');
    assert.match(refused.text, new RegExp(`redirect \\(307\\) to http://127.0.0.1:${elsewhere.port}/other,`));
    assert.doesNotMatch(refused.text + gateway.stderr(), /hunter/);
    assert.equal(elsewhere.requests.length, 0);
    assert.deepEqual((await call(gateway.url, 'tools/call', { name: 'early' })).message.result.content, []);
    assert.equal(gatewayError(await call(gateway.url, 'tools/call', { name: 'storm' })).reason, 'upstream_protocol');
  });

  test('timeouts.connect is the limit of the connection, and is named', async (t) => {
    const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1'); // never says a word of TLS
    await once(silent, 'listening');
    t.after(() => silent.close());
    const url = `https://127.0.0.1:${silent.address().port}/mcp`;
    const gateway = await startGatewayTo(t, { url, protocolEra: 'modern', timeouts: { connect: '150ms' } });
    const failed = gatewayError(await call(gateway.url, 'tools/call', { name: 'x' }));
    assert.equal(failed.reason, 'timeout_connect');
    assert.equal(failed.code, 504);
    assert.equal(failed.limitMs, 150);
    assert.equal(failed.retryable, true);
    assert.match(failed.text, /timeouts\.connect/);
  });

  test('limits.maxConnections: calls beyond it wait; idle connections are used again', async (t) => {
    let now = 0;
    let most = 0;
    const origin = await startOrigin(t, async (_, response, message) => {
      most = Math.max(most, ++now);
      await sleep(20);
      --now;
      json(response, 200, answer(message.id, { content: [], resultType: 'complete' }));
    });
    const gateway = await startGatewayTo(t, { url: origin.url, limits: { maxConnections: 3, idleConnections: 2 } });
    const calls = await Promise.all(Array.from({ length: 30 }, (_, id) => call(gateway.url, 'tools/call', { name: 'x' }, { id })));
    assert.ok(calls.every(({ message }) => message.result), JSON.stringify(calls.find(({ message }) => !message.result)));
    assert.equal(most, 3);
  });
});
