// Metrics and log records by OTLP, OpenMetrics with exemplars, and what there is to count: limits, memory, loops.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { echoServer } from '../lib/echo-server.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { eventually, get, opsOf } from '../lib/operator.mjs';
import { collector } from '../lib/otlp.mjs';
import { parse, value } from '../lib/prometheus.mjs';
import { answer, call, json, rawCall, startOrigin } from '../lib/raw-origin.mjs';
import { running } from '../lib/reloading.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const quiet = ['--ops', '127.0.0.1:0', '--admin', 'off'];
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;
const OPEN_METRICS = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2';

async function start(t, plugins, { env, servers, more, args = [] } = {}) {
  const config = { plugins, mcpServers: servers ?? { up: echoServer('modern') }, ...more };
  const gateway = await startGatewayFrom(t, config, { args: [...quiet, ...args], env });
  const ops = await eventually(() => opsOf(gateway), 'the address of the metrics');
  const metrics = async () => parse((await get(ops, '/metrics')).body);
  return { ...gateway, ops, metrics };
}
const echo = (gateway, meta = {}) => call(gateway.url, 'tools/call', { name: 'echo', arguments: {}, _meta: meta });

describe('OTLP', { skip: DIRECT }, () => {
  test('metrics: the names of the conventions, the values of /metrics', async (t) => {
    const otlp = await collector(t);
    const gateway = await start(t, [
      { trace: {} },
      { otlpMetrics: { endpoint: `${otlp.url}/v1/metrics`, interval: '50ms', serviceName: 'edge', headers: { 'X-Key': 'k' } } },
    ]);
    assert.equal((await echo(gateway, { traceparent })).status, 200);
    const counted = await otlp.points.until(
      ({ name, attributes, asDouble }) =>
        name === 'lineward.requests' && attributes.upstream === 'up' && attributes.method === 'tools/call' && attributes.reason === 'ok' && asDouble > 0,
      'the call among the metrics',
    );
    assert.deepEqual([counted.kind, counted.unit, counted.asDouble], ['sum', '1', 1]);
    assert.equal(counted.resource['service.name'], 'edge');
    const took = await otlp.points.until(
      ({ name, attributes, exemplars }) => name === 'mcp.server.operation.duration' && attributes['mcp.method.name'] === 'tools/call' && exemplars,
      'its duration',
    );
    assert.deepEqual([took.kind, took.unit, took.count], ['histogram', 's', '1']);
    assert.equal(took.attributes['mcp.protocol.version'], '2026-07-28');
    assert.equal(took.exemplars[0].traceId, TRACE);
    const [{ url, headers }] = otlp.requests;
    assert.deepEqual([url, headers['x-key']], ['/v1/metrics', 'k']);
    const families = await gateway.metrics();
    assert.ok(value(families, 'lineward_otlp_items_total', { plugin: 'otlpMetrics', outcome: 'sent' }) > 0);
    // Each metric that /metrics shows is there under its own name, and nothing else.
    const back = ({ name, unit, kind }) =>
      name.replaceAll('.', '_') + { s: '_seconds', By: '_bytes', 1: '' }[unit] + (kind === 'sum' ? '_total' : '');
    const sent = new Set(otlp.points.items.map(back));
    for (const name of sent) assert.ok(families.has(name), name);
    for (const name of families.keys()) assert.ok(sent.has(name) || /otlp/.test(name), name);
  });

  test('what waits when a reload changes the sender, or takes it away, still goes out', async (t) => {
    const otlp = await collector(t);
    const plugins = (interval) => [
      { trace: { endpoint: `${otlp.url}/v1/traces`, interval } },
      { otlpLogs: { endpoint: `${otlp.url}/v1/logs`, interval } },
    ];
    const up = echoServer('modern');
    const one = await running(t, { up }, { more: { plugins: plugins('1h') } });
    for (const [round, next] of [{ plugins: plugins('59m') }, {}].entries()) {
      const trace = String(round + 1).repeat(32);
      const { status } = await call(one.gateway.url, 'tools/call', { name: 'echo', arguments: {}, _meta: { traceparent: `00-${trace}-00f067aa0ba902b7-01` } });
      assert.equal(status, 200);
      // A call that began with the old sender, and ends after it.
      const slow = call(one.gateway.url, 'tools/call', { name: 'echo', arguments: {}, _meta: { traceparent: `00-${trace}-00f067aa0ba902b7-01` } });
      one.write({ up }, next);
      assert.equal((await one.reload()).code, 0);
      await slow;
      await otlp.spans.until((span) => span.traceId === trace && span.kind === 2, 'the span of the call');
      await otlp.records.until(({ attributes, traceId }) => attributes['event.name'] === 'call.end' && traceId === trace, 'its line in the log');
    }
  });

  for (const workers of [1, 2]) {
    test(`what waits when the gateway ends still goes out, ${workers} worker${workers > 1 ? 's' : ''}`, async (t) => {
      const otlp = await collector(t);
      const plugins = [
        { trace: { endpoint: `${otlp.url}/v1/traces`, interval: '1h' } },
        { otlpLogs: { endpoint: `${otlp.url}/v1/logs`, interval: '1h' } },
        { otlpMetrics: { endpoint: `${otlp.url}/v1/metrics`, interval: '1h' } },
      ];
      const gateway = await start(t, plugins, { more: { workers }, servers: { one: echoServer('modern'), two: echoServer('modern') } });
      const traces = ['a', 'b'].map((letter) => letter.repeat(32));
      for (const [i, path] of ['one', 'two'].entries())
        assert.equal((await call(`${gateway.url}/${path}`, 'tools/call', { name: 'echo', arguments: {}, _meta: { traceparent: `00-${traces[i]}-00f067aa0ba902b7-01` } })).status, 200);
      assert.equal(otlp.requests.length, 0);
      await gateway.stop();
      for (const trace of traces) {
        assert.equal(otlp.spans.items.filter(({ traceId }) => traceId === trace).length, 2, 'both spans of the call');
        assert.ok(otlp.records.items.some(({ traceId, attributes }) => traceId === trace && attributes['event.name'] === 'call.end'), 'its line');
      }
      const counted = otlp.points.items.filter(({ name, attributes }) => name === 'lineward.requests' && attributes.method === 'tools/call' && attributes.reason === 'ok');
      assert.equal(counted.reduce((sum, { asDouble }) => sum + asDouble, 0), 2);
    });
  }

  const busy = (_, response) => response.writeHead(503, { 'retry-after': '300' }).end();
  for (const [what, collect, least] of [
    ['is not there holds up no end', async () => 'http://127.0.0.1:1', 0],
    ['is busy holds up no end', async (t) => (await startOrigin(t, busy)).url, 0],
    ['never answers holds up the end for two seconds, and no second signal', async (t) => (await startOrigin(t, () => {})).url, 1900],
  ]) {
    test(`a collector that ${what}`, async (t) => {
      const url = await collect(t);
      const endpoint = { interval: '1h', endpoint: `${url}/v1/traces` };
      const end = async (signals) => {
        const config = { plugins: [{ trace: endpoint }], mcpServers: { up: echoServer('modern') } };
        const gateway = await startGatewayFrom(t, config, { args: quiet, strict: signals === 1 });
        assert.equal((await echo(gateway, { traceparent })).status, 200);
        const began = performance.now();
        process.kill(gateway.pid, 'SIGTERM');
        if (signals === 2) {
          await eventually(() => /event=drain/.test(gateway.stderr()), 'the drain');
          process.kill(gateway.pid, 'SIGTERM');
        }
        assert.equal(await gateway.ended, signals === 1 ? 0 : 143);
        return performance.now() - began;
      };
      for (const signals of [1, 2]) {
        let took = await end(signals);
        if (signals === 1 && least) {
          assert.ok(took >= least && took < 10_000, `${took} ms`);
          continue;
        }
        // The machine delays one of three ends, the gateway each of them.
        for (let again = 0; again < 2 && took >= 1900; ++again) took = await end(signals);
        assert.ok(took < 1900, `${took} ms`);
      }
    });
  }

  test('log records: fields, traces, nothing that is blacked out, nothing of themselves', async (t) => {
    const otlp = await collector(t, { refuse: [503] });
    const gateway = await start(t, [
      { trace: {} },
      { redact: { patterns: ['sk-[a-z0-9]{8,}'] } },
      { otlpLogs: { endpoint: `${otlp.url}/v1/logs`, interval: '20ms' } },
    ]);
    await call(gateway.url, 'tools/call', { name: 'sk-abcdefgh0123', _meta: { traceparent } });
    const end = await otlp.records.until(({ attributes }) => attributes['event.name'] === 'call.end', 'the end of the call');
    assert.deepEqual([end.severityText, end.traceId], ['INFO', TRACE]);
    assert.match(end.spanId, /^[0-9a-f]{16}$/);
    const { upstream, method, reason, dur_ms: took } = end.attributes;
    assert.deepEqual([upstream, method, reason], ['up', 'tools/call', 'ok']);
    assert.match(took, /^\d+$/);
    assert.match(end.body.stringValue, /^call\.end upstream=up /);
    assert.doesNotMatch(JSON.stringify(otlp.requests), /sk-abcdefgh0123/);
    // The refused batch is reported on stderr, and never sent.
    await eventually(() => /event=logs\.export plugin=otlpLogs why="?HTTP 503/.test(gateway.stderr()), 'a line in the log');
    await call(gateway.url, 'tools/call', { name: 'later' });
    await otlp.records.until(({ attributes }) => attributes.target === 'later', 'the next call');
    assert.ok(!otlp.records.items.some(({ attributes }) => /export/.test(attributes['event.name'])));
  });

  test('a server that writes its own key on stderr gives it to no collector', async (t) => {
    const otlp = await collector(t);
    const source = `console.error('my key is ' + process.env.KEY + '.'); process.stdin.resume();`;
    await start(t, [{ otlpLogs: { endpoint: `${otlp.url}/v1/logs`, interval: '20ms' } }], {
      servers: { up: { command: process.execPath, args: ['-e', source], env: { KEY: 't0psecret' }, pool: { prewarm: 1 }, protocolEra: 'legacy' } },
    });
    const line = await otlp.records.until(({ attributes }) => attributes['event.name'] === 'upstream.stderr', 'its line');
    assert.equal(line.attributes.line, 'my key is ….');
    assert.doesNotMatch(JSON.stringify(otlp.requests), /t0psecret/);
  });

  test('level and calls leave out unwanted records', async (t) => {
    const otlp = await collector(t);
    const gateway = await start(t, [{ otlpLogs: { endpoint: `${otlp.url}/v1/logs`, interval: '20ms', level: 'warn', calls: false } }], {
      servers: { up: echoServer('modern'), gone: { url: 'http://127.0.0.1:9/mcp', protocolEra: 'modern' } },
    });
    const base = gateway.url.replace(/\/mcp.*$/, '/mcp');
    await call(`${base}/up`, 'tools/call', { name: 'echo' });
    await call(`${base}/gone`, 'tools/call', { name: 'x' });
    const end = await otlp.records.until(({ attributes }) => attributes['event.name'] === 'call.end', 'the call that failed');
    assert.deepEqual([end.attributes.upstream, end.attributes.reason, end.severityText], ['gone', 'upstream_unreachable', 'WARN']);
    assert.ok(otlp.records.items.every(({ severityNumber }) => severityNumber >= 13));
  });

  test('the environment sets endpoint, headers, service name and interval', async (t) => {
    const otlp = await collector(t);
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
      OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'authorization=Bearer%20t0p',
      OTEL_SERVICE_NAME: 'edge',
      OTEL_METRIC_EXPORT_INTERVAL: '50',
      OTEL_BLRP_SCHEDULE_DELAY: '20',
    };
    const gateway = await start(t, [{ otlpMetrics: {} }, { otlpLogs: {} }], { env });
    await echo(gateway);
    const [point, record] = await Promise.all([otlp.points.count(1, 'a metric'), otlp.records.count(1, 'a record')]);
    assert.equal(point[0].resource['service.name'], 'edge');
    assert.deepEqual(point[0].resource, record[0].resource);
    const of = (url) => otlp.requests.find((one) => one.url === url);
    assert.equal(of('/v1/logs').headers.authorization, 'Bearer t0p');
    assert.equal(of('/v1/metrics').headers.authorization, undefined);
    assert.doesNotMatch(gateway.stderr(), /t0p/);
  });

  test('a reload ends those that sent before, also while a call keeps them alive', async (t) => {
    const [before, after] = [await collector(t), await collector(t)];
    const origin = await startOrigin(t, () => {});
    const servers = { up: { url: origin.url, protocolEra: 'modern' } };
    const plugins = ({ url }) => [
      { trace: {} },
      { otlpMetrics: { endpoint: `${url}/v1/metrics`, interval: '20ms' } },
      { otlpLogs: { endpoint: `${url}/v1/logs`, interval: '20ms' } },
    ];
    const run = await running(t, servers, { more: { plugins: plugins(before) } });
    const socket = await rawCall(t, run.gateway.url, 1, 'tools/call', { name: 'x' });
    await eventually(() => origin.requests.some(({ message }) => message?.method === 'tools/call'), 'the call at the server');
    await before.points.count(1, 'a metric');
    run.write(servers, { plugins: plugins(after) });
    const { code, err } = await run.reload();
    assert.equal(code, 0, err);
    await after.points.count(1, 'a metric of the new one');
    const sent = before.requests.length;
    await after.points.count(after.points.items.length + 500, 'more of these');
    assert.ok(before.requests.length <= sent + 2, 'what was on its way, and no more');
    socket.destroy();
    const ended = ({ attributes }) => attributes['event.name'] === 'call.end';
    await after.records.until(ended, 'the end of the call');
    assert.ok(!before.records.items.some(ended));
  });

  test('an absent collector does not hold up calls; what waits is bounded and counted', async (t) => {
    const endpoint = 'http://127.0.0.1:9/v1';
    const gateway = await start(t, [
      { otlpMetrics: { endpoint: `${endpoint}/metrics`, interval: '20ms' } },
      { otlpLogs: { endpoint: `${endpoint}/logs`, interval: '20ms', queue: 4, batch: 2 } },
    ]);
    for (let i = 0; i < 30; ++i) assert.ok((await echo(gateway)).message.result);
    await eventually(async () => {
      const families = await gateway.metrics();
      const of = (plugin, outcome) => value(families, 'lineward_otlp_items_total', { plugin, outcome });
      return of('otlpLogs', 'dropped') >= 20 && of('otlpMetrics', 'dropped') > 0 && value(families, 'lineward_otlp_queued', { plugin: 'otlpLogs' }) === 4;
    }, 'what was dropped');
    await eventually(() => /metrics\.export.*cannot be reached/.test(gateway.stderr()), 'a line in the log');
  });
});

