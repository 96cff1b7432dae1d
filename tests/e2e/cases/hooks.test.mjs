// Hooks: policy in a process or a service of one's own, which decides, dies, hangs, talks rubbish and floods.
import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { binary } from '../lib/binary.mjs';
import { fixtureRecord, temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom, startListener } from '../lib/gateway.mjs';
import { modernPost } from '../lib/modern.mjs';
import { eventually } from '../lib/operator.mjs';
import { answer, beginEvents, call, event, gatewayError, json, rawCall, startOrigin } from '../lib/raw-origin.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { WORKERS } from '../lib/workers.mjs';

const fixture = fileURLToPath(new URL('../fixtures/hook.mjs', import.meta.url));
const hooks = fileURLToPath(new URL('../../../conf/hooks', import.meta.url));
const quiet = { args: ['--ops', 'off', '--admin', 'off'] };
const tool = (gateway, name, more = {}) => call(gateway.url, 'tools/call', { name, ...more });
const outcome = async (promise) => {
  const { message } = await promise;
  return message.error ? message.error.message : 'ok';
};

// Each worker has a hook's process of its own. The counts of the tests are of one process, so one worker serves.
async function start(t, options, { serve, record, limits = {} } = {}) {
  const echo = (_, response, message) =>
    json(response, 200, answer(message.id, { content: [], resultType: 'complete', got: message.params.arguments }));
  const origin = await startOrigin(t, serve ?? echo);
  const hook = options.url ? options : { command: process.execPath, args: [fixture], env: record?.env ?? {}, ...options };
  const gateway = await startGatewayFrom(
    t,
    { plugins: [{ hook, name: 'judge' }], mcpServers: { up: { url: origin.url, protocolEra: 'modern', workers: 'one', limits } } },
    quiet,
  );
  return { ...gateway, origin, calls: () => origin.requests.filter(({ message }) => message?.method === 'tools/call') };
}

