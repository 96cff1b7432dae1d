// HTTP/2 of clients: Node's client over TLS and with prior knowledge, and hostile frames by hand.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { performance } from 'node:perf_hooks';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixtureRecord } from '../lib/events.mjs';
import { answer, call, DATA, END_HEADERS, END_STREAM, fields, FLOODS, frame, HEADERS, open, rawConnection, refusedGet, RST_STREAM, session, SETTINGS, WINDOW_UPDATE } from '../lib/http2.mjs';
import { modernPost } from '../lib/modern.mjs';
import { get } from '../lib/operator.mjs';
import { json, startOrigin } from '../lib/raw-origin.mjs';
import { plain, running } from '../lib/reloading.mjs';
import { modernFixture } from '../lib/servers.mjs';
import { echoServer } from '../lib/echo-server.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const CALM = 11; // ENHANCE_YOUR_CALM
const REFUSED = 7; // REFUSED_STREAM
const CANCEL = 8;
const listening = (more = {}) => ({ listen: { address: '127.0.0.1:0', ...more } });
const fixture = (record, more = {}) => {
  const [command, ...args] = modernFixture();
  return { command, args, env: record?.env ?? {}, ...more };
};
const text = (result) => result.message?.result?.content?.[0]?.text;

async function until(done, what) {
  for (let left = 800; left > 0; --left) {
    if (await done()) return;
    await sleep(25);
  }
  assert.fail(`waited for ${what}`);
}

