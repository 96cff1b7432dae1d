// The admin API: what its OpenAPI document says, compared with what a running gateway does, request by request; and pages of
// many calls.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { describe } from 'node:test';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { faults } from '../lib/json-schema.mjs';
import { callTool, eventually, get, lineward } from '../lib/operator.mjs';
import { plainFixture } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const skip = DIRECT;
const server = (command, more = {}) => ({ command: command[0], args: command.slice(1), ...more });

async function running(t, config = {}) {
  const folder = temporaryFolder(t);
  const socket = join(folder, 'admin.sock');
  const gateway = await startGatewayFrom(t, {
    ops: 'off',
    admin: { address: `unix:${socket}` },
    ...config,
    mcpServers: { github: server(plainFixture()), other: server(plainFixture()), ...config.mcpServers },
  });
  const ask = async (method, path, body) => {
    const headers = method === 'POST' ? { 'content-type': 'application/json' } : {};
    const { status, body: text } = await get(socket, path, { method, headers, body });
    return { status, json: JSON.parse(text) };
  };
  const document = (await ask('GET', '/api/v1/openapi.json')).json;
  const find = (name) => {
    const found = document.components.schemas[name.replace('#/components/schemas/', '')];
    assert.ok(found, `${name} is in the document`);
    return found;
  };
  // Asks, and compares status and body with what the document says of them.
  const seen = new Set();
  const check = async (method, path, template, { body, wanted = 200 } = {}) => {
    const operation = document.paths[template]?.[method.toLowerCase()];
    assert.ok(operation, `${method} ${template} is in the document`);
    const { status, json } = await ask(method, path, body && JSON.stringify(body));
    assert.equal(status, wanted, `${method} ${path}: ${JSON.stringify(json)}`);
    const answer = operation.responses[String(status)];
    assert.ok(answer, `${method} ${template} says that it may answer ${status}`);
    const schema = answer.content['application/json'].schema;
    assert.deepEqual(faults(json, schema, find), [], `${method} ${path}`);
    if (wanted === 200) seen.add(`${method} ${template}`);
    return json;
  };
  return { gateway, socket, ask, check, document, find, seen, admin: ['--admin', `unix:${socket}`] };
}

/** Reads the event stream: next() resolves with {event, id, data}. */
function watch(t, socket, path = '/api/v1/events') {
  const waiting = [];
  const events = [];
  const sent = request({ socketPath: socket, path, headers: { host: 'localhost' } }, (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (bytes) => {
      text += bytes;
      for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
        const event = {};
        for (const line of text.slice(0, end).split('\n')) {
          const colon = line.indexOf(': ');
          if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 2);
        }
        if (!event.data) continue;
        event.data = JSON.parse(event.data);
        if (waiting.length > 0) waiting.shift()(event);
        else events.push(event);
      }
    });
    response.on('error', () => {});
  });
  sent.on('error', () => {});
  sent.end();
  t.after(() => sent.destroy());
  const next = () => (events.length > 0 ? Promise.resolve(events.shift()) : new Promise((done) => waiting.push(done)));
  return {
    next,
    async until(wanted) {
      for (;;) {
        const event = await next();
        if (wanted(event)) return event;
      }
    },
  };
}

