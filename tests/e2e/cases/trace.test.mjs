// Traces: a collector of the test's own sees the spans of client → Lineward → server.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { describe } from 'node:test';
import { Inbox } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { eventually, get, opsOf } from '../lib/operator.mjs';
import { answer, call, json, startOrigin } from '../lib/raw-origin.mjs';
import { DIRECT, modernClient } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const quiet = ['--ops', '127.0.0.1:0', '--admin', 'off'];
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const parentOf = (flags = '01', trace = TRACE, span = PARENT) => `00-${trace}-${span}-${flags}`;

/** An OTLP receiver: spans as they come, attributes as an object. */
async function collector(t, { refuse = [] } = {}) {
  const spans = new Inbox();
  const requests = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks));
    requests.push({ url: request.url, headers: request.headers, body });
    const status = refuse.shift() ?? 200;
    if (status === 200) {
      for (const { resource, scopeSpans } of body.resourceSpans)
        for (const { spans: some } of scopeSpans)
          for (const span of some) {
            const flat = (list) => Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]]));
            spans.put({ ...span, attributes: flat(span.attributes), resource: flat(resource.attributes) });
          }
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => (server.closeAllConnections(), server.close()));
  return { url: `http://127.0.0.1:${server.address().port}`, spans, requests };
}

async function start(t, trace, { serve, env } = {}) {
  const ok = (_, response, message) => json(response, 200, answer(message.id, { content: [], resultType: 'complete' }));
  const origin = await startOrigin(t, serve ?? ok);
  const gateway = await startGatewayFrom(
    t,
    { plugins: [{ trace: { interval: '20ms', ...trace } }], mcpServers: { up: { url: origin.url, protocolEra: 'modern' } } },
    { args: quiet, env },
  );
  const last = () => origin.requests.filter(({ message }) => message?.method !== 'server/discover').at(-1);
  return { ...gateway, origin, last };
}
const parse = (traceparent) => traceparent.split('-');
const pair = async ({ spans }, trace) => {
  const both = await spans.when((all) => {
    const mine = all.filter((one) => one.traceId === trace);
    return mine.length >= 2 ? mine : undefined;
  }, 'two spans');
  return [both.find(({ kind }) => kind === 2), both.find(({ kind }) => kind === 3)];
};

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
    assert.equal(server.resource['service.name'], 'lineward');
    assert.ok(BigInt(server.startTimeUnixNano) <= BigInt(up.startTimeUnixNano));
    assert.equal(otlp.requests[0].headers['x-key'], 'k');
    assert.doesNotMatch(JSON.stringify(otlp.requests), /private words/);
    await eventually(() => new RegExp(`call\\.end.*trace_id=${TRACE} span_id=${server.spanId}`).test(gateway.stderr()), 'a line in the log');
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

  test('failures are told by type; whose fault it is decides on the server span', async (t) => {
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
    assert.deepEqual(server.resource, { 'k8s.pod.name': 'p 1', 'service.name': 'edge' });
    assert.equal(otlp.requests.length, 3);
    assert.equal(otlp.requests[0].url, '/v1/traces');
    assert.equal(otlp.requests[0].headers.authorization, 'Bearer t0p');
    assert.doesNotMatch(gateway.stderr(), /t0p/);
  });

  test('a collector that is not there holds up nobody, and the queue is bounded', async (t) => {
    const gateway = await start(t, { endpoint: 'http://127.0.0.1:9/v1/traces', queue: 4, batch: 2 });
    for (let i = 0; i < 30; ++i) assert.ok((await call(gateway.url, 'tools/call', { name: 'x' })).message.result);
    await eventually(() => /trace\.export.*cannot be reached/.test(gateway.stderr()), 'a line in the log');
    const { body } = await get(opsOf(gateway), '/metrics');
    assert.match(body, /lineward_trace_queued\{plugin="trace"\} 4\n/);
    assert.match(body, /lineward_trace_spans_total\{plugin="trace",outcome="dropped"\} 56\n/);
  });
});
