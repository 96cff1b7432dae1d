// The configuration is swapped in the running process: lineward reload, SIGHUP and --watch; and the end under load.
//
// LINEWARD_RELOAD_CALLS and LINEWARD_RELOADS set how long the test of losses is (100000 and 50: `make reload-loss`),
// LINEWARD_TERMS how often the end under load is tried.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { startListener } from '../lib/gateway.mjs';
import { modernPost } from '../lib/modern.mjs';
import { callTool, eventually, get, lineward } from '../lib/operator.mjs';
import { plain, running } from '../lib/reloading.mjs';
import { legacyFixture } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const skip = DIRECT;
const CALLS = Number(process.env.LINEWARD_RELOAD_CALLS ?? 1500);
const RELOADS = Number(process.env.LINEWARD_RELOADS ?? 5);
const TERMS = Number(process.env.LINEWARD_TERMS ?? 3);
const LONG = Math.max(30_000, CALLS * 10);

const words = ({ result }) => result.content[0].text.split(' ');
const echo = async (url, nonce = 'n') => words(await callTool(url, 'echo', { nonce }).answer);

function post(url, body, headers = {}) {
  return get(new URL(url).host, new URL(url).pathname, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(body),
  });
}

async function openSession(url) {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'probe', version: '1' } };
  const opened = await post(url, { jsonrpc: '2.0', id: 1, method: 'initialize', params });
  assert.equal(opened.status, 200);
  const headers = { 'Mcp-Session-Id': opened.headers['mcp-session-id'], 'MCP-Protocol-Version': '2025-11-25' };
  await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
  return (body) => post(url, { jsonrpc: '2.0', id: 2, ...body }, headers);
}

