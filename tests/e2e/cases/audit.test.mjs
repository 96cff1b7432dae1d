// The audit log of a real gateway with two workers: what is in it, that it is whole, and that verify finds what is not.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { freePort } from '../lib/ports.mjs';
import { modernPost } from '../lib/modern.mjs';
import { callTool, eventually, get, lineward } from '../lib/operator.mjs';
import { call } from '../lib/raw-origin.mjs';
import { plain, running } from '../lib/reloading.mjs';
import { legacyFixture } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const linesOf = (path) => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []);
const recordsOf = (path) => linesOf(path).map((line) => JSON.parse(line));
const arrives = (path, wanted, what) => eventually(() => recordsOf(path).find(wanted), `a record of ${what}`);
const verify = (...args) => lineward(['audit', 'verify', ...args]);
const openssl = (...args) => assert.equal(spawnSync('openssl', args).status, 0);
const SECRET = 'hunter2-hunter2';

describe('audit', { skip: DIRECT }, () => {
  test('calls, refusals, actions and reloads of two workers are one chain, signed and closed', async (t) => {
    const folder = temporaryFolder(t);
    const [path, key, open, keys] = ['audit.jsonl', 'audit.key', 'audit.pub', 'keys.txt'].map((name) => join(folder, name));
    openssl('genpkey', '-algorithm', 'ed25519', '-out', key);
    openssl('pkey', '-in', key, '-pubout', '-out', open);
    chmodSync(key, 0o600);
    const apiKey = 'alice-0123456789abcdef';
    writeFileSync(keys, spawnSync(binary(), ['hash-key', 'alice'], { input: apiKey, encoding: 'utf8' }).stdout, { mode: 0o600 });
    const more = {
      workers: 2,
      audit: { path, keyFile: key, arguments: true, argumentBytes: '100B' },
      auth: { apiKey: { file: keys } },
      plugins: [
        { redact: { patterns: [SECRET] } },
        { toolFilter: { deny: ['until'] }, name: 'no-until' },
        { rateLimit: { key: 'principal+tool', requests: 1, per: '1h', tools: ['echo'] }, servers: ['b'], name: 'one-echo' },
      ],
    };
    const one = await running(t, { a: plain('a'), b: plain('b') }, { more });
    const post = async (server, name, args = {}, headers = { 'x-api-key': apiKey }) => {
      const params = { name, arguments: args, _meta: { progressToken: 'p' } };
      const response = await fetch(one.at(server), modernPost('tools/call', params, { id: 1, headers }));
      await response.text();
    };

    await post('a', 'echo', { nonce: SECRET });
    await post('b', 'echo', { nonce: 'second' });
    await post('b', 'echo', { nonce: 'too many' });
    await post('a', 'until');
    await post('a', 'echo', {}, {});
    const call = await arrives(path, (one) => one.type === 'call' && one.server === 'a' && one.target === 'echo', 'the call');
    assert.equal(call.who, 'alice');
    assert.equal(call.end, 'ok');
    assert.equal(call.sent, 'yes');
    assert.match(call.from, /^127\.0\.0\.1:\d+$/);
    assert.match(call.arguments, /nonce/);
    assert.ok(await arrives(path, (one) => one.server === 'b' && one.end === 'ok', 'the other server'));
    const limited = await arrives(path, (one) => one.end === 'rate_limited', 'the limit');
    assert.equal(limited.policy, 'one-echo');
    assert.equal(limited.sent, 'no');
    assert.equal((await arrives(path, (one) => one.target === 'until', 'the filter')).policy, 'no-until');
    const denied = await arrives(path, (one) => one.type === 'refusal', 'no key');
    assert.equal(denied.end, 'unauthorized');
    assert.equal(denied.status, 401);
    assert.equal(denied.path, '/mcp/a');

    const slow = post('b', 'slow', { onCancel: 'error' });
    const { id } = await eventually(async () => (await one.calls()).find((each) => each.progress?.progress === 61), 'a call');
    const admin = ['--admin', `unix:${join(one.folder, 'admin.sock')}`];
    assert.equal((await lineward(['cancel', id, '--reason', 'wrong repo', ...admin])).code, 0);
    await slow;
    const action = await arrives(path, (one) => one.action === 'call.cancel', 'the cancel');
    assert.deepEqual([action.call, action.outcome, action.why], [id, 'done', 'wrong repo']);
    assert.match(action.who, /^uid \d+/);
    assert.equal((await arrives(path, (one) => one.call === id && one.type === 'call', 'its end')).end, 'cancelled_operator');

    one.write({ a: plain('a'), b: plain('changed') }, more);
    assert.equal((await one.reload()).code, 0);
    writeFileSync(one.file, '{');
    assert.equal((await one.reload()).code, 78);
    assert.ok(await arrives(path, (one) => one.type === 'reload' && one.outcome === 'done', 'the reload'));
    assert.ok(await arrives(path, (one) => one.type === 'reload' && one.outcome === 'rejected' && one.why, 'the bad one'));
    assert.ok((await one.metric('lineward_audit_records_total')) >= 9);
    assert.equal(await one.metric('lineward_audit_lost_total'), 0);
    assert.equal(await one.metric('lineward_audit_writable'), 1);

    const live = await verify(path);
    assert.equal(live.code, 0, live.out);
    assert.match(live.out, /being written/);
    await one.gateway.stop();
    const whole = await verify('--closed', '--key', open, path);
    assert.equal(whole.code, 0, whole.out);
    const text = readFileSync(path, 'utf8');
    assert.ok(!text.includes(SECRET) && !text.includes(apiKey));
    const [, seq, hash] = /event=audit\.closed .*seq=(\d+) hash=([0-9a-f]{64})/.exec(one.gateway.stderr());
    assert.equal((await verify('--known', `${seq}:${hash}`, path)).code, 0);

    // Every record, taken out: found, and named.
    const lines = linesOf(path);
    const other = join(folder, 'other.jsonl');
    for (const [at, name] of [[1, 'record 2'], [lines.length - 2, `record ${lines.length - 1}`]]) {
      writeFileSync(other, lines.toSpliced(at, 1).join('\n') + '\n');
      const { code, out } = await verify(other);
      assert.equal(code, 1);
      assert.match(out, new RegExp(`the first is about ${name}\\n`));
    }
    writeFileSync(other, text.replace('"end":"rate_limited"', '"end":"ok"'));
    assert.match((await verify(other)).out, /was changed/);
    writeFileSync(other, lines.slice(0, -1).join('\n') + '\n');
    assert.equal((await verify(other)).code, 0);
    assert.equal((await verify('--closed', other)).code, 1);
    assert.equal((await verify('--known', `${seq}:${hash}`, other)).code, 1);
    assert.equal(JSON.parse((await verify('--format', 'json', other)).out).last, lines.length - 1);
  });

  test('of two replicas with two workers, under reloads and a drain, each call is in one file, once', { skip: NOT_PLAIN }, async (t) => {
    const keyFile = join(temporaryFolder(t), 'keys');
    writeFileSync(keyFile, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
    const ports = { a: await freePort(), b: await freePort() };
    const peers = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, `http://127.0.0.1:${port}`]));
    const folder = temporaryFolder(t);
    const pathOf = (name) => join(folder, `${name}.jsonl`);
    const of = (name) => ({
      workers: 2,
      listen: { address: `127.0.0.1:${ports[name]}` },
      audit: { path: pathOf(name), arguments: true },
      shutdown: { drain: '1s' },
      replicas: { keyFile, name, peers },
    });
    const [command, ...args] = legacyFixture();
    const servers = (form) => ({ s: { command, args }, other: plain(form) });
    const start = (name) => running(t, servers('1'), { more: of(name), stop: false });
    const both = { a: await start('a'), b: await start('b') };
    t.after(() => Promise.all(Object.values(both).map(({ gateway }) => gateway.stop())));
    const post = async (name, message, session) => {
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
      if (session) Object.assign(headers, { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' });
      const body = JSON.stringify({ jsonrpc: '2.0', ...message });
      const response = await fetch(both[name].at('s'), { method: 'POST', headers, body });
      return { session: response.headers.get('mcp-session-id'), text: await response.text() };
    };
    const told = [];
    // A session that one of them holds, with calls that come in at both; the file of the other server changes
    // meanwhile.
    const client = async (home, number) => {
      const clientInfo = { name: 'c', version: '1' };
      const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
      const { session } = await post(home, { id: 0, method: 'initialize', params });
      await post(home, { method: 'notifications/initialized' }, session);
      for (let n = 0; n < 12; ++n) {
        const nonce = `nonce-${home}-${number}-${n}.`;
        const asked = { id: `${number}-${n}`, method: 'tools/call', params: { name: 'test_echo', arguments: { nonce } } };
        const { text } = await post('ab'[n % 2], asked, session);
        assert.match(text, /"result"/);
        told.push(nonce);
      }
    };
    const clients = [0, 1, 2].flatMap((number) => ['a', 'b'].map((home) => client(home, number)));
    for (let n = 2; n < 6; ++n) {
      for (const name of ['a', 'b']) {
        both[name].write(servers(String(n)), of(name));
        assert.equal((await both[name].reload()).code, 0);
      }
    }
    await Promise.all(clients);
    assert.equal(told.length, 72);

    // A call at each that is under way when both are told to end.
    const slow = ['a', 'b'].map((name) =>
      fetch(both[name].at('other'), modernPost('tools/call', { name: 'slow', arguments: { nonce: `slow-${name}.` } }, { id: 9 })).then((r) => r.text()),
    );
    for (const { calls } of Object.values(both)) await eventually(async () => (await calls()).length > 0, 'a slow call');
    await Promise.all([...Object.values(both).map(({ gateway }) => gateway.stop()), ...slow]);
    const records = ['a', 'b'].flatMap((name) => recordsOf(pathOf(name)).filter(({ type }) => type === 'call'));
    for (const nonce of [...told, 'slow-a.', 'slow-b.'])
      assert.equal(records.filter((one) => one.arguments?.includes(nonce)).length, 1, nonce);
    for (const name of ['a', 'b']) {
      const { code, out } = await verify('--closed', pathOf(name));
      assert.equal(code, 0, out);
      assert.equal(recordsOf(pathOf(name)).filter(({ type, outcome }) => type === 'reload' && outcome === 'done').length, 4);
    }
  });

  test('a refused login at the console is recorded, and an action there has its address', async (t) => {
    const folder = temporaryFolder(t);
    const [path, tokens] = ['audit.jsonl', 'tokens'].map((name) => join(folder, name));
    const token = 'operator-0123456789abcdef';
    writeFileSync(tokens, `operate ${token}\n`, { mode: 0o600 });
    const admin = { address: '127.0.0.1:0', tokenFile: tokens };
    const one = await running(t, { s: plain() }, { more: { admin, audit: { path } } });
    const host = await eventually(() => /Admin +http:\/\/([^/\s]+)\//.exec(one.gateway.stderr())?.[1], 'the address');
    const form = (to, fields, headers = {}) =>
      get(host, to, { method: 'POST', headers: { host, origin: `http://${host}`, 'content-type': 'application/x-www-form-urlencoded', ...headers }, body: new URLSearchParams(fields).toString() });
    const refusal = (wanted, what) => arrives(path, (record) => record.type === 'refusal' && wanted(record), what);
    assert.equal((await get(host, '/console', { headers: { host: 'elsewhere.example' } })).status, 403);
    const foreign = await refusal(({ status }) => status === 403, 'the foreign host');
    assert.deepEqual([foreign.path, foreign.http, foreign.to], ['/console', 'GET', 'admin API']);
    assert.equal((await form('/console/login', { token: 'guessed-0123456789abcdef' })).status, 303);
    assert.match((await refusal((record) => record.path === '/console/login', 'the wrong token')).from, /^127\.0\.0\.1:\d+$/);
    assert.equal((await form('/console/do', { do: 'restart', name: 's' })).status, 401);
    assert.equal((await refusal((record) => record.path === '/console/do', 'no login')).status, 401);
    assert.equal((await get(host, '/console/role', { headers: { host, authorization: 'Bearer guess-0123456789abcdef' } })).status, 401);
    await refusal((record) => record.path === '/console/role', 'a guess');
    assert.equal((await get(host, '/console', { headers: { host } })).status, 401);
    const cookie = (await form('/console/login', { token })).headers['set-cookie'][0].split(';')[0];
    const page = (await get(host, '/console', { headers: { host, cookie } })).body;
    const its = /name="form" value="([^"]+)"/.exec(page)[1];
    assert.equal((await form('/console/do', { form: its, do: 'restart', name: 's' }, { cookie })).status, 303);
    const action = await arrives(path, (record) => record.action === 'server.restart', 'the restart');
    assert.match(action.from, /^127\.0\.0\.1:\d+$/);
    // To be asked for a token is no refusal.
    assert.equal(recordsOf(path).filter((record) => record.type === 'refusal').length, 4);
  });

  test('a call has its end if its client never returns with an answer', async (t) => {
    const path = join(temporaryFolder(t), 'audit.jsonl');
    const [command, ...args] = legacyFixture();
    const one = await running(t, { s: { command, args, timeouts: { park: '1s' } } }, { more: { audit: { path } } });
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
    const { message } = await call(one.gateway.url, 'tools/call', { name: 'test_elicitation', arguments: { message: 'who?' }, _meta });
    assert.equal(message.result?.resultType, 'input_required', JSON.stringify(message));
    const end = await arrives(path, (record) => record.end === 'timeout_park', 'the end');
    const round = recordsOf(path).find((record) => record.end === 'input_required');
    assert.deepEqual([end.call, end.method, end.target, end.server], [round.call, 'tools/call', 'test_elicitation', 's']);
  });

  test('on stdio, too, a request that is refused is recorded', async (t) => {
    const folder = temporaryFolder(t);
    const [path, file] = ['audit.jsonl', 'lineward.json'].map((name) => join(folder, name));
    writeFileSync(file, JSON.stringify({ ops: 'off', admin: 'off', log: { level: 'info' }, audit: { path }, mcpServers: { s: plain() } }));
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2099-01-01', 'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} };
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } };
    const { stdout, stderr } = spawnSync(binary(), ['stdio', file], { input: `${JSON.stringify(request)}\n`, encoding: 'utf8' });
    assert.equal(JSON.parse(stdout).error.code, -32022);
    assert.match(stderr, /event=request\.refused .*code=-32022/);
    const [record] = recordsOf(path).filter(({ type }) => type === 'refusal');
    assert.deepEqual([record.from, record.server, record.end, record.code], ['stdio', 's', 'invalid_request', -32022]);
  });

  test('a file that is moved away is closed, a full one too, and a killed process is noticed', async (t) => {
    const path = join(temporaryFolder(t), 'audit.jsonl');
    const more = { audit: { path, maxFileBytes: '16KiB' } };
    const one = await running(t, { s: plain() }, { more, stop: false });
    t.after(() => one.gateway.stop().catch(() => {})); // it is killed
    const call = async (to) => assert.ok((await callTool(to.gateway.url, 'echo', { nonce: 'n' }).answer).result);
    await call(one);
    await arrives(path, (record) => record.type === 'call', 'a call');
    renameSync(path, `${path}.moved`);
    process.kill(one.gateway.pid, 'SIGUSR1');
    await eventually(() => existsSync(path), 'it is opened anew');
    for (let i = 0; i < 60; ++i) await call(one);
    const full = () => readdirSync(join(path, '..')).filter((name) => /jsonl\.\d{12}$/.test(name)).map((name) => join(path, '..', name));
    await eventually(() => full().length > 0, 'a full file');
    process.kill(one.gateway.pid, 'SIGKILL');
    await one.gateway.stop().catch(() => {});
    const second = await running(t, { s: plain() }, { more });
    await call(second);
    await second.gateway.stop();
    const { code, out } = await verify('--closed', path, `${path}.moved`, ...full());
    assert.equal(code, 0, out);
    assert.match(out, /it crashed/);
    const missing = await verify('--closed', path, `${path}.moved`, ...full().slice(1));
    assert.equal(missing.code, 1);
    assert.match(missing.out, /are missing behind .*moved/);
  });

  test('a file that is not fit stops the start, and the command line says what it wants', async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'lineward.json');
    const path = join(folder, 'audit.jsonl');
    writeFileSync(path, 'a letter\n');
    const start = (audit) => {
      writeFileSync(file, JSON.stringify({ listen: { address: '127.0.0.1:0' }, ops: 'off', audit, mcpServers: { s: plain() } }));
      return lineward(['run', '--ops', 'off', '--admin', 'off', file]);
    };
    const refused = await start({ path });
    assert.equal(refused.code, 78);
    assert.match(refused.err, /audit\.path: .* is no audit log/);
    assert.equal(readFileSync(path, 'utf8'), 'a letter\n');
    assert.match((await start({ path, keyFile: path })).err, /audit\.keyFile: .* no private key/);
    assert.match((await start({ arguments: true })).err, /audit .*takes a path/);
    assert.equal((await verify()).code, 2);
    assert.equal((await lineward(['audit', 'check'])).code, 2);
    assert.equal((await verify(join(folder, 'none'))).code, 69);
    assert.equal((await verify('--known', 'x', path)).code, 2);
    assert.equal((await verify(path)).code, 1);
  });
});
