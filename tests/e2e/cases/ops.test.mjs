// The ops listener: probes at start, while draining and with required upstreams; metrics.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom, startListener } from '../lib/gateway.mjs';
import { callTool, eventually, get, lineward, opsOf } from '../lib/operator.mjs';
import { parse, value } from '../lib/prometheus.mjs';
import { legacyFixture, plainFixture } from '../lib/servers.mjs';
import { DIRECT, legacyClient, modernClient } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const skip = DIRECT;
const server = (command, more = {}) => ({ command: command[0], args: command.slice(1), ...more });
const OPS = { ops: { address: '127.0.0.1:0' }, admin: 'off' };

async function start(t, config, options) {
  const gateway = await startGatewayFrom(t, { ...OPS, ...config }, options);
  const ops = await eventually(() => opsOf(gateway), 'the line with the ops address');
  const probe = (path, more) => get(ops, path, more);
  return { gateway, ops, probe, metrics: async () => parse((await probe('/metrics')).body) };
}

describe('probes', { skip }, () => {
  test('not ready before a required upstream is, and why', async (t) => {
    const file = join(temporaryFolder(t), 'go');
    const { probe } = await start(t, {
      mcpServers: { github: server(plainFixture('--until', file), { required: true, protocolEra: 'auto' }) },
    });
    const early = await probe('/readyz?verbose');
    assert.equal(early.status, 503);
    assert.match(early.body, /^\[\+\]listener ok$/m);
    assert.match(early.body, /^\[-\]upstream github starting \(\d+\.\ds of 60s\)$/m);
    assert.equal((await probe('/livez')).body, 'ok\n');
    assert.equal((await probe('/readyz?exclude=github')).status, 200);
    writeFileSync(file, '');
    const ready = await eventually(async () => {
      const now = await probe('/readyz');
      return now.status === 200 && now;
    }, 'ready');
    assert.equal(ready.body, 'ok\n');
    assert.match((await probe('/readyz?verbose')).body, /^\[\+\]upstream github ok$/m);
  });

  test('answers soon while others hold every connection', async (t) => {
    const { ops, probe } = await start(t, { mcpServers: { one: server(plainFixture()) } });
    const [host, port] = ops.split(':');
    const held = [];
    t.after(() => held.forEach((socket) => socket.destroy()));
    const hold = (count) =>
      Promise.all(
        Array.from({ length: count }, async () => {
          const socket = connect(Number(port), host);
          socket.on('error', () => {});
          held.push(socket);
          await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
          socket.write('GET /livez HT'); // and no more
        }),
      );
    for (const count of [64, 64, 300]) {
      await hold(count);
      const begun = Date.now();
      assert.equal((await probe('/livez')).body, 'ok\n');
      assert.ok(Date.now() - begun < 4000, `after ${Date.now() - begun} ms`);
    }
    // A client with one request after the other never waits for those.
    for (let n = 0; n < 20; ++n) assert.equal((await probe('/livez')).status, 200);
  });

  test('a required upstream that fails at first is asked again without any call', async (t) => {
    const file = join(temporaryFolder(t), 'go');
    const [node, ...args] = plainFixture();
    const command = ['sh', '-c', `test -e ${file} || { sleep 0.05; exit 1; }; exec "$@"`, 'sh', node, ...args];
    const { probe, gateway } = await start(t, {
      defaults: { restart: { maxBackoff: '300ms' } },
      mcpServers: { github: server(command, { required: true, protocolEra: 'auto', stdout: 'tolerant' }) },
    });
    await eventually(() => /event=upstream\.era/.test(gateway.stderr()), 'the first verdict');
    writeFileSync(file, '');
    await eventually(async () => (await probe('/readyz')).status === 200, 'ready');
  });

  test('an open circuit is told everywhere, and its end too', async (t) => {
    const folder = temporaryFolder(t);
    const [file, socket] = [join(folder, 'go'), join(folder, 'admin.sock')];
    const [node, ...args] = plainFixture();
    const command = ['sh', '-c', `test -e ${file} || exit 3; exec "$@"`, 'sh', node, ...args];
    const circuitBreaker = { consecutiveFailures: 1, openFor: '1s' };
    const { gateway, probe, metrics } = await start(t, {
      admin: { address: `unix:${socket}` },
      mcpServers: { github: server(command, { required: true, protocolEra: 'modern', circuitBreaker, restart: { backoff: '10ms', maxBackoff: '10ms' } }) },
    });
    await callTool(gateway.url, 'echo').answer;
    // Between two looks a trial may run: each of these is asked until it is seen open.
    const told = await eventually(async () => {
      const { out } = await lineward(['status', '--admin', `unix:${socket}`]);
      return /github.*open/.test(out) && out;
    }, 'open in lineward status');
    assert.match(told, /github +open .*\n.*exited with code 3/);
    const json = await eventually(async () => {
      const { upstreams } = JSON.parse((await get(socket, '/api/v1/status')).body);
      return upstreams[0].state === 'open' && upstreams[0];
    }, 'open in the status document');
    assert.match(json.why, /exited with code 3/);
    const ready = await eventually(async () => {
      const { status, body } = await probe('/readyz?verbose');
      return status === 503 && /open/.test(body) && body;
    }, 'open in /readyz');
    assert.match(ready, /^\[-\]upstream github open: exited with code 3$/m);
    const state = async (name) => value(await metrics(), 'lineward_upstream_state', { upstream: 'github', state: name });
    await eventually(async () => (await state('open')) === 1, 'open in the metrics');
    writeFileSync(file, '');
    await eventually(async () => (await probe('/readyz')).status === 200, 'ready');
    assert.equal(await state('open'), 0);
    assert.equal(await state('ready'), 1);
    assert.match((await lineward(['status', '--admin', `unix:${socket}`])).out, /github +ready/);
  });

  test('an upstream that is not required does not matter', async (t) => {
    const { probe } = await start(t, {
      mcpServers: { github: server(plainFixture('--until', '/nonexistent')) },
    });
    assert.equal((await probe('/readyz')).status, 200);
  });

  test('not ready while draining, still answering', async (t) => {
    // Not strict: the second SIGTERM, at the end of the test, ends it at once.
    const config = { shutdown: { delay: '5s' }, mcpServers: { github: server(plainFixture()) } };
    const { gateway, probe } = await start(t, config, { strict: false });
    assert.equal((await probe('/readyz')).status, 200);
    process.kill(gateway.pid, 'SIGTERM');
    const body = await eventually(async () => {
      const { status, body: text } = await probe('/readyz');
      return status === 503 && text;
    }, 'not ready');
    assert.match(body, /^\[-\]serving the gateway is stopping$/m);
    assert.equal((await probe('/livez')).status, 200);
  });

  test('other paths, other methods, other hosts', async (t) => {
    const { probe } = await start(t, { mcpServers: { github: server(plainFixture()) } });
    assert.equal((await probe('/')).status, 404);
    assert.equal((await probe('/mcp')).status, 404);
    assert.equal((await probe('/api/v1/status')).status, 404);
    for (const method of ['POST', 'PUT', 'DELETE']) assert.equal((await probe('/metrics', { method })).status, 405);
    assert.equal((await probe('/metrics', { headers: { host: 'evil.example' } })).status, 403);
    assert.equal((await probe('/healthz')).body, 'ok\n');
  });
});

