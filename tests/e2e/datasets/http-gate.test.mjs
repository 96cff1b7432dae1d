// The public sets of malformed and ambiguous HTTP requests, through the real binary in front of an HTTP server that
// records every byte. For any input it gets Lineward's own request, framed once, or nothing. Each file is sent as it
// is, and once more in a request that would be forwarded, with a second request hidden in its body.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { startGatewayTo } from '../lib/gateway.mjs';
import { bytesOf, corpus } from './bench.mjs';

const META = 'io.modelcontextprotocol/';
const _meta = { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientCapabilities`]: {} };
const call = (id, name) => JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, _meta } });
const LIMIT = { timeout: 120_000 };

/** A strict reading of the origin's bytes: whole requests with Content-Length, nothing else. */
function readStrictly(bytes) {
  const requests = [];
  let rest = bytes.toString('latin1');
  while (rest.length) {
    const end = rest.indexOf('\r\n\r\n');
    assert.ok(end > 0, `a head without an end: ${JSON.stringify(rest.slice(0, 200))}`);
    const [line, ...fields] = rest.slice(0, end).split('\r\n');
    assert.match(line, /^(POST|GET) \/mcp HTTP\/1\.1$/);
    assert.doesNotMatch(rest.slice(0, end).replaceAll('\r\n', ''), /[\r\n\0]/, 'a bare CR, LF or NUL in the head');
    const headers = new Map();
    for (const field of fields) {
      const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?(.*)$/.exec(field) ?? assert.fail(`not a field: ${JSON.stringify(field)}`);
      assert.ok(!headers.has(name.toLowerCase()), `${name} stands there twice`);
      headers.set(name.toLowerCase(), value);
    }
    for (const name of ['transfer-encoding', 'te', 'trailer', 'upgrade', 'expect', 'connection', 'keep-alive'])
      assert.ok(!headers.has(name) || (name === 'connection' && /^(close|keep-alive)$/i.test(headers.get(name))), `${name}: ${headers.get(name)}`);
    const length = Number(headers.get('content-length') ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    assert.equal(body.length, length, 'a body shorter than it says');
    requests.push({ line, headers, message: body ? JSON.parse(body) : undefined });
    rest = rest.slice(end + 4 + length);
  }
  return requests;
}

/** An origin that records bytes and answers every request that its strict reader finds. */
async function startRecorder() {
  const connections = [];
  const server = createServer((socket) => {
    const record = { bytes: Buffer.alloc(0), answered: 0 };
    connections.push(record);
    socket.on('error', () => {}).on('data', (chunk) => {
      record.bytes = Buffer.concat([record.bytes, chunk]);
      const text = record.bytes.toString('latin1');
      let at = 0;
      for (let n = 0; ; ++n) {
        const end = text.indexOf('\r\n\r\n', at);
        if (end < 0) return;
        const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(at, end))?.[1] ?? 0);
        if (text.length < end + 4 + length) return;
        const body = text.slice(end + 4, end + 4 + length);
        at = end + 4 + length;
        if (n < record.answered) continue;
        record.answered = n + 1;
        let message;
        try {
          message = JSON.parse(body);
        } catch {
          message = {};
        }
        const result =
          message.method === 'server/discover'
            ? { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' }
            : { resultType: 'complete', content: [] };
        const answer = JSON.stringify({ jsonrpc: '2.0', id: message.id ?? null, result });
        socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(answer)}\r\n\r\n${answer}`);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    // Lineward's own question, which era this is, aside.
    requests: () => connections.flatMap(({ bytes }) => readStrictly(bytes)).filter(({ message }) => message?.method !== 'server/discover'),
    close: () => server.close(),
  };
}

/** Sends bytes on a connection of its own; resolves with all that comes back, when it closes or is quiet (`first`: at first). */
function exchange(port, bytes, { first = 600, quiet = 150 } = {}) {
  return new Promise((resolve) => {
    let got = '';
    let closed = false;
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    let timer = setTimeout(() => socket.destroy(), first);
    socket.setEncoding('latin1').on('data', (text) => {
      got += text;
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), quiet);
    });
    socket.on('end', () => (closed = true)).on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve({ statuses: [...got.matchAll(/HTTP\/1\.[01] (\d{3})/g)].map(([, status]) => Number(status)), closed });
    });
  });
}