describe('reload', { skip }, () => {
  test('a plan is printed, and only what differs changes', async (t) => {
    const gate = join(temporaryFolder(t), 'gate');
    const one = await running(t, { same: plain('a'), git: plain('old'), gone: plain(), soft: plain() });
    const [, samePid] = await echo(one.at('same'));
    const [, softPid] = await echo(one.at('soft'));
    const slow = { git: callTool(one.at('git'), 'until', { nonce: 'g', file: gate }).answer };
    slow.gone = callTool(one.at('gone'), 'until', { nonce: 'x', file: gate }).answer;
    slow.same = callTool(one.at('same'), 'until', { nonce: 's', file: gate }).answer;
    await eventually(async () => (await one.calls()).filter(({ state }) => state === 'running').length === 3, 'three calls');
    one.write({ same: plain('a'), git: plain('new'), time: plain(), soft: plain('', { timeouts: { request: '2m' } }) });

    const dry = await one.reload('--dry-run');
    assert.match(dry.out, /nothing was changed/);
    assert.equal((await echo(one.at('gone')))[0], 'n');
    const { code, out, err } = await one.reload();
    assert.equal(code, 0, err);
    assert.match(out, /^ {2}~ git +env\.FORM changed +restarts when its 1 call ends$/m);
    assert.match(out, /^ {2}\+ time +new$/m);
    assert.match(out, /^ {2}~ soft +timeouts\.request 1m → 2m +no restart needed$/m);
    assert.match(out, /^ {2}- gone +removed +ends when its 1 call ends$/m);
    assert.match(out, /^ {2}= 1 unchanged\nreloaded in \d+ms; 3 calls in flight untouched\n$/m);
    assert.doesNotMatch(out, /old|"new"/, 'no value of the environment');

    assert.deepEqual((await echo(one.at('git'), 'q')).toSpliced(1, 1), ['q', 'new'], 'new calls go to the new form');
    assert.equal((await echo(one.at('same')))[1], samePid);
    assert.equal((await echo(one.at('soft')))[1], softPid);
    assert.equal((await echo(one.at('time')))[0], 'n');
    const nothing = await post(one.at('gone'), { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    assert.equal(nothing.status, 404);
    assert.match(nothing.body, /nothing is served at this path; there is /);
    const before = await one.status();
    assert.equal(before.upstreams.find(({ name }) => name === 'gone').state, 'draining');

    writeFileSync(gate, '');
    assert.deepEqual(words(await slow.git).toSpliced(1, 1), ['g', 'old'], 'its call ended in the old form');
    assert.equal(words(await slow.gone)[0], 'x');
    assert.equal(words(await slow.same)[1], samePid);
    await eventually(async () => (await one.status()).upstreams.filter(({ name }) => name !== '/mcp').length === 4, 'the end of the old ones');
    assert.equal(await one.metric('lineward_config_last_reload_successful'), 1);
    assert.equal(await one.metric('lineward_config_reloads_total'), 1);
  });

  test('a bad file changes nothing and says why, once', async (t) => {
    const one = await running(t, { same: plain('a') });
    const [, pid] = await echo(one.at('same'));
    const stamp = await one.metric('lineward_config_last_reload_success_timestamp_seconds');
    writeFileSync(one.file, '{\n  "mcpServers": {"same": {"command": "x", "requestTimeout": 30}}\n}');
    const { code, err } = await one.reload();
    assert.equal(code, 78);
    assert.match(err, /error\[unknown-option\].*\n +--> \S*lineward\.json:2:43\n/);
    assert.match(err, /nothing was changed/);
    assert.equal((await echo(one.at('same')))[1], pid);
    assert.equal(await one.metric('lineward_config_last_reload_successful'), 0);
    assert.equal(await one.metric('lineward_config_last_reload_success_timestamp_seconds'), stamp);
    assert.equal(one.gateway.stderr().match(/event=config\.rejected/g).length, 1);
    assert.match(one.gateway.stderr(), /event=config\.rejected .*lineward\.json:2:43/);
    one.write({ same: plain('b') });
    process.kill(one.gateway.pid, 'SIGHUP');
    await eventually(async () => (await echo(one.at('same')))[2] === 'b', 'the new form');
    assert.equal(await one.metric('lineward_config_last_reload_successful'), 1);
  });

  test('--watch sees a file renamed over, and the link swap of a ConfigMap', async (t) => {
    const one = await running(t, { same: plain('a') }, { args: ['--watch'] });
    assert.equal((await echo(one.at('same')))[2], 'a');
    one.write({ same: plain('b') });
    await eventually(async () => (await echo(one.at('same')))[2] === 'b', 'the renamed file');

    const mount = temporaryFolder(t);
    const version = (number, form) => {
      mkdirSync(join(mount, `..v${number}`));
      writeFileSync(join(mount, `..v${number}`, 'lineward.json'), one.text({ same: plain(form) }, { admin: { address: 'off' } }));
      symlinkSync(`..v${number}`, join(mount, '..data_tmp'));
      renameSync(join(mount, '..data_tmp'), join(mount, '..data'));
    };
    version(1, 'first');
    symlinkSync(join('..data', 'lineward.json'), join(mount, 'lineward.json'));
    const pod = await startListener(binary(), ['run', '--watch', join(mount, 'lineward.json')]);
    t.after(() => pod.stop());
    const url = `${new URL(pod.url).origin}/mcp/same`;
    assert.equal((await echo(url))[2], 'first');
    version(2, 'second');
    rmSync(join(mount, '..v1'), { recursive: true });
    await eventually(async () => (await echo(url))[2] === 'second', 'the swapped link');
  });

  test('a session of a changed server ends, that of an unchanged one goes on', async (t) => {
    const [command, ...args] = legacyFixture();
    const legacy = (form) => ({ command, args, env: { FORM: form } });
    const one = await running(t, { kept: legacy('a'), changed: legacy('a') });
    const kept = await openSession(one.at('kept'));
    const changed = await openSession(one.at('changed'));
    one.write({ kept: legacy('a'), changed: legacy('b') });
    const { out } = await one.reload();
    assert.match(out, /~ changed +env\.FORM changed +restarts now; its 1 session ends with it/);
    assert.equal((await kept({ method: 'tools/list' })).status, 200);
    assert.equal((await changed({ method: 'tools/list' })).status, 404);
    const again = await openSession(one.at('changed'));
    assert.equal((await again({ method: 'tools/list' })).status, 200);
  });

  test('the address can change; that of the control socket cannot', { skip: NOT_PLAIN }, async (t) => {
    const one = await running(t, { same: plain('a') });
    await echo(one.at('same'));
    one.write({ same: plain('a') }, { listen: { address: '127.0.0.1:00' }, admin: { address: 'off' } });
    const { out } = await one.reload();
    assert.match(out, /^ {2}~ listen\.address +127\.0\.0\.1:0 → 127\.0\.0\.1:00 +for new connections$/m);
    assert.match(out, /^ {2}! admin\.address +.* → off +needs a restart of lineward$/m);
    const { url } = await one.status();
    assert.notEqual(new URL(url).port, new URL(one.gateway.url).port);
    assert.equal((await echo(`${new URL(url).origin}/mcp/same`))[0], 'n');
    assert.equal((await echo(one.at('same')))[0], 'n', 'a connection that was open stays');
    const { hostname, port } = new URL(one.gateway.url);
    const [error] = await once(connect(Number(port), hostname), 'error');
    assert.equal(error.code, 'ECONNREFUSED');
  });
});

/** Calls over kept connections, one after the other on each; `each` hears of every answer. */
function load(url, connections, next, each) {
  const { hostname, port, pathname } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const call = (number) =>
    new Promise((resolve) => {
      const nonce = `n${number}`;
      const { body, ...post } = modernPost('tools/call', { name: 'echo', arguments: { nonce } }, { id: number });
      const sent = request({ agent, hostname, port, path: pathname, ...post }, (response) => {
        let text = '';
        response.on('data', (bytes) => (text += bytes));
        response.on('end', () => {
          const right = response.statusCode === 200 && text.includes(`"${nonce} `) && text.includes(`"id":${number}`);
          resolve({ kind: right ? 'ok' : 'wrong', text, close: response.headers.connection === 'close' });
        });
        response.on('error', (error) => resolve({ kind: 'cut', text: error.message }));
      });
      sent.on('error', (error) =>
        resolve({ kind: error.code === 'ECONNREFUSED' ? 'refused' : sent.reusedSocket ? 'stale' : 'hard', text: error.message }),
      );
      sent.end(body);
    });
  const worker = async () => {
    for (let number = next(); number !== undefined; number = next()) each(await call(number));
  };
  return Promise.all(Array.from({ length: connections }, worker)).finally(() => agent.destroy());
}

describe('under load', { skip }, () => {
  test(`${CALLS} calls over ${RELOADS} reloads: none is lost`, { timeout: LONG }, async (t) => {
    const servers = (turn) => ({ same: plain('a'), changing: plain(`form${turn}`) });
    const one = await running(t, servers(0));
    const [, pid] = await echo(one.at('same'));
    await echo(one.at('changing'));
    const counts = { ok: 0, wrong: 0, cut: 0, stale: 0, hard: 0, refused: 0 };
    let number = 0;
    let turn = 0;
    let first = '';
    const step = CALLS / (RELOADS + 1);
    const next = () => {
      if (number >= CALLS) return undefined;
      if (turn < RELOADS && number > step * (turn + 1)) {
        one.write(servers(++turn));
        process.kill(one.gateway.pid, 'SIGHUP');
      }
      return ++number;
    };
    const each = ({ kind, text }) => {
      if (kind !== 'ok') first ||= text;
      ++counts[kind];
    };
    const begin = Date.now();
    await Promise.all([load(one.at('same'), 8, next, each), load(one.at('changing'), 8, next, each)]);
    const seconds = (Date.now() - begin) / 1000;
    console.log(`${CALLS} calls, ${turn} reloads, ${seconds.toFixed(1)} s: ${JSON.stringify(counts)}`);
    assert.deepEqual(counts, { ok: CALLS, wrong: 0, cut: 0, stale: 0, hard: 0, refused: 0 }, first);
    assert.equal(turn, RELOADS);
    await eventually(async () => (await echo(one.at('changing')))[2] === `form${turn}`, 'the last form');
    assert.equal((await echo(one.at('same')))[1], pid, 'the unchanged server kept its process');
  });

  test(`SIGTERM under load, ${TERMS} times: every accepted request is answered`, { skip: NOT_PLAIN, timeout: 30_000 * TERMS }, async (t) => {
    for (let turn = 0; turn < TERMS; ++turn) {
      const one = await running(t, { same: plain('a') }, { stop: false });
      await echo(one.at('same'));
      const counts = { ok: 0, wrong: 0, cut: 0, stale: 0, hard: 0, refused: 0 };
      let number = 0;
      let over = false;
      let first = '';
      let ended;
      const next = () => {
        if (over) return undefined;
        if (++number === 300) ended = one.gateway.stop(); // rejects unless the exit code is 0
        return number;
      };
      const each = ({ kind, text }) => {
        ++counts[kind];
        if (kind === 'refused') over = true;
        else if (kind !== 'ok') first ||= text;
      };
      await load(one.at('same'), 16, next, each);
      await ended;
      assert.deepEqual({ ...counts, ok: 0, refused: 0 }, { ok: 0, wrong: 0, cut: 0, stale: 0, hard: 0, refused: 0 }, first);
      assert.ok(counts.ok >= 299 && counts.refused > 0);
    }
  });
});