describe('the port', { skip }, () => {
  test('a given one in use is exit 75, the default one a warning', async (t) => {
    const taken = createServer();
    await new Promise((resolve) => taken.listen(0, '127.0.0.1', resolve));
    t.after(() => taken.close());
    const given = await lineward(['run', '--listen', '127.0.0.1:0', '--admin', 'off', '--ops', `127.0.0.1:${taken.address().port}`, '--', 'cat']);
    assert.equal(given.code, 75);
    assert.match(given.err, /cannot listen on 127\.0\.0\.1:\d+: address already in use/);
    assert.match(given.err, /^ {2}fix /m);
    const holder = createServer();
    await new Promise((resolve) => holder.once('error', resolve).listen(9464, '127.0.0.1', resolve));
    t.after(() => holder.close());
    const gateway = await startListener(binary(), ['run', '--listen', '127.0.0.1:0', '--admin', 'off', '--', ...plainFixture()], {});
    t.after(() => gateway.stop());
    await eventually(() => /event=ops\.off .*9464/.test(gateway.stderr()), 'the warning');
    assert.doesNotMatch(gateway.stderr(), /Metrics/);
  });
});

describe('the address', { skip }, () => {
  test('that is none of this machine is exit 75: the service manager starts it again, and it may be there then', async (t) => {
    const missing = join(temporaryFolder(t), 'none', 'mcp.sock');
    for (const [options, said] of [
      [['--listen', '192.0.2.1:8000', '--ops', 'off'], /cannot listen on 192\.0\.2\.1:8000: /],
      [['--listen', `unix:${missing}`, '--ops', 'off'], /cannot listen on unix:.*mcp\.sock: no such file or directory/],
      [['--listen', '127.0.0.1:0', '--ops', '192.0.2.1:8000'], /cannot listen on 192\.0\.2\.1:8000: /],
    ]) {
      const { code, err } = await lineward(['run', ...options, '--admin', 'off', '--', 'cat']);
      assert.equal(code, 75, err);
      assert.match(err, said);
      assert.match(err, /^ {2}fix {3}give an address of this machine/m);
    }
  });
  for (const workers of [1, 2]) {
    test(`of a Lineward with ${workers} worker${workers > 1 ? 's' : ''} is refused to a second one: exit 75`, async (t) => {
      const config = { workers, aggregate: { enabled: false }, mcpServers: { a: server(plainFixture()), b: server(plainFixture()) } };
      const { gateway } = await start(t, config);
      const listen = new URL(gateway.url).host;
      const folder = temporaryFolder(t);
      for (const second of [1, 2]) {
        const path = join(folder, `${second}.json`);
        writeFileSync(path, JSON.stringify({ ...config, workers: second, listen: { address: listen }, ops: 'off', admin: 'off' }));
        const { code, err } = await lineward(['run', path]);
        assert.equal(code, 75, err);
        assert.match(err, new RegExp(`cannot listen on ${listen}: address already in use`));
      }
      assert.ok((await callTool(gateway.url.replace(/\/mcp.*/, '/mcp/b'), 'echo').answer).result);
    });
  }
});

