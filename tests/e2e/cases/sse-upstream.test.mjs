// Lineward in front of servers that speak HTTP+SSE (2024-11-05), which the SDKs still have.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { fixtureRecord } from '../lib/events.mjs';
import { startGatewayTo, startListener } from '../lib/gateway.mjs';
import { answer, beginEvents, call, event, gatewayError, json, startOrigin } from '../lib/raw-origin.mjs';
import { legacyFixture } from '../lib/servers.mjs';
import { DIRECT, legacyClient, modernClient, reasonOf, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

async function sseServer(t, options = {}) {
  const record = fixtureRecord(t);
  const [command, ...args] = legacyFixture('--sse', '0');
  const server = await startListener(command, args, { env: record.env, strict: false });
  t.after(() => server.stop());
  const gateway = await startGatewayTo(t, { url: server.url, ...options });
  const opened = () => record.events.filter(({ event }) => event === 'stream').length;
  return { record, gateway, opened, cut: () => fetch(`${server.url}?cut`, { method: 'POST' }) };
}

describe('HTTP+SSE servers', { skip: DIRECT }, () => {
  for (const options of [{}, { type: 'sse' }]) {
    const kind = options.type ? 'named in the file' : 'found out';

    test(`${kind}: SDK 1.x client, calls, progress, questions`, async (t) => {
      const { gateway, opened } = await sseServer(t, options);
      const client = await legacyClient(t, gateway, {
        capabilities: { elicitation: {}, sampling: {}, roots: {} },
        requests: [[types.ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } })]],
      });
      const other = await legacyClient(t, gateway);
      assert.match(client.getServerVersion().name, /fixture-legacy/);
      assert.ok((await client.listTools()).tools.length > 5);
      const steps = [];
      const onprogress = ({ progress }) => steps.push(progress);
      await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, undefined, { onprogress });
      assert.deepEqual(steps, [0, 50, 100]);
      const many = await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          (i % 2 ? client : other).callTool({ name: 'test_sleep', arguments: { ms: i % 7, tag: `t${i}` } }),
        ),
      );
      assert.deepEqual(many.map(textOf), many.map((_, i) => `t${i}`));
      assert.equal(opened(), 2, 'a stream for each session');
      const asked = await client.callTool({ name: 'test_elicitation', arguments: { message: 'Who?' } });
      assert.match(textOf(asked), /Ada/);
      await assert.rejects(client.readResource({ uri: 'test://none' }), /not found/i);
    });

    test(`${kind}: SDK 2.x client, by translation`, async (t) => {
      const { gateway, opened, record } = await sseServer(t, options);
      const client = await modernClient(t, gateway);
      assert.match(client.getServerVersion().name, /fixture-legacy/);
      const calls = Array.from({ length: 20 }, (_, i) =>
        client.callTool({ name: 'test_sleep', arguments: { ms: 5, tag: `m${i}` } }),
      );
      assert.deepEqual((await Promise.all(calls)).map(textOf), calls.map((_, i) => `m${i}`));
      assert.equal(opened(), 1);
      const abort = new AbortController();
      const waiting = client.callTool({ name: 'test_wait', arguments: { tag: 'w' } }, { signal: abort.signal });
      const outcome = assert.rejects(waiting);
      await record.until({ event: 'started', tag: 'w' });
      abort.abort('enough');
      await outcome;
      await record.until({ event: 'aborted', tag: 'w' });
      assert.equal(textOf(await client.callTool({ name: 'test_sleep', arguments: { ms: 1, tag: 'on' } })), 'on');
    });
  }

  test('an aborted call is cancelled at the server; the stream stays', async (t) => {
    const { gateway, opened, record } = await sseServer(t);
    const client = await legacyClient(t, gateway);
    const abort = new AbortController();
    const waiting = client.callTool({ name: 'test_wait', arguments: { tag: 'a' } }, undefined, { signal: abort.signal });
    const outcome = assert.rejects(waiting, /changed my mind/);
    await record.until({ event: 'started', tag: 'a' });
    abort.abort('changed my mind');
    await outcome;
    assert.match((await record.until({ event: 'aborted', tag: 'a' })).reason, /changed my mind/);
    assert.equal(textOf(await client.callTool({ name: 'test_sleep', arguments: { ms: 1, tag: 'b' } })), 'b');
    assert.equal(opened(), 1);
  });

  test('a lost stream fails what is in flight at once; later calls get a new session', async (t) => {
    const { gateway, opened, record, cut } = await sseServer(t);
    const legacy = await legacyClient(t, gateway);
    const modern = await modernClient(t, gateway);
    await modern.listTools();
    const call = (client, tag) => client.callTool({ name: 'test_wait', arguments: { tag } });
    const failed = [legacy, modern].map((client, i) =>
      assert.rejects(call(client, `lost${i}`), (error) => {
        assert.equal(error.code, 502);
        assert.equal(reasonOf(error), 'upstream_exited');
        return true;
      }),
    );
    await record.until({ event: 'started', tag: 'lost0' });
    await record.until({ event: 'started', tag: 'lost1' });
    assert.equal(opened(), 2);
    await cut();
    await Promise.all(failed);
    for (const client of [legacy, modern]) {
      assert.equal(textOf(await client.callTool({ name: 'test_sleep', arguments: { ms: 1, tag: 'new' } })), 'new');
    }
    assert.equal(opened(), 4);
  });

  for (const [what, first, text] of [
    ['on another origin', 'event: endpoint\ndata: http://127.0.0.1:1/messages\n\n', /another origin/],
    ['that is too long', `event: endpoint\ndata: /${'a'.repeat(9000)}\n\n`, /longer than/],
    ['never', ': nothing yet\n\n', /named no endpoint/],
  ]) {
    test(`an endpoint ${what} is not used`, async (t) => {
      const origin = await startOrigin(
        t,
        (request, response) =>
          request.method === 'GET' ? beginEvents(response).write(first) : response.writeHead(405).end(),
        { era: 'none' },
      );
      const gateway = await startGatewayTo(t, { url: origin.url, type: 'sse', timeouts: { startup: '1s' } });
      const failed = gatewayError(await call(gateway.url, 'tools/call', { name: 'x' }));
      assert.ok(failed.reason === 'timeout_startup' || failed.reason === 'upstream_protocol', failed.reason);
      assert.ok(text.test(failed.text) || failed.reason === 'timeout_startup', failed.text);
      assert.ok(origin.requests.every(({ method }) => method === 'GET'));
    });
  }

  test('a server that knows neither: its refusal of initialize reaches the client', async (t) => {
    const origin = await startOrigin(
      t,
      (request, response, message) =>
        request.method === 'GET'
          ? response.writeHead(405).end()
          : json(response, 400, JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32099, message: 'not you' } })),
      { era: 'none' },
    );
    const gateway = await startGatewayTo(t, { url: origin.url, protocolEra: 'legacy' });
    await assert.rejects(legacyClient(t, gateway), /not you/);
    assert.deepEqual(origin.requests.slice(0, 2).map(({ method }) => method), ['POST', 'GET']);
  });

  test('a POST that the server refuses fails its call; another goes on', async (t) => {
    let stream;
    const origin = await startOrigin(
      t,
      (request, response, message) => {
        if (request.method === 'GET') {
          stream = beginEvents(response);
          return stream.write('event: endpoint\ndata: ?s=1\n\n');
        }
        if (!request.url.includes('?s=1')) return response.writeHead(404).end();
        if (message.params?.name === 'refused') return response.writeHead(500).end('no');
        response.writeHead(200, { 'content-type': 'text/plain' }).end('Accepted, as some say');
        const result =
          message.method === 'initialize'
            ? { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } }
            : { content: [{ type: 'text', text: message.params?.name ?? '' }] };
        return message.id === undefined || stream.write(event(answer(message.id, result)));
      },
      { era: 'none' },
    );
    const gateway = await startGatewayTo(t, { url: origin.url });
    const client = await legacyClient(t, gateway);
    const refused = await client.callTool({ name: 'refused', arguments: {} }).catch((error) => error);
    assert.equal(reasonOf(refused), 'upstream_protocol');
    assert.equal(textOf(await client.callTool({ name: 'next', arguments: {} })), 'next');
  });
});