describe('hooks', { skip: DIRECT }, () => {
  test('it proceeds, changes, refuses, answers, and sets headers', async (t) => {
    const gateway = await start(t, { events: ['request', 'response'] });
    assert.equal((await tool(gateway, 'change', { arguments: { n: 41 } })).message.result.got.n, 42);
    assert.equal((await tool(gateway, 'mask')).message.result.masked, true);
    const refused = (await tool(gateway, 'refuse')).message.error;
    assert.deepEqual([refused.code, refused.message], [-32050, 'not today']);
    const slow = await tool(gateway, 'slow_down');
    assert.equal(slow.status, 429);
    assert.equal(slow.headers.get('retry-after'), '2');
    assert.equal((await tool(gateway, 'answer')).message.result.by, 'hook');
    assert.ok((await tool(gateway, 'steer')).message.result);
    const { headers } = gateway.calls().at(-1);
    assert.deepEqual([headers['x-team'], headers['x-bad']], ['blue', undefined]);
    assert.equal(await outcome(tool(gateway, 'twice')), 'ok');
    await eventually(() => /plugin\.stderr.*the hook is up/.test(gateway.stderr()), 'a line in the log');
  });

  for (const [name, says] of [
    ['other_id', /judge changed a message's id/],
    ['no_message', /judge put something/],
    ['no_verdict', /judge gave a verdict that there is not/],
    ['bad_answer', /judge answered without a result/],
    ['die', /judge (exited with code 3|closed its)/],
    ['hang', /judge did not answer within 3000 ms/],
    ['flood', /judge wrote 1000 lines/],
    ['endless', /judge wrote a line of more than 40 MiB/],
  ]) {
    test(`${name}: the call is refused by name, and the next one is decided`, async (t) => {
      // But for the one that hangs it is not the time that ends them: what came after it would meet the next call.
      const gateway = await start(t, { timeout: name === 'hang' ? '3s' : '50s' }, { limits: { queueTimeout: '50s' } });
      const failed = gatewayError(await tool(gateway, name));
      assert.equal(failed.reason, 'internal');
      assert.match(failed.text, says);
      assert.equal(gateway.calls().length, 0);
      assert.equal(await outcome(tool(gateway, 'fine')), 'ok');
    });
  }

  test('onError: open lets the call pass when there is no verdict', async (t) => {
    const gateway = await start(t, { timeout: '300ms', onError: 'open' });
    for (const name of ['die', 'hang', 'no_verdict']) assert.equal(await outcome(tool(gateway, name)), 'ok');
  });

  test('rubbish between answers is passed over, one answer counts', async (t) => {
    const gateway = await start(t, {});
    assert.equal(await outcome(tool(gateway, 'rubbish')), 'ok');
    await eventually(() => /plugin\.invalid_output/.test(gateway.stderr()), 'a line in the log');
  });

  test('a hook that hangs is started again, those behind it wait in bounds', async (t) => {
    const record = fixtureRecord(t);
    const gateway = await start(t, { timeout: '3s', maxInFlight: 4, maxQueue: 6 }, { record });
    const all = await Promise.all(Array.from({ length: 20 }, () => outcome(tool(gateway, 'hang'))));
    assert.equal(all.filter((text) => /too many questions open/.test(text)).length, 10);
    // Eight in a row: a new process. A call with time left is told so.
    assert.equal(all.filter((text) => /did not answer|run out of time/.test(text)).length, 10);
    const deadline = Date.now() + 10_000;
    const starts = () => record.events.filter((one) => one.event === 'start').length;
    while (starts() < 2 && Date.now() < deadline) await outcome(tool(gateway, 'hang'));
    assert.ok(starts() >= 2);
    for (;;) {
      if ((await outcome(tool(gateway, 'fine'))) === 'ok') break;
      assert.ok(Date.now() < deadline);
    }
  });

  test('answers may come in any order, to many at once', async (t) => {
    const record = fixtureRecord(t);
    const gateway = await start(t, { timeout: '20s' }, { record });
    const held = Array.from({ length: 40 }, () => outcome(tool(gateway, 'hold')));
    await record.until({ event: 'request', tag: 'hold' });
    while (record.events.filter(({ tag }) => tag === 'hold').length < 40) await sleep(10);
    assert.equal(await outcome(tool(gateway, 'release')), 'ok');
    assert.deepEqual([...new Set(await Promise.all(held))], ['ok']);
  });

  test('a client that leaves while the hook decides: its call reaches no server, the late answer does no harm', async (t) => {
    const record = fixtureRecord(t);
    const gateway = await start(t, { timeout: '20s', events: ['request', 'end'] }, { record });
    const socket = await rawCall(t, gateway.url, 1, 'tools/call', { name: 'hold' });
    await record.until({ event: 'request', tag: 'hold' });
    socket.destroy();
    await record.until({ event: 'end', tag: 'hold' });
    assert.equal(await outcome(tool(gateway, 'release')), 'ok');
    assert.deepEqual(gateway.calls().map(({ message }) => message.params.name), ['release']);
    assert.equal(record.events.find((one) => one.event === 'end').reason, 'cancelled_client');
  });

  test('it may drop notifications, and is told how each call ended', async (t) => {
    const record = fixtureRecord(t);
    const serve = (_, response, message) => {
      beginEvents(response);
      const params = { progressToken: message.params._meta.progressToken, progress: 1 };
      response.write(event({ jsonrpc: '2.0', method: 'notifications/progress', params }));
      response.end(event({ jsonrpc: '2.0', id: message.id, result: { content: [], resultType: 'complete' } }));
    };
    const gateway = await start(t, { events: ['notification', 'end'] }, { record, serve });
    const request = modernPost('tools/call', { name: 'x', _meta: { progressToken: 'p' } }, { id: 1 });
    const response = await fetch(gateway.url, request);
    assert.doesNotMatch(await response.text(), /notifications\/progress/);
    await record.until({ event: 'end', tag: 'x' });
    assert.deepEqual(record.events.filter((one) => one.tag === 'x').map((one) => one.event), ['notification', 'end']);
  });

  test('a program that is not there: every call is refused at once, and says so', async (t) => {
    const gateway = await start(t, { command: '/nonexistent/hook', timeout: '1s' });
    assert.match(await outcome(tool(gateway, 'x')), /judge (could not be started|did not answer)/);
  });

  test('a service instead of a program', async (t) => {
    const asked = [];
    const server = createServer(async (request, response) => {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const question = JSON.parse(Buffer.concat(chunks));
      asked.push({ question, key: request.headers['x-key'] });
      const name = question.facts.target;
      if (name === 'hang') return;
      if (name === 'fail') return response.writeHead(500).end();
      if (name === 'rubbish') return response.end('<html>');
      if (name === 'empty') return response.writeHead(204).end();
      response.end(JSON.stringify({ verdict: name === 'refuse' ? 'refuse' : 'proceed', error: { message: 'no' } }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => (server.closeAllConnections(), server.close()));
    const url = `http://127.0.0.1:${server.address().port}/decide`;
    const gateway = await start(t, { url, headers: { 'X-Key': 'k-1' }, timeout: '3s' });
    assert.equal(await outcome(tool(gateway, 'fine')), 'ok');
    assert.equal(await outcome(tool(gateway, 'empty')), 'ok');
    assert.equal(await outcome(tool(gateway, 'refuse')), 'no');
    assert.match(await outcome(tool(gateway, 'fail')), /judge answered with HTTP 500/);
    assert.match(await outcome(tool(gateway, 'rubbish')), /judge answered with something that is no JSON/);
    assert.match(await outcome(tool(gateway, 'hang')), /judge (did not answer|cannot be reached)/);
    assert.deepEqual([asked[0].key, asked[0].question.event, asked[0].question.message.params.name], ['k-1', 'request', 'fine']);
  });

  test('a reload that changes the entry replaces the process, one that does not keeps it', async (t) => {
    const record = fixtureRecord(t);
    const origin = await startOrigin(t, (_, response, message) =>
      json(response, 200, answer(message.id, { content: [], resultType: 'complete' })),
    );
    const path = join(temporaryFolder(t), 'lineward.json');
    const write = (timeout, more = {}) => {
      const hook = { command: process.execPath, args: [fixture], env: record.env, timeout };
      const mcpServers = { up: { url: origin.url, protocolEra: 'modern', ...more } };
      writeFileSync(path, JSON.stringify({ listen: { address: '127.0.0.1:0' }, plugins: [{ hook, name: 'judge' }], mcpServers }));
    };
    write('5s');
    const gateway = await startListener(binary(), ['run', ...quiet.args, path]);
    t.after(() => gateway.stop());
    assert.equal(await outcome(tool(gateway, 'refuse')), 'not today');
    const starts = () => record.events.filter((one) => one.event === 'start');
    const deadline = Date.now() + 15_000;
    while (starts().length < WORKERS && Date.now() < deadline) await sleep(20);
    const loads = () => (gateway.stderr().match(/event=config\.loaded/g) ?? []).length;
    const before = loads();
    write('5s', { timeouts: { request: '30s' } });
    process.kill(gateway.pid, 'SIGHUP');
    while (loads() === before && Date.now() < deadline) await sleep(20);
    assert.ok(loads() > before);
    assert.equal(await outcome(tool(gateway, 'refuse')), 'not today');
    assert.equal(starts().length, WORKERS);
    write('6s');
    process.kill(gateway.pid, 'SIGHUP');
    while (starts().length < 2 * WORKERS && Date.now() < deadline) await sleep(20);
    assert.equal(await outcome(tool(gateway, 'refuse')), 'not today');
    const gone = (pid) => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    };
    const old = starts().slice(0, WORKERS);
    while (!old.every(({ tag }) => gone(tag)) && Date.now() < deadline) await sleep(20);
    assert.ok(old.every(({ tag }) => gone(tag)));
  });

  test('conf/hooks: the example decides by its file and keeps its record', async (t) => {
    const folder = temporaryFolder(t);
    cpSync(hooks, folder, { recursive: true });
    // Two interpreters start at once, and a busy machine takes long for that.
    const file = join(folder, 'lineward.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('methods: [tools/call] }', 'methods: [tools/call], timeout: 50s }'));
    const calls = join(folder, 'calls');
    const env = { CALLS_FILE: calls, DEMO_SERVER: join(dirname(binary()), 'demo-server') };
    const args = ['run', '--listen', '127.0.0.1:0', '--ops', 'off', '--admin', 'off', file];
    const gateway = await startListener(binary(), args, { env });
    t.after(() => gateway.stop());
    assert.match(await outcome(tool(gateway, 'drop_everything')), /drop_everything is not on the list/);
    await eventually(() => /event=call\.end .*target=drop_everything reason=forbidden .*policy=allow-tools /.test(gateway.stderr()), 'the plugin in the log');
    assert.ok((await tool(gateway, 'echo', { arguments: { message: 'hi' } })).message.result);
    const deadline = Date.now() + 10_000;
    while (!(existsSync(calls) && readFileSync(calls, 'utf8').split('\n').length > 2) && Date.now() < deadline) await sleep(20);
    const reasons = readFileSync(calls, 'utf8').trim().split('\n').map((line) => JSON.parse(line).ending.reason);
    assert.deepEqual(reasons, ['forbidden', 'ok']);
  });
});
