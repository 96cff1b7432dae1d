// Traces: a collector of the test's own sees the spans of client → Lineward → server.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { echoServer } from '../lib/echo-server.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { eventually, get, opsOf } from '../lib/operator.mjs';
import { collector, pair } from '../lib/otlp.mjs';
import { answer, beginEvents, call, event, json, rawCall, startOrigin } from '../lib/raw-origin.mjs';
import { legacyFixture } from '../lib/servers.mjs';
import { DIRECT, legacyClient, modernClient } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const quiet = ['--ops', '127.0.0.1:0', '--admin', 'off'];
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const parentOf = (flags = '01', trace = TRACE, span = PARENT) => `00-${trace}-${span}-${flags}`;

async function start(t, trace, { serve, env, plugins = [], server = {} } = {}) {
  const ok = (_, response, message) => json(response, 200, answer(message.id, { content: [], resultType: 'complete' }));
  const origin = await startOrigin(t, serve ?? ok);
  const gateway = await startGatewayFrom(
    t,
    { plugins: [{ trace: { interval: '20ms', ...trace } }, ...plugins], mcpServers: { up: { url: origin.url, protocolEra: 'modern', ...server } } },
    { args: quiet, env },
  );
  const last = () => origin.requests.filter(({ message }) => message?.method !== 'server/discover').at(-1);
  return { ...gateway, origin, last };
}
const parse = (traceparent) => traceparent.split('-');