const SETS = ['smuggler-te', 'llhttp', 'http11probe'];
const rowsOf = (set) => corpus(set).filter((row) => row.kind === undefined || row.kind === 'request');

/**
 * The head lines of a file in a request that Lineward would forward, were it not for them. The body's length is that of
 * the last chunk, behind which the second request hides from parsers of `chunked`, or the other way round.
 */
function carrying(file) {
  const text = bytesOf(file);
  const lines = text.split(/\r?\n\r?\n/)[0].split('\r\n').slice(1);
  const odd = lines.filter((line) => /transfer|encoding|content-?length|chunked|connection|expect|upgrade/i.test(line) || /^\s/.test(line));
  const hidden = call(666, 'hidden');
  const inner = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`;
  const outer = call(1, 'outer');
  const chunked = `${outer.length.toString(16)}\r\n${outer}\r\n0\r\n\r\n${inner}`;
  const fields = [
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    'MCP-Protocol-Version: 2026-07-28',
    'Mcp-Method: tools/call',
    'Mcp-Name: outer',
    ...odd,
  ];
  const some = odd.some((line) => /^content-length *:/i.test(line)) ? [] : [`Content-Length: ${chunked.length}`];
  return (`POST /mcp HTTP/1.1\r\n${[...fields, ...some].join('\r\n')}\r\n\r\n${chunked}`);
}

describe('ambiguous requests before a recording origin', () => {
  let origin;
  let gateway;
  let port;
  const cleanups = [];
  before(async () => {
    origin = await startRecorder();
    gateway = await startGatewayTo({ after: (work) => cleanups.push(work) }, { url: origin.url });
    port = Number(new URL(gateway.url).port);
  }, LIMIT);
  after(async () => {
    for (const work of cleanups.toReversed()) await work();
    origin?.close();
  }, LIMIT);

  for (const set of SETS) {
    it(`${set}: as they are`, LIMIT, async () => {
      const rows = rowsOf(set);
      assert.ok(rows.length >= 120);
      const before = origin.requests().length;
      for (let at = 0; at < rows.length; at += 32) {
        await Promise.all(
          rows.slice(at, at + 32).map(async (row) => {
            const isAnswered = row.expected === 'reject' && set === 'smuggler-te';
            const { statuses } = await exchange(port, bytesOf(row.path), isAnswered ? { first: 20_000 } : {});
            // None of them is a call: each answer is a refusal.
            assert.ok(statuses.every((status) => status >= 400 || status === 100), `${row.file}: ${statuses}`);
            if (isAnswered) assert.deepEqual(statuses, [400], row.file);
          }),
        );
      }
      assert.equal(origin.requests().length, before, 'nothing of it was forwarded');
    });

    it(`${set}: around a call that hides another`, LIMIT, async () => {
      const rows = rowsOf(set);
      for (let at = 0; at < rows.length; at += 32)
        await Promise.all(rows.slice(at, at + 32).map((row) => exchange(port, carrying(row.path))));
      const names = origin.requests().map(({ message }) => message?.params?.name);
      assert.ok(!names.includes('hidden'), 'a hidden request was forwarded');
    });
  }

  it('a call in order still passes, framed anew', LIMIT, async () => {
    const body = call(7, 'in-order');
    const head =
      'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n' +
      'Mcp-Method: tools/call\r\nMcp-Name: in-order\r\nTransfer-Encoding: chunked\r\nX-Odd: 1\r\nConnection: x-odd, keep-alive\r\n\r\n';
    const half = Math.floor(body.length / 2);
    const chunks = [body.slice(0, half), body.slice(half)].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('');
    const { statuses } = await exchange(port, `${head}${chunks}0\r\n\r\n`, { first: 20_000 });
    assert.deepEqual(statuses, [200]);
    const forwarded = origin.requests().find(({ message }) => message?.params?.name === 'in-order');
    assert.ok(forwarded && !forwarded.headers.has('x-odd') && forwarded.headers.has('content-length'));
  });
});