describe('HTTP/2 of clients', { skip: DIRECT || NOT_PLAIN }, () => {
  for (const workers of [1, 2]) {
    test(`a session is abandoned with its connection, not with its streams; workers: ${workers}`, async (t) => {
      const servers = { old: echoServer('legacy', { sessionAbandoned: '1s' }), other: echoServer('legacy') };
      const one = await running(t, servers, { more: { ...listening(), workers } });
      const client = await session(t, one.gateway.url);
      const post = (body, headers = {}) => ({
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', ...body }),
      });
      const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
      const opened = await answer(open(client, one.at('old'), post({ id: 0, method: 'initialize', params })));
      const named = { 'Mcp-Session-Id': opened.headers['mcp-session-id'], 'MCP-Protocol-Version': '2025-11-25' };
      await answer(open(client, one.at('old'), post({ method: 'notifications/initialized' }, named)));
      // By another server its streams reach the other worker too.
      await call(client, one.at('other'), 'echo');
      const seen = async () => {
        const { sessions } = JSON.parse((await get(one.socket, '/api/v1/sessions')).body);
        return sessions.find(({ upstream }) => upstream === 'old');
      };
      const before = await seen();
      assert.equal(before.connections, 1);
      assert.equal(before.abandoned_ms, undefined);
      assert.equal(before.processes.length, 1);
      client.close();
      await until(async () => (await seen()).abandoned_ms >= 0, 'the end of the connection');
      await until(async () => (await seen()).processes.length === 0, 'the end of its process');
      const again = await session(t, one.gateway.url);
      const answered = await answer(open(again, one.at('old'), post({ id: 1, method: 'tools/list' }, named)));
      assert.equal(answered.status, 200);
    });
  }

  for (const [name, tls] of [['over TLS', { selfSigned: true }], ['with prior knowledge', undefined]]) {
    test(`calls of both eras, ${name}`, async (t) => {
      const one = await running(t, { s: echoServer('modern'), old: echoServer('legacy') }, { more: listening({ tls }) });
      const client = await session(t, one.gateway.url);
      if (tls) assert.equal(client.alpnProtocol, 'h2');
      const many = await Promise.all(Array.from({ length: 100 }, (_, n) => call(client, one.at('s'), 'echo', { n })));
      assert.ok(many.every(({ status, message }) => status === 200 && message.result));
      assert.equal((await call(client, one.at('old'), 'echo')).status, 200);
      const initialize = {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } } }),
      };
      const begun = await answer(open(client, one.at('old'), initialize));
      assert.equal(begun.status, 200);
      const id = begun.headers['mcp-session-id'];
      assert.ok(id);
      const listed = await answer(
        open(client, one.at('old'), {
          ...initialize,
          headers: { ...initialize.headers, 'Mcp-Session-Id': id, 'MCP-Protocol-Version': '2025-11-25' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
        }),
      );
      assert.equal(listed.status, 200);
      assert.match(listed.text, /echo/);
      assert.equal((await answer(open(client, one.gateway.url.replace('/mcp', '/nothing'), { method: 'GET' }))).status, 404);
      assert.equal((await answer(open(client, one.at('s'), { method: 'HEAD' }))).status, 405);
    });
  }

  test('large bodies in both directions, with and without a length', async (t) => {
    const one = await running(t, { s: echoServer('modern') }, { more: listening() });
    const client = await session(t, one.gateway.url);
    const large = 'x'.repeat(3 << 20);
    const request = modernPost('tools/call', { name: 'echo', _meta: { large } }, { id: 1 });
    const whole = await answer(open(client, one.at('s'), { ...request, headers: { ...request.headers, 'Content-Length': String(Buffer.byteLength(request.body)) } }));
    assert.equal(whole.status, 200);
    assert.ok(whole.text.length > 3 << 20);
    const parts = await answer(open(client, one.at('s'), request));
    assert.equal(parts.status, 200);
    assert.ok(parts.text.includes(large));
    const tooLarge = await answer(open(client, one.at('s'), { ...request, body: 'x'.repeat(9 << 20) }));
    assert.ok(tooLarge.status === 413 || tooLarge.reset !== undefined);
    assert.equal((await call(client, one.at('s'), 'echo')).status, 200, 'the connection goes on');
  });

  test('large answers cross between workers, one after the other on the same way', async (t) => {
    const servers = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, echoServer('modern')]));
    const one = await running(t, servers, { more: { ...listening(), workers: 3 } });
    const client = await session(t, one.gateway.url);
    const large = 'x'.repeat(400_000);
    for (let round = 0; round < 4; ++round) {
      const all = Object.keys(servers).map((name) => call(client, one.at(name), 'echo', {}, { _meta: { large } }));
      for (const { status, message } of await Promise.all(all)) {
        assert.equal(status, 200);
        assert.ok(message.result.content[0].text.includes(large));
      }
    }
  });

  for (const workers of [1, 3]) {
    test(`a stream that the client resets cancels its call, and a lost connection all (${workers} workers)`, async (t) => {
      const record = fixtureRecord(t);
      const one = await running(t, { a: fixture(record), b: fixture(record), c: fixture(record) }, { more: { ...listening(), workers } });
      const client = await session(t, one.gateway.url);
      const wait = (server, tag, more = {}) =>
        open(client, one.at(server), modernPost('tools/call', { name: 'test_wait', arguments: { tag }, ...more }, { id: 1 }));
      const streams = Object.fromEntries(['a', 'b', 'c'].map((server) => [server, wait(server, server)]));
      const streaming = wait('a', 'streaming', { _meta: { progressToken: 1 } });
      await Promise.all([...Object.keys(streams), 'streaming'].map((tag) => record.until({ event: 'started', tag })));
      streams.b.close(CANCEL);
      await record.until({ event: 'aborted', tag: 'b' });
      streaming.close(CANCEL);
      await record.until({ event: 'aborted', tag: 'streaming' });
      assert.equal(text(await call(client, one.at('c'), 'test_echo', { a: 1 })) !== undefined, true);
      assert.equal(record.events.filter(({ event }) => event === 'aborted').length, 2);
      client.destroy();
      await Promise.all(['a', 'c'].map((tag) => record.until({ event: 'aborted', tag })));
      assert.equal(record.events.filter(({ event }) => event === 'aborted').length, 4, 'each exactly once');
      await until(async () => (await one.calls()).length === 0, 'the end of all calls');
      assert.equal(await one.metric('lineward_http2_connections'), 0);
    });
  }

  test('a reset with any code is a leave: NO_ERROR, INTERNAL_ERROR, CANCEL', async (t) => {
    const record = fixtureRecord(t);
    const one = await running(t, { s: fixture(record) }, { more: listening() });
    const client = await session(t, one.gateway.url);
    for (const code of [0, 2, CANCEL]) {
      const tag = `code-${code}`;
      const stream = open(client, one.at('s'), modernPost('tools/call', { name: 'test_wait', arguments: { tag } }, { id: 1 }));
      await record.until({ event: 'started', tag });
      stream.close(code);
      await record.until({ event: 'aborted', tag });
    }
    assert.equal(record.events.filter(({ event }) => event === 'aborted').length, 3);
    assert.equal((await call(client, one.at('s'), 'test_echo')).status, 200);
  });

  test('thirty event streams beside calls on one connection, and the first event at once', async (t) => {
    const one = await running(t, { s: fixture(undefined) }, { more: listening({ keepAlive: '200ms' }) });
    const client = await session(t, one.gateway.url);
    const listen = () => {
      const request = modernPost('subscriptions/listen', { notifications: { toolsListChanged: true } }, { id: 7 });
      return open(client, one.at('s'), request);
    };
    const streams = Array.from({ length: 30 }, listen);
    const firsts = await Promise.all(streams.map(async (stream) => {
      const [headers] = await once(stream, 'response');
      const [chunk] = await once(stream, 'data');
      return { status: headers[':status'], chunk: String(chunk) };
    }));
    assert.ok(firsts.every(({ status, chunk }) => status === 200 && chunk.length > 0));
    const calls = await Promise.all(Array.from({ length: 60 }, () => call(client, one.at('s'), 'test_echo')));
    assert.ok(calls.every(({ status }) => status === 200));
    assert.equal((await one.calls()).length, 30);
    streams.forEach((stream) => stream.close(CANCEL));
    await until(async () => (await one.calls()).length === 0, 'their ends');
  });

  test('more streams than a connection or a client may have are refused, and may be tried again', async (t) => {
    const record = fixtureRecord(t);
    const one = await running(t, { s: fixture(record) }, { more: listening({ maxStreamsPerConnection: 4 }) });
    const client = await session(t, one.gateway.url);
    assert.equal(client.remoteSettings.maxConcurrentStreams, 4);
    const raw = await rawConnection(t, one.gateway.url);
    const post = fields({ ':method': 'POST', ':scheme': 'http', ':path': '/mcp', ':authority': '127.0.0.1', 'content-length': '9' });
    await raw.send(...[1, 3, 5, 7, 9].map((stream) => frame(HEADERS, END_HEADERS, stream, post)));
    await until(() => raw.frames.some(({ type }) => type === RST_STREAM), 'the refusal');
    const refused = raw.frames.filter(({ type }) => type === RST_STREAM);
    assert.deepEqual(refused.map(({ stream, payload }) => [stream, payload.readUInt32BE(0)]), [[9, REFUSED]]);
    const knowing = await rawConnection(t, one.gateway.url);
    await knowing.send(frame(SETTINGS, 1, 0)); // it has read the limit
    await knowing.send(...[1, 3, 5, 7, 9].map((stream) => frame(HEADERS, END_HEADERS, stream, post)));
    assert.equal(await knowing.ended, 1, 'PROTOCOL_ERROR');

    const few = await running(t, { s: fixture(record) }, { more: listening({ maxConnections: 4, maxPrincipalPercent: 100 }) });
    const other = await session(t, few.gateway.url);
    const wait = (tag) => open(other, few.at('s'), modernPost('tools/call', { name: 'test_wait', arguments: { tag } }, { id: 1 }));
    const three = ['1', '2', '3'].map(wait);
    await Promise.all(['1', '2', '3'].map((tag) => record.until({ event: 'started', tag })));
    assert.equal((await answer(wait('4'))).reset, REFUSED);
    three[0].close(CANCEL);
    await record.until({ event: 'aborted', tag: '1' });
    const again = await call(other, few.at('s'), 'test_echo', {});
    assert.equal(again.status, 200);
  });

  test('a drain announces its end, and serves the streams that are open', async (t) => {
    const record = fixtureRecord(t);
    const one = await running(t, { s: fixture(record) }, { more: listening(), stop: false });
    const client = await session(t, one.gateway.url);
    const goaway = once(client, 'goaway');
    const slow = call(client, one.at('s'), 'test_sleep', { ms: 1500, tag: 'slow' });
    await until(async () => (await one.calls()).length === 1, 'the call');
    const stopped = one.gateway.stop();
    await goaway;
    assert.equal(text(await slow), 'slow');
    await stopped;
  });

  test('a drain sends a whole answer to a client that reads slowly', async (t) => {
    const size = 16 << 20; // the kernel takes a part of it
    const done = (id) => JSON.stringify({ jsonrpc: '2.0', id, result: { content: [], text: 'x'.repeat(size), resultType: 'complete' } });
    const origin = await startOrigin(t, (request, response, { id }) => json(response, 200, done(id)));
    const server = { url: origin.url, protocolEra: 'modern' };
    const one = await running(t, { s: server }, { more: listening(), stop: false });
    const slow = await rawConnection(t, one.gateway.url);
    const { headers, body } = modernPost('tools/call', { name: 'large' }, { id: 1 });
    const names = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    const head = fields({ ':method': 'POST', ':scheme': 'http', ':path': new URL(one.at('s')).pathname, ':authority': '127.0.0.1', ...names });
    const window = Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff]); // of each stream, and below of the connection
    slow.socket.pause();
    await slow.send(frame(SETTINGS, 0, 0, window), frame(WINDOW_UPDATE, 0, 0, Buffer.from([0x7f, 0, 0, 0])), frame(HEADERS, END_HEADERS, 1, head), frame(DATA, END_STREAM, 1, Buffer.from(body)));
    await until(async () => origin.requests.some(({ message }) => message.method === 'tools/call') && (await one.calls()).length === 0, 'the end of the call');
    const stopped = one.gateway.stop();
    await sleep(4500); // idle connections are closed after one second, and a client has two seconds to close then
    slow.socket.resume();
    await slow.ended;
    const data = slow.frames.filter(({ type, stream }) => type === DATA && stream === 1);
    assert.ok(data.reduce((sum, { payload }) => sum + payload.length, 0) > size);
    assert.equal(data.at(-1).flags & END_STREAM, END_STREAM);
    await stopped;
  });

  test('without listen.http2 there is HTTP/1.1 alone', async (t) => {
    const one = await running(t, { s: plain() }, { more: listening({ http2: false, tls: { selfSigned: true } }) });
    const socket = connect({ host: '127.0.0.1', port: new URL(one.gateway.url).port, ALPNProtocols: ['h2', 'http/1.1'], rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    assert.equal(socket.alpnProtocol, 'http/1.1');
    socket.destroy();
    const bare = await running(t, { s: plain() }, { more: listening({ http2: false }) });
    const raw = await rawConnection(t, bare.gateway.url);
    assert.equal(await raw.ended, null);
  });
});