describe('metrics', { skip }, () => {
  // With two workers the first server lives on the second, and all as one on the first.
  for (const workers of [1, 2]) {
    test(`a call at the aggregate is its server's, ${workers} worker${workers > 1 ? 's' : ''}`, async (t) => {
      const path = join(temporaryFolder(t), 'access.log');
      const { gateway, metrics } = await start(t, {
        workers,
        plugins: [{ accessLog: { path } }],
        aggregate: { partTimeout: '5s' },
        mcpServers: { a: server(plainFixture()), b: server(plainFixture()), dead: { command: '/no/such/command' } },
      });
      const client = await modernClient(t, gateway);
      await client.listTools();
      await client.callTool({ name: 'a__echo' });
      await client.callTool({ name: 'a__echo' });
      await client.callTool({ name: 'b__echo' });
      // Once its server has it, and says so.
      const leave = new AbortController();
      const slow = { name: 'a__slow', arguments: { onCancel: 'result' } };
      await assert.rejects(client.callTool(slow, { signal: leave.signal, onprogress: () => leave.abort() }));
      const after = await eventually(async () => {
        const now = await metrics();
        return value(now, 'lineward_cancellations_total', { upstream: 'a', route: '/mcp', initiator: 'client', outcome: 'raced' }) === 1 && now;
      }, 'the settled cancel');
      const calls = (labels) => value(after, 'lineward_requests_total', { method: 'tools/call', reason: 'ok', ...labels });
      assert.equal(calls({ upstream: 'a', route: '/mcp' }), 2);
      assert.equal(calls({ upstream: 'a', route: '' }), 0);
      assert.equal(calls({ upstream: 'b', route: '/mcp' }), 1);
      assert.equal(calls({ upstream: '/mcp' }), 0);
      assert.equal(value(after, 'lineward_requests_total', { method: 'tools/list', upstream: '/mcp', reason: 'ok' }), 1);
      const operations = (labels) => value(after, 'mcp_client_operation_duration_seconds_count', { mcp_method_name: 'tools/call', ...labels });
      assert.equal(operations({ upstream: 'a', route: '/mcp', gen_ai_tool_name: 'echo', error_type: '', network_transport: 'pipe' }), 2);
      // Other servers answered before and after it: its part was missing once all the same.
      const lists = value(after, 'lineward_requests_total', { upstream: '/mcp', method: 'tools/list', reason: 'ok' });
      const discovers = value(after, 'lineward_requests_total', { upstream: '/mcp', method: 'server/discover', reason: 'ok' }) ?? 0;
      assert.equal(value(after, 'lineward_aggregate_missing_parts_total', { upstream: 'dead' }), lists + discovers);
      assert.equal(value(after, 'lineward_requests_in_flight', { upstream: 'a', route: '/mcp' }), 0);
      // The log is written a while after what it tells of.
      const logged = (which) => eventually(() => {
        const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
        return lines.map((text) => JSON.parse(text)).find(which);
      }, 'its line in the access log');
      const call = await logged(({ target }) => target === 'a__echo');
      assert.deepEqual([call.upstream, call.route], ['a', '/mcp']);
      const list = await logged(({ method }) => method === 'tools/list');
      assert.deepEqual([list.upstream, list.route], ['/mcp', undefined]);
    });
  }

  test('what happened is what they say', async (t) => {
    const { gateway, metrics } = await start(t, {
      mcpServers: { github: server(plainFixture(), { timeouts: { cancelGrace: '20s' } }) },
    });
    const before = await metrics();
    assert.equal(value(before, 'lineward_upstream_state', { upstream: 'github', state: 'open' }), 0);
    assert.equal(value(before, 'lineward_requests_total', { method: 'tools/call', reason: 'ok' }), 0);
    const client = await modernClient(t, gateway);
    await client.callTool({ name: 'echo' }); // not listed yet: _other
    await client.listTools();
    await client.callTool({ name: 'echo' });
    const leave = new AbortController();
    const slow = { name: 'slow', arguments: { onCancel: 'result' } };
    await assert.rejects(client.callTool(slow, { signal: leave.signal, onprogress: () => leave.abort() }));
    const after = await eventually(async () => {
      const now = await metrics();
      return value(now, 'lineward_cancellations_total', { initiator: 'client', outcome: 'raced' }) === 1 && now;
    }, 'the settled cancel');
    const count = (labels, name = 'mcp_server_operation_duration_seconds_count') => value(after, name, labels);
    assert.equal(count({ gen_ai_tool_name: '_other', error_type: '' }), 1);
    assert.equal(count({ gen_ai_tool_name: 'echo', mcp_protocol_version: '2026-07-28', network_transport: 'tcp' }), 1);
    assert.equal(count({ gen_ai_tool_name: 'slow', error_type: 'cancelled_client' }), 1);
    assert.equal(
      count({ gen_ai_tool_name: 'echo', network_transport: 'pipe', network_protocol_name: '' }, 'mcp_client_operation_duration_seconds_count'),
      1,
    );
    assert.equal(value(after, 'lineward_requests_total', { upstream: 'github', method: 'tools/call', reason: 'ok' }), 2);
    assert.equal(value(after, 'lineward_requests_total', { method: 'tools/call', reason: 'cancelled_client' }), 1);
    assert.equal(value(after, 'lineward_late_responses_total', { upstream: 'github' }), 1);
    assert.equal(value(after, 'lineward_cancel_latency_seconds_count', { upstream: 'github' }), 1);
    assert.equal(value(after, 'lineward_upstream_starts_total', { result: 'ok' }), 1);
    assert.equal(value(after, 'lineward_upstream_state', { state: 'ready' }), 1);
    assert.ok(value(after, 'lineward_upstream_process_resident_memory_bytes', { instance: '0' }) > 1e6);
    for (const side of ['client', 'upstream'])
      for (const direction of ['in', 'out']) assert.ok(value(after, 'lineward_bytes_total', { side, direction }) > 100);
    assert.ok(value(after, 'http_server_request_duration_seconds_count', { http_request_method: 'POST', http_response_status_code: '200' }) >= 3);
    assert.ok(value(after, 'process_resident_memory_bytes') > 1e6);
    assert.ok(Math.abs(value(after, 'process_start_time_seconds') - Date.now() / 1000) < 60);
    assert.equal(value(after, 'lineward_requests_in_flight', { upstream: 'github' }), 0);
  });

  test('sessions and listens', async (t) => {
    const { gateway, metrics } = await start(t, { mcpServers: { old: server(legacyFixture()) } });
    const client = await legacyClient(t, gateway);
    await client.listTools();
    assert.equal(value(await metrics(), 'lineward_sessions', { upstream: 'old' }), 1);
    const modern = await modernClient(t, gateway, { notifications: {} });
    await modern.listTools();
    await client.transport.terminateSession();
    await eventually(
      async () => value(await metrics(), 'mcp_server_session_duration_seconds_count', { mcp_protocol_version: '2025-11-25' }) === 1,
      'the duration of the session',
    );
    assert.equal(value(await metrics(), 'lineward_sessions', { upstream: 'old' }), 0);
  });

  test('names that no server listed, and many of them, add no series', async (t) => {
    const { gateway, metrics } = await start(t, { mcpServers: { github: server(plainFixture()) } });
    await callTool(gateway.url, 'echo').answer;
    const size = async () => (await metrics()).get('mcp_server_operation_duration_seconds').samples.length;
    const few = await size();
    for (let i = 0; i < 50; ++i) await callTool(gateway.url, `tool_${i}`).answer;
    assert.equal(await size(), few);
    for (const direction of ['request', 'response'])
      assert.ok(value(await metrics(), 'lineward_overhead_seconds_count', { direction }) >= 3, direction);
    const text = JSON.stringify([...(await metrics()).values()]);
    assert.ok(!text.includes('tool_4') && !text.includes('test://'));
  });

  test('no secret in metrics, status or ps; promtool finds nothing', async (t) => {
    const folder = temporaryFolder(t);
    const socket = join(folder, 'admin.sock');
    const secret = 'canary-4711';
    const gateway = await startGatewayFrom(t, {
      ops: { address: '127.0.0.1:0' },
      admin: { address: `unix:${socket}` },
      mcpServers: {
        github: server(plainFixture(), { env: { TOKEN: `${secret}-env` } }),
        web: { url: 'http://127.0.0.1:9/mcp?key=' + secret, headers: { Authorization: `Bearer ${secret}` } },
      },
    });
    const ops = await eventually(() => opsOf(gateway), 'the ops address');
    const url = gateway.url.replace(/\/mcp.*/, '/mcp/github');
    const call = callTool(url, `https://user:${secret}@host/x`, {}, { id: secret, token: secret });
    await call.answer;
    const slow = callTool(url, 'slow', { onCancel: 'silent', secret });
    await callTool(url.replace('github', 'web'), 'echo').answer;
    const admin = ['--admin', `unix:${socket}`];
    await eventually(async () => /slow/.test((await lineward(['ps', ...admin])).out), 'the slow call');
    const metrics = (await get(ops, '/metrics')).body;
    const shown = [
      metrics,
      (await get(ops, '/readyz?verbose')).body,
      ...(await Promise.all(
        [['ps', '--all', '--wide'], ['ps', '--all', '--format', 'json'], ['status'], ['status', '--format', 'json']].map(
          async (args) => (await lineward([...args, ...admin])).out,
        ),
      )),
    ];
    for (const text of shown) {
      assert.ok(text.length > 20);
      assert.ok(!text.includes(secret), text.split('\n').find((line) => line.includes(secret)));
    }
    slow.abort();
    const promtool = spawnSync(process.env.PROMTOOL ?? 'promtool', ['check', 'metrics'], { input: metrics, encoding: 'utf8' });
    if (promtool.error) console.log('promtool (Debian: prometheus) is not here: only our own reader checked the text');
    else assert.equal(promtool.status, 0, promtool.stdout + promtool.stderr);
  });
});