describe('the admin API', { skip }, () => {
  test('HEAD is told which methods there are, and no body comes with that', async (t) => {
    const { socket } = await running(t);
    for (const path of ['/api/v1/status', '/console', '/nothing']) {
      const { status, body, headers } = await get(socket, path, { method: 'HEAD' });
      assert.ok(status === 405 || status === 404, `${path}: ${status}`);
      assert.equal(body, '');
      assert.ok(Number(headers['content-length']) > 0);
    }
  });

  test('every request of the OpenAPI document does what the document says', async (t) => {
    const { gateway, ask, check, document, find, seen, socket } = await running(t, { workers: 2 });
    const events = watch(t, socket);
    const hello = await events.next();
    assert.deepEqual(faults(hello.data, find('Hello'), find), []);
    const call = callTool(`${gateway.url}/github`, 'slow', { onCancel: 'error' });
    const id = await eventually(
      async () => (await check('GET', '/api/v1/calls', '/api/v1/calls')).calls.find((one) => one.progress?.progress)?.id,
      'a call with progress',
    );
    const begin = await events.until(({ event }) => event === 'call.begin');
    assert.deepEqual(faults(begin.data, find('Call'), find), []);
    const progress = await events.until(({ event }) => event === 'call.progress');
    assert.deepEqual(faults(progress.data, find('Call'), find), []);
    const story = await check('GET', `/api/v1/calls/${id}`, '/api/v1/calls/{id}');
    assert.deepEqual(
      story.timeline.map(({ step }) => step).filter((step) => step !== 'starting' && step !== 'told'),
      ['arrived', 'queued', 'sent', 'progress'],
    );
    for (const path of ['openapi.json', 'status', 'servers', 'listens', 'sessions', 'ends', 'ends/minutes', 'operations', 'log'])
      await check('GET', `/api/v1/${path}`, `/api/v1/${path}`);
    await check('GET', '/api/v1/servers/github', '/api/v1/servers/{name}');
    await check('GET', '/api/v1/servers/%2Fmcp', '/api/v1/servers/{name}');
    await check('GET', '/api/v1/servers/nobody', '/api/v1/servers/{name}', { wanted: 404 });
    await check('GET', '/api/v1/calls/cffff', '/api/v1/calls/{id}', { wanted: 404 });
    await check('GET', '/api/v1/calls?older=30', '/api/v1/calls', { wanted: 400 });
    await check('POST', `/api/v1/calls/${id}/cancel`, '/api/v1/calls/{id}/cancel', { body: { reason: 'enough', wait: true } });
    assert.equal((await call.answer).error.code, 499);
    const ended = await events.until(({ event }) => event === 'call.end');
    assert.deepEqual(faults(ended.data, find('EndedCall'), find), []);
    const settled = await events.until(({ event }) => event === 'call.settled');
    assert.deepEqual(faults(settled.data, find('EndedCall'), find), []);
    assert.equal(settled.data.cancel.outcome, 'stopped');
    await check('POST', `/api/v1/calls/${id}/cancel`, '/api/v1/calls/{id}/cancel', { wanted: 404 });
    await check('GET', `/api/v1/calls/${id}`, '/api/v1/calls/{id}');
    await check('GET', '/api/v1/calls?all', '/api/v1/calls');
    const line = await events.until(({ event }) => event === 'log');
    assert.deepEqual(faults(line.data, find('LogLine'), find), []);
    await check('POST', '/api/v1/servers/github/drain', '/api/v1/servers/{name}/drain', { body: {} });
    await check('POST', '/api/v1/servers/github/drain', '/api/v1/servers/{name}/drain', { body: {}, wanted: 409 });
    await check('GET', '/api/v1/servers', '/api/v1/servers');
    await check('POST', '/api/v1/servers/github/stop', '/api/v1/servers/{name}/stop', { body: {} });
    await check('POST', '/api/v1/servers/github/start', '/api/v1/servers/{name}/start', { body: {} });
    await check('POST', '/api/v1/servers/github/restart', '/api/v1/servers/{name}/restart', { body: { force: true } });
    await check('POST', '/api/v1/servers/nobody/start', '/api/v1/servers/{name}/start', { body: {}, wanted: 404 });
    const state = await events.until(({ event }) => event === 'server.state');
    assert.deepEqual(faults(state.data, find('ServerState'), find), []);
    await check('POST', '/api/v1/reload', '/api/v1/reload', { body: { dryRun: true } });
    // The whole document is served, and nothing else.
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const method of Object.keys(methods)) {
        if (path !== '/api/v1/events') assert.ok(seen.has(`${method.toUpperCase()} ${path}`), `${method} ${path} was asked`);
      }
      const other = path.replace(/\{.*\}/, 'c1');
      const { status } = await ask('PUT', other, '{}');
      assert.equal(status, 405, other);
    }
    assert.equal((await ask('GET', '/api/v1/other')).status, 404);
  });

  test('the document that the binary prints is the one that it serves', async (t) => {
    const { document } = await running(t);
    assert.deepEqual(JSON.parse((await lineward(['openapi'])).out), document);
  });

  test('many calls come page by page, each once, in the order of their arrival', async (t) => {
    const { gateway, ask, admin } = await running(t, {
      workers: 2,
      mcpServers: { github: server(plainFixture(), { limits: { maxInFlight: 200 } }) },
    });
    const calls = Array.from({ length: 60 }, (_, i) =>
      callTool(`${gateway.url}/${i % 2 ? 'github' : 'other'}`, 'slow', {}, { id: i, token: `t${i}` }),
    );
    t.after(() => calls.forEach((call) => call.abort()));
    await eventually(async () => (await ask('GET', '/api/v1/calls?limit=1')).json.total === 60, 'all calls');
    const ids = [];
    for (let path = '/api/v1/calls?limit=7'; path; ) {
      const { json } = await ask('GET', path);
      assert.equal(json.total, 60);
      assert.ok(json.calls.length <= 7);
      ids.push(...json.calls.map(({ id }) => parseInt(id.slice(1), 16)));
      path = json.next && `/api/v1/calls?limit=7&after=${json.next}`;
    }
    assert.equal(ids.length, 60);
    assert.deepEqual(ids, [...new Set(ids)].sort((a, b) => a - b));
    const some = (await ask('GET', '/api/v1/calls?upstream=other&method=tools/call')).json;
    assert.equal(some.total, 30);
    assert.equal((await ask('GET', '/api/v1/calls?older=1h')).json.total, 0);
    assert.equal(JSON.parse((await lineward(['ps', '--format', 'json', ...admin])).out).calls.length, 60);
  });

  test('a reader that comes back with its cursor has missed nothing', async (t) => {
    const { gateway, socket } = await running(t);
    const first = watch(t, socket, '/api/v1/events?types=calls');
    await first.next();
    const one = callTool(`${gateway.url}/github`, 'slow', { onCancel: 'error' });
    const begin = await first.until(({ event }) => event === 'call.begin');
    one.abort();
    await first.until(({ event }) => event === 'call.end');
    const again = watch(t, socket, `/api/v1/events?types=calls&after=${begin.id}`);
    const names = [];
    await again.until(({ event }) => {
      names.push(event);
      return event === 'call.end';
    });
    assert.equal(names[0], 'hello');
    assert.equal(names.at(-1), 'call.end');
    assert.ok(!names.includes('lost') && !names.includes('call.begin'), String(names));
  });
});