describe('hostile HTTP/2', { skip: DIRECT || NOT_PLAIN }, () => {
  for (const [name, { fault, frames }] of Object.entries(FLOODS)) {
    test(`${name}: the connection ends, and others notice nothing`, async (t) => {
      const one = await running(t, { s: echoServer('modern') }, { more: listening() });
      const innocent = await session(t, one.gateway.url);
      assert.equal((await call(innocent, one.at('s'), 'echo')).status, 200);
      const hostile = await rawConnection(t, one.gateway.url);
      let slowest = 0;
      let over = false;
      const calls = (async () => {
        while (!over) {
          const begun = performance.now();
          assert.equal((await call(innocent, one.at('s'), 'echo')).status, 200);
          slowest = Math.max(slowest, performance.now() - begun);
        }
      })();
      hostile.ended.then(() => (over = true));
      for (let n = 0; n < 200_000 && !over; n += 50)
        await hostile.send(...Array.from({ length: 50 }, (_, i) => frames(n + i)).flat());
      const code = await hostile.ended;
      await calls;
      assert.ok(code === CALM || code === null, `GOAWAY ${code}`);
      assert.ok((await one.metric(`lineward_http2_faults_total\\{fault="${fault}"\\}`)) > 0);
      console.log(`# ${name}: an innocent call took at most ${slowest.toFixed(0)} ms`);
      assert.equal((await call(innocent, one.at('s'), 'echo')).status, 200);
    });
  }

  test('a client that takes nothing of its answers holds back only itself', async (t) => {
    const one = await running(t, { s: echoServer('modern') }, { more: listening({ writeTimeout: '1s' }) });
    const hostile = await rawConnection(t, one.gateway.url);
    const request = modernPost('tools/call', { name: 'echo', _meta: { large: 'x'.repeat(200_000) } }, { id: 1 });
    const head = fields({ ':method': 'POST', ':scheme': 'http', ':path': '/mcp', ':authority': '127.0.0.1', ...Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k.toLowerCase(), v])) });
    await hostile.send(frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))); // no window
    const body = Buffer.from(request.body);
    const chunks = Array.from({ length: Math.ceil(body.length / 16384) }, (_, i) => body.subarray(i * 16384, (i + 1) * 16384));
    for (const stream of [1, 3, 5])
      await hostile.send(frame(HEADERS, END_HEADERS, stream, head), ...chunks.map((chunk, i) => frame(DATA, i === chunks.length - 1 ? END_STREAM : 0, stream, chunk)));
    const innocent = await session(t, one.gateway.url);
    assert.equal((await call(innocent, one.at('s'), 'echo')).status, 200);
    await until(() => hostile.frames.filter(({ type }) => type === RST_STREAM).length === 3, 'the ends of its streams');
    assert.ok(hostile.frames.every(({ type }) => type !== DATA));
  });

  test('a connection that says nothing is closed', async (t) => {
    const one = await running(t, { s: plain() }, { more: listening({ headTimeout: '300ms', idleTimeout: '600ms' }) });
    const idle = await rawConnection(t, one.gateway.url);
    assert.equal(await idle.ended, 0);
    const half = await rawConnection(t, one.gateway.url);
    await half.send(frame(HEADERS, 0, 1, refusedGet()));
    assert.equal(await half.ended, CALM);
  });
});
