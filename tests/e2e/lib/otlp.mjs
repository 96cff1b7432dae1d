// An OTLP/HTTP collector that refuses what is not OTLP's JSON encoding (opentelemetry-proto, JSON mapping).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Inbox } from './events.mjs';

const NANOS = /^\d{1,20}$/;
const TRACE_ID = /^[0-9a-f]{32}$/;
const SPAN_ID = /^[0-9a-f]{16}$/;

/** An attribute list as an object; throws where it is none. */
export function flat(list) {
  const out = {};
  for (const { key, value, ...rest } of list) {
    assert.deepEqual(rest, {});
    assert.ok(!(key in out), `attribute twice: ${key}`);
    const [[kind, it]] = Object.entries(value);
    assert.ok(['stringValue', 'intValue', 'doubleValue', 'boolValue'].includes(kind), kind);
    assert.equal(typeof it, kind === 'stringValue' || kind === 'intValue' ? 'string' : kind === 'doubleValue' ? 'number' : 'boolean');
    out[key] = it;
  }
  return out;
}

function checkExemplar({ timeUnixNano, asDouble, traceId, spanId }) {
  assert.match(timeUnixNano, NANOS);
  assert.equal(typeof asDouble, 'number');
  assert.match(traceId, TRACE_ID);
  assert.match(spanId, SPAN_ID);
}

function checkPoint(kind, point) {
  assert.match(point.timeUnixNano, NANOS);
  assert.match(point.startTimeUnixNano, NANOS);
  assert.ok(BigInt(point.startTimeUnixNano) <= BigInt(point.timeUnixNano));
  if (kind !== 'histogram') return assert.equal(typeof point.asDouble, 'number');
  const { count, sum, bucketCounts, explicitBounds, exemplars = [] } = point;
  assert.equal(typeof sum, 'number');
  assert.equal(bucketCounts.length, explicitBounds.length + 1);
  assert.equal(bucketCounts.reduce((all, one) => all + BigInt(one), 0n), BigInt(count));
  assert.deepEqual([...explicitBounds].sort((a, b) => a - b), explicitBounds);
  exemplars.forEach(checkExemplar);
}

/** The data points in order: {name, kind, unit, attributes, ...}. */
function* pointsOf(metric) {
  const { name, description, unit } = metric;
  assert.ok(name && description && unit, JSON.stringify(metric).slice(0, 200));
  const kinds = ['gauge', 'sum', 'histogram'].filter((one) => one in metric);
  assert.equal(kinds.length, 1, name);
  const [kind] = kinds;
  if (kind !== 'gauge') assert.equal(metric[kind].aggregationTemporality, 2);
  if (kind === 'sum') assert.equal(metric.sum.isMonotonic, true);
  for (const point of metric[kind].dataPoints) {
    checkPoint(kind, point);
    yield { ...point, name, kind, unit, attributes: flat(point.attributes) };
  }
}

function recordOf(record) {
  assert.match(record.timeUnixNano, NANOS);
  assert.match(record.observedTimeUnixNano, NANOS);
  assert.ok([5, 9, 13, 17].includes(record.severityNumber));
  assert.equal(typeof record.body.stringValue, 'string');
  if (record.traceId !== undefined) assert.match(record.traceId, TRACE_ID);
  if (record.spanId !== undefined) assert.match(record.spanId, SPAN_ID);
  return { ...record, attributes: flat(record.attributes) };
}

function spanOf(span) {
  assert.match(span.traceId, TRACE_ID);
  assert.match(span.spanId, SPAN_ID);
  assert.match(span.startTimeUnixNano, NANOS);
  assert.match(span.endTimeUnixNano, NANOS);
  return { ...span, attributes: flat(span.attributes) };
}

const SIGNALS = [
  ['resourceSpans', 'scopeSpans', 'spans'],
  ['resourceMetrics', 'scopeMetrics', 'metrics'],
  ['resourceLogs', 'scopeLogs', 'logRecords'],
];

/**
 * Spans, data points of metrics and log records as they come, attributes and resource as objects. Their errors are in
 * `faults`, and fail the test at its end.
 *
 * @param {object} options refuse: statuses for the first requests; answer: the body of a 200
 */
export async function collector(t, { refuse = [], answer = '{}' } = {}) {
  const spans = new Inbox();
  const points = new Inbox();
  const records = new Inbox();
  const requests = [];
  const faults = [];
  const take = (body) => {
    const [signal, ...others] = SIGNALS.filter(([outer]) => outer in body);
    assert.ok(signal && others.length === 0, `members: ${Object.keys(body)}`);
    const [outer, scopes, items] = signal;
    for (const part of body[outer]) {
      const resource = flat(part.resource.attributes);
      for (const { scope, [items]: some } of part[scopes]) {
        assert.equal(scope.name, 'lineward');
        for (const one of some) {
          if (items === 'spans') spans.put({ ...spanOf(one), resource });
          if (items === 'logRecords') records.put({ ...recordOf(one), resource });
          if (items === 'metrics') for (const point of pointsOf(one)) points.put({ ...point, resource });
        }
      }
    }
  };
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks));
    requests.push({ url: request.url, headers: request.headers, body });
    const status = refuse.shift() ?? 200;
    try {
      assert.equal(request.headers['content-type'], 'application/json');
      if (status === 200) take(body);
    } catch (error) {
      faults.push(error);
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end(answer);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
    assert.deepEqual(faults, []);
  });
  return { url: `http://127.0.0.1:${server.address().port}`, spans, points, records, requests };
}

/** The spans of the client's and the server's side of a call in that trace. */
export async function pair({ spans }, trace) {
  const both = await spans.when((all) => {
    const mine = all.filter((one) => one.traceId === trace);
    return mine.length >= 2 ? mine : undefined;
  }, 'two spans');
  return [both.find(({ kind }) => kind === 2), both.find(({ kind }) => kind === 3)];
}