describe('what is counted', { skip: DIRECT }, () => {
  test('a scraper that asks for OpenMetrics gets exemplars of sampled traces, others what they always got', async (t) => {
    const gateway = await start(t, [{ trace: {} }]);
    await echo(gateway);
    await echo(gateway, { traceparent: `${traceparent.slice(0, -2)}00` });
    const scrape = () => get(gateway.ops, '/metrics', { headers: { accept: OPEN_METRICS } });
    const before = await scrape();
    assert.equal(before.headers['content-type'], 'application/openmetrics-text; version=1.0.0; charset=utf-8');
    assert.doesNotMatch(before.body, new RegExp(TRACE)); // it was not sampled
    await echo(gateway, { traceparent });
    const { body } = await scrape();
    assert.ok(body.endsWith('\n# EOF\n'));
    assert.match(body, /^# TYPE lineward_requests counter$/m);
    const line = new RegExp(
      `^mcp_server_operation_duration_seconds_bucket\\{.*mcp_method_name="tools/call".*\\} \\d+ # \\{trace_id="${TRACE}",span_id="[0-9a-f]{16}"\\} [0-9.e-]+ \\d+\\.\\d{3}$`,
      'm',
    );
    assert.match(body, line);
    assert.match(body, new RegExp(`^mcp_client_operation_duration_seconds_bucket.*${TRACE}`, 'm'));
    const classic = await get(gateway.ops, '/metrics');
    assert.equal(classic.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
    assert.doesNotMatch(classic.body, /EOF|trace_id/);
    parse(classic.body);
  });

  test('the owners of held bytes add up to the sum', async (t) => {
    let finish;
    const serve = (_, response, message) => (finish = () => json(response, 200, answer(message.id, { content: [], resultType: 'complete' })));
    const origin = await startOrigin(t, serve);
    const gateway = await start(t, [], { servers: { up: { url: origin.url, protocolEra: 'modern' } } });
    const size = 100_000;
    const waits = call(gateway.url, 'tools/call', { name: 'x', arguments: { text: 'y'.repeat(size) } });
    const families = await eventually(async () => {
      const now = await gateway.metrics();
      return value(now, 'lineward_held_bytes', { owner: 'calls' }) >= size && now;
    }, 'the request among the calls');
    const sum = families.get('lineward_held_bytes').samples.reduce((all, one) => all + one.value, 0);
    assert.equal(sum, value(families, 'lineward_buffered_bytes'));
    assert.equal(value(families, 'lineward_held_bytes', { owner: 'other' }), 0);
    await eventually(() => finish, 'the call at the server');
    finish();
    await waits;
  });

  test('a limit that refuses is counted by its name', async (t) => {
    const origin = await startOrigin(t, () => {});
    const limits = { maxInFlight: 1, maxQueue: 0, maxRequestBytes: '2KiB' };
    const gateway = await start(t, [], { servers: { up: { url: origin.url, protocolEra: 'modern', limits } }, more: { listen: { maxBodyBytes: '8KiB' }, shutdown: { drain: '0s' } } });
    const leave = new AbortController();
    const body = (text) => ({ method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json' }, body: text, signal: leave.signal });
    call(gateway.url, 'tools/call', { name: 'x' }).catch(() => {});
    await eventually(() => origin.requests.some(({ message }) => message?.method === 'tools/call'), 'the first call at the server');
    assert.match((await call(gateway.url, 'tools/call', { name: 'x' })).message.error.message, /limits\.maxQueue/);
    assert.equal((await fetch(gateway.url, body(' '.repeat(3000)))).status, 413);
    assert.equal((await fetch(gateway.url, body(' '.repeat(9000)))).status, 413);
    const families = await gateway.metrics();
    const of = (limit) => value(families, 'lineward_limits_reached_total', { limit });
    assert.deepEqual(['limits.maxQueue', 'limits.maxRequestBytes', 'listen.maxBodyBytes', 'limits.maxParked'].map(of), [1, 1, 1, 0]);
    leave.abort();
  });

  test('each worker tells of its own loop', async (t) => {
    const gateway = await start(t, [], { more: { workers: 2 }, servers: { one: echoServer('modern'), two: echoServer('modern') } });
    const families = await gateway.metrics();
    for (const worker of ['0', '1']) {
      assert.ok(value(families, 'lineward_event_loop_turn_seconds_count', { worker }) > 0);
      assert.ok(value(families, 'lineward_event_loop_longest_turn_seconds', { worker }) >= 0);
      assert.ok(value(families, 'lineward_event_loop_lag_recent_seconds', { worker }) >= 0);
    }
  });

  test('what a plugin decided says of which kind it is', async (t) => {
    const gateway = await start(t, [{ toolFilter: { deny: ['echo'] }, name: 'no-echo' }]);
    await echo(gateway);
    const families = await gateway.metrics();
    assert.equal(value(families, 'lineward_plugin_decisions_total', { plugin: 'no-echo', kind: 'toolFilter', decision: 'refused' }), 1);
  });
});