describe('traces', { skip: DIRECT }, () => {
  test('client, Lineward and server are one trace, with a real client', async (t) => {
    const otlp = await collector(t);
    const gateway = await start(t, { endpoint: `${otlp.url}/v1/traces`, headers: { 'X-Key': 'k' } });
    const client = await modernClient(t, gateway);
    await client.callTool({ name: 'search', arguments: { q: 'private words' }, _meta: { traceparent: parentOf(), tracestate: 'a=1', baggage: 'b=2' } });
    const [server, up] = await pair(otlp, TRACE);
    assert.equal(server.parentSpanId, PARENT);
    assert.equal(up.parentSpanId, server.spanId);
    const { message, headers } = gateway.last();
    assert.deepEqual(parse(message.params._meta.traceparent), ['00', TRACE, up.spanId, '01']);
    assert.equal(headers.traceparent, message.params._meta.traceparent);
    assert.deepEqual([message.params._meta.tracestate, message.params._meta.baggage, headers.tracestate], ['a=1', 'b=2', 'a=1']);
    assert.equal(server.name, 'tools/call search');
    const { attributes } = server;
    assert.equal(attributes['mcp.method.name'], 'tools/call');
    assert.equal(attributes['gen_ai.tool.name'], 'search');
    assert.equal(attributes['gen_ai.operation.name'], 'execute_tool');
    assert.equal(attributes['mcp.protocol.version'], '2026-07-28');
    assert.equal(attributes['network.transport'], 'tcp');
    assert.equal(attributes['lineward.reason'], 'ok');
    assert.equal(up.attributes['server.address'], '127.0.0.1');
    assert.deepEqual([up.attributes['network.protocol.name'], up.attributes['network.protocol.version']], ['http', '1.1']);
    assert.equal(server.resource['service.name'], 'lineward');
    assert.ok(BigInt(server.startTimeUnixNano) <= BigInt(up.startTimeUnixNano));
    assert.equal(otlp.requests[0].headers['x-key'], 'k');
    assert.doesNotMatch(JSON.stringify(otlp.requests), /private words/);
    await eventually(() => new RegExp(`call\\.end.*trace_id=${TRACE} span_id=${server.spanId}`).test(gateway.stderr()), 'a line in the log');
  });

  test('arguments and results of tools are in the spans where they are wanted, after redact', async (t) => {
    const otlp = await collector(t);
    const gateway = await start(t, { endpoint: `${otlp.url}/v1/traces`, arguments: true, results: true }, {
      serve: (_, response, message) => json(response, 200, answer(message.id, { content: [{ type: 'text', text: 'hunter2 was found' }], resultType: 'complete' })),
      plugins: [{ redact: { patterns: ['hunter2'] } }],
    });
    await call(gateway.url, 'tools/call', { name: 'search', arguments: { q: 'private words, hunter2' }, _meta: { traceparent: parentOf() } });
    const [server] = await pair(otlp, TRACE);
    assert.match(server.attributes['gen_ai.tool.call.arguments'], /private words/);
    assert.match(server.attributes['gen_ai.tool.call.result'], /was found/);
    assert.doesNotMatch(JSON.stringify(otlp.requests), /hunter2/);
  });

  test('the header is the parent where _meta has none, else a link', async (t) => {
    const otlp = await collector(t);
    const gateway = await start(t, { endpoint: `${otlp.url}/v1/traces` });
    const other = { traceparent: parentOf('01', '1'.repeat(32), '2'.repeat(16)), tracestate: 'h=1' };
    await call(gateway.url, 'tools/call', { name: 'x' }, { headers: other });
    const [byHeader] = await pair(otlp, '1'.repeat(32));
    assert.equal(byHeader.parentSpanId, '2'.repeat(16));
    assert.equal(gateway.last().message.params._meta.tracestate, 'h=1');
    await call(gateway.url, 'tools/call', { name: 'x', _meta: { traceparent: parentOf() } }, { headers: other });
    const [byMeta] = await pair(otlp, TRACE);
    assert.equal(byMeta.parentSpanId, PARENT);
    assert.deepEqual(byMeta.links, [{ traceId: '1'.repeat(32), spanId: '2'.repeat(16) }]);
    assert.equal(gateway.last().message.params._meta.tracestate, undefined);
  });

  test('what is no trace context begins a new trace, and its state goes', async (t) => {
    const otlp = await collector(t);
    const gateway = await start(t, { endpoint: `${otlp.url}/v1/traces` });
    const bad = ['', 'x', parentOf('01', '0'.repeat(32)), parentOf('01', TRACE, '0'.repeat(16)), parentOf().toUpperCase(), `ff${parentOf().slice(2)}`, `${parentOf()}-x`];
    for (const traceparent of bad) {
      await call(gateway.url, 'tools/call', { name: 'x', _meta: { traceparent, tracestate: 'a=1' } });
      const { _meta } = gateway.last().message.params;
      assert.match(_meta.traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
      assert.notEqual(parse(_meta.traceparent)[1], TRACE);
      assert.equal(_meta.tracestate, undefined);
    }
    const later = `01${parentOf().slice(2)}-more`;
    await call(gateway.url, 'tools/call', { name: 'x', _meta: { traceparent: later } });
    assert.equal(parse(gateway.last().message.params._meta.traceparent)[1], TRACE);
  });

  test('a parent that is not sampled makes no span, and is passed on as it is', async (t) => {
    const otlp = await collector(t);
    const gateway = await start(t, { endpoint: `${otlp.url}/v1/traces` });
    await call(gateway.url, 'tools/call', { name: 'x', _meta: { traceparent: parentOf('00') } });
    assert.deepEqual(parse(gateway.last().message.params._meta.traceparent).filter((_, i) => i !== 2), ['00', TRACE, '00']);
    const after = '3'.repeat(32);
    await call(gateway.url, 'tools/call', { name: 'x', _meta: { traceparent: parentOf('01', after) } });
    await pair(otlp, after);
    assert.equal(otlp.spans.items.filter(({ traceId }) => traceId === TRACE).length, 0);
  });

  test('failures have a type; the side at fault decides the status of the server span', async (t) => {
    const otlp = await collector(t);
    const serve = (_, response, message) => {
      const { name } = message.params;
      const error = { jsonrpc: '2.0', id: message.id, error: { code: name === 'params' ? -32602 : -32603, message: 'no' } };
      json(response, 200, name === 'tool' ? answer(message.id, { content: [], isError: true, resultType: 'complete' }) : JSON.stringify(error));
    };
    const gateway = await start(t, { endpoint: `${otlp.url}/v1/traces` }, { serve });
    let n = 4;
    for (const [name, type, server, client] of [['params', '-32602', undefined, 2], ['internal', '-32603', 2, 2], ['tool', 'tool_error', 2, 2]]) {
      const trace = String(n++).repeat(32);
      await call(gateway.url, 'tools/call', { name, _meta: { traceparent: parentOf('01', trace) } });
      const [one, two] = await pair(otlp, trace);
      assert.deepEqual([one.attributes['error.type'], one.status.code, two.status.code], [type, server, client], name);
    }
  });

  test('a collector that is busy is asked again; the environment names it', async (t) => {
    const otlp = await collector(t, { refuse: [503, 429] });
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url, OTEL_SERVICE_NAME: 'edge', OTEL_RESOURCE_ATTRIBUTES: 'k8s.pod.name=p%201,service.name=no', OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20t0p' };
    const gateway = await start(t, {}, { env });
    await call(gateway.url, 'tools/call', { name: 'x', _meta: { traceparent: parentOf() } });
    const [server] = await pair(otlp, TRACE);
    const { 'service.instance.id': instance, ...resource } = server.resource;
    assert.deepEqual(resource, { 'k8s.pod.name': 'p 1', 'service.name': 'edge' });
    assert.ok(instance);
    assert.equal(otlp.requests.length, 3);
    assert.equal(otlp.requests[0].url, '/v1/traces');
    assert.equal(otlp.requests[0].headers.authorization, 'Bearer t0p');
    assert.doesNotMatch(gateway.stderr(), /t0p/);
  });

  test('an absent collector does not hold up calls, and the queue is bounded', async (t) => {
    // Each worker has a queue of its own.
    const gateway = await start(t, { endpoint: 'http://127.0.0.1:9/v1/traces', queue: 4, batch: 2 }, { server: { workers: 'one' } });
    for (let i = 0; i < 30; ++i) assert.ok((await call(gateway.url, 'tools/call', { name: 'x' })).message.result);
    await eventually(() => /trace\.export.*cannot be reached/.test(gateway.stderr()), 'a line in the log');
    const { body } = await get(opsOf(gateway), '/metrics');
    assert.match(body, /lineward_trace_queued\{plugin="trace"\} 4\n/);
    assert.match(body, /lineward_trace_spans_total\{plugin="trace",outcome="dropped"\} 56\n/);
  });

  const traced = async (t, mcpServers) => {
    const otlp = await collector(t);
    const plugins = [{ trace: { interval: '20ms', endpoint: `${otlp.url}/v1/traces` } }];
    return { otlp, ...(await startGatewayFrom(t, { plugins, mcpServers }, { args: quiet })) };
  };
  const metaOf = ({ content }) => JSON.parse(content[0].text);

  for (const era of ['modern', 'legacy']) {
    test(`a ${era} server on stdio gets its parent in _meta`, async (t) => {
      const { otlp, ...gateway } = await traced(t, { up: echoServer(era) });
      for (const [client, trace] of [[await modernClient(t, gateway), '5'], [await legacyClient(t, gateway), '6']]) {
        const id = trace.repeat(32);
        const result = await client.callTool({ name: 'echo', arguments: {}, _meta: { traceparent: parentOf('01', id), tracestate: 'a=1', baggage: 'b=2' } });
        const [server, up] = await pair(otlp, id);
        assert.equal(server.parentSpanId, PARENT);
        assert.equal(up.parentSpanId, server.spanId);
        assert.equal(up.attributes['network.transport'], 'pipe');
        const { traceparent, tracestate, baggage } = metaOf(result);
        assert.deepEqual([parse(traceparent), tracestate, baggage], [['00', id, up.spanId, '01'], 'a=1', 'b=2']);
      }
    });
  }

  test('a legacy client says it in a header: the server gets both forms', async (t) => {
    const otlp = await collector(t);
    const gateway = await start(t, { endpoint: `${otlp.url}/v1/traces` });
    const id = '7'.repeat(32);
    const post = (body, headers = {}) =>
      fetch(gateway.url, {
        method: 'POST',
        headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', ...body }),
      });
    const opened = await post({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } } });
    await opened.text();
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id'), 'mcp-protocol-version': '2025-11-25' };
    await (await post({ method: 'notifications/initialized' }, session)).text();
    await (await post({ id: 2, method: 'tools/call', params: { name: 'x' } }, { ...session, traceparent: parentOf('01', id) })).text();
    const [server, up] = await pair(otlp, id);
    assert.equal(server.parentSpanId, PARENT);
    assert.equal(server.attributes['mcp.protocol.version'], '2025-11-25');
    const { message, headers } = gateway.last();
    assert.deepEqual(parse(message.params._meta.traceparent), ['00', id, up.spanId, '01']);
    assert.equal(headers.traceparent, message.params._meta.traceparent);
  });

  test('several servers as one: a call, and a list that all are asked for, are one trace each', async (t) => {
    const serve = (_, response, message) => {
      const tools = [{ name: 'x', inputSchema: { type: 'object' } }];
      const result = message.method === 'tools/list' ? { tools, ttlMs: 0, cacheScope: 'private' } : { content: [] };
      json(response, 200, answer(message.id, { ...result, resultType: 'complete' }));
    };
    const origin = await startOrigin(t, serve);
    const { otlp, ...gateway } = await traced(t, { one: { url: origin.url, protocolEra: 'modern' }, two: echoServer('legacy') });
    const together = gateway.url.replace(/\/mcp\/.*$/, '/mcp');
    const [first, second] = ['8'.repeat(32), '9'.repeat(32)];
    const of = (method) => origin.requests.filter(({ message }) => message?.method === method).at(-1);
    await call(together, 'tools/call', { name: 'one__x', _meta: { traceparent: parentOf('01', first) } });
    const [, up] = await pair(otlp, first);
    assert.equal(up.attributes['lineward.upstream'], 'one');
    const { message, headers } = of('tools/call');
    assert.deepEqual(parse(message.params._meta.traceparent), ['00', first, up.spanId, '01']);
    assert.equal(headers.traceparent, message.params._meta.traceparent);
    const { message: listed } = await call(together, 'tools/list', { _meta: { traceparent: parentOf('01', second) } });
    await otlp.spans.until(({ traceId }) => traceId === second, 'the span of the list');
    assert.equal(parse(of('tools/list').message.params._meta.traceparent)[1], second);
    assert.equal(parse(of('tools/list').headers.traceparent)[1], second);
    const echoed = listed.result.tools.find(({ name }) => name === 'two__echo');
    assert.equal(parse(JSON.parse(echoed.description).traceparent)[1], second);
  });

  const rounds = {
    'a legacy server': () => [{ up: { command: legacyFixture()[0], args: legacyFixture().slice(1) } }, 'test_elicitation', {}],
    'a modern server': async (t) => {
      const serve = (_, response, message) => {
        const again = message.params.requestState === 'its own state';
        const asks = { resultType: 'input_required', requestState: 'its own state', inputRequests: { q: { method: 'elicitation/create', params: { message: 'who?', requestedSchema: { type: 'object', properties: {} } } } } };
        json(response, 200, answer(message.id, again ? { content: [], resultType: 'complete' } : asks));
      };
      return [{ up: { url: (await startOrigin(t, serve)).url, protocolEra: 'modern' } }, 'x', {}];
    },
  };
  for (const [asker, make] of Object.entries(rounds)) {
    test(`a retry of a call in which ${asker} asked something is of the call's trace`, async (t) => {
      const [servers, name, args] = await make(t);
      const { otlp, ...gateway } = await traced(t, servers);
      const id = 'a'.repeat(32);
      const capabilities = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
      const first = await call(gateway.url, 'tools/call', { name, arguments: args, _meta: { traceparent: parentOf('01', id), tracestate: 'a=1', ...capabilities } });
      assert.equal(first.message.result?.resultType, 'input_required', JSON.stringify(first.message));
      const { requestState, inputRequests } = first.message.result;
      const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, { action: 'decline' }]));
      const [asked] = await pair(otlp, id);
      assert.equal(asked.attributes['lineward.reason'], 'input_required');
      await call(gateway.url, 'tools/call', { name, arguments: args, requestState, inputResponses, _meta: capabilities }, { id: 2 });
      const retry = await otlp.spans.until((one) => one.kind === 2 && one.parentSpanId === asked.spanId, 'the span of the retry');
      assert.equal(retry.traceId, id);
      assert.equal(retry.traceState, 'a=1');
      // A span that names its parent stays there, with a link.
      const own = 'b'.repeat(32);
      await call(gateway.url, 'tools/call', { name, arguments: args, requestState, inputResponses, _meta: { ...capabilities, traceparent: parentOf('01', own) } }, { id: 3 });
      const linked = await otlp.spans.until((one) => one.kind === 2 && one.traceId === own, 'the span of the other retry');
      assert.deepEqual(linked.links, [{ traceId: id, spanId: asked.spanId }]);
    });
  }

  test('what a legacy client is asked for a modern server is of its call\'s trace', async (t) => {
    const otlp = await collector(t);
    const serve = (_, response, message) => {
      const asks = { resultType: 'input_required', requestState: 's', inputRequests: { q: { method: 'roots/list', params: {} } } };
      json(response, 200, answer(message.id, message.params.requestState ? { content: [], resultType: 'complete' } : asks));
    };
    const gateway = await start(t, { endpoint: `${otlp.url}/v1/traces` }, { serve });
    const id = 'e'.repeat(32);
    const requests = [[ListRootsRequestSchema, () => ({ roots: [] })]];
    const client = await legacyClient(t, gateway, { capabilities: { roots: {} }, requests });
    await client.callTool({ name: 'x', arguments: {}, _meta: { traceparent: parentOf('01', id) } });
    const [, up] = await pair(otlp, id);
    const asked = gateway.origin.requests.filter(({ message }) => message?.method === 'tools/call');
    assert.equal(asked.length, 2);
    for (const { message, headers } of asked) {
      assert.deepEqual(parse(message.params._meta.traceparent), ['00', id, up.spanId, '01']);
      assert.equal(headers.traceparent, message.params._meta.traceparent);
    }
  });

  test('a call that its client leaves, and a listen, are told when they end', async (t) => {
    const otlp = await collector(t);
    let listening;
    const listens = new Promise((resolve) => (listening = resolve));
    const serve = (_, response, message) => {
      if (message.method !== 'subscriptions/listen') return;
      beginEvents(response);
      const _meta = { 'io.modelcontextprotocol/subscriptionId': message.id };
      response.write(event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: { notifications: { toolsListChanged: true }, _meta } }));
      listening();
    };
    const gateway = await start(t, { endpoint: `${otlp.url}/v1/traces` }, { serve });
    for (const [method, params, trace] of [
      ['tools/call', { name: 'x' }, 'c'],
      ['subscriptions/listen', { notifications: { toolsListChanged: true } }, 'd'],
    ]) {
      const id = trace.repeat(32);
      const socket = await rawCall(t, gateway.url, 1, method, { ...params, _meta: { traceparent: parentOf('01', id) } });
      await eventually(() => gateway.last()?.message.method === method, `${method} at the server`);
      if (method !== 'tools/call') await listens;
      assert.equal(parse(gateway.last().message.params._meta.traceparent)[1], id);
      socket.destroy();
      const [server, up] = await pair(otlp, id);
      assert.equal(server.attributes['lineward.reason'], 'cancelled_client');
      assert.equal(up.parentSpanId, server.spanId);
      assert.ok(up.events.some(({ name }) => name === 'lineward.cancel_sent'));
    }
  });
});
