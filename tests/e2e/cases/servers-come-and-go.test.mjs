// include: and lineward server add, remove, enable, disable, list: servers come and go while the gateway runs.
//
// LINEWARD_CHANGES and LINEWARD_CHANGES_RATE set how long the test of losses is, and how many calls a second it sends.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { Inbox, temporaryFolder } from '../lib/events.mjs';
import { startListener } from '../lib/gateway.mjs';
import { modernPost } from '../lib/modern.mjs';
import { callTool, eventually, get, lineward } from '../lib/operator.mjs';
import { json, startOrigin } from '../lib/origin.mjs';
import { plain } from '../lib/reloading.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const skip = DIRECT;
const CHANGES = Number(process.env.LINEWARD_CHANGES ?? 20);
const RATE = Number(process.env.LINEWARD_CHANGES_RATE ?? 500);
const WITHIN_MS = 1000;
const OWN = 'lineward-servers.yaml';

const YAML = (value) => JSON.stringify(value, null, 1);

/** A gateway with a configuration that includes servers.d: server(...words), and what else a test needs. */
async function running(t, mcpServers, { args = [], folder = temporaryFolder(t), start = true, more = {} } = {}) {
  const file = join(folder, 'lineward.yaml');
  const socket = join(folder, 'admin.sock');
  const parts = join(folder, 'servers.d');
  const text = YAML({
    listen: { address: '127.0.0.1:0' },
    ops: { address: 'off' },
    admin: { address: `unix:${socket}` },
    include: ['servers.d/*.yaml'],
    ...more,
    mcpServers,
  });
  writeFileSync(file, text);
  const gateway = start ? await startListener(binary(), ['run', ...args, file]) : undefined;
  if (gateway) t.after(() => gateway.stop());
  const admin = start ? ['--admin', `unix:${socket}`] : ['--config', file, '--admin', `unix:${socket}`];
  return {
    gateway,
    file,
    text,
    parts,
    socket,
    own: join(parts, OWN),
    at: (name) => `${new URL(gateway.url).origin}/mcp/${name}`,
    server: (action, ...words) => {
      const dashes = words.indexOf('--');
      const ours = dashes < 0 ? words : words.slice(0, dashes);
      return lineward(['server', action, ...ours, ...admin, ...(dashes < 0 ? [] : words.slice(dashes))]);
    },
    status: async () => JSON.parse((await get(socket, '/api/v1/status')).body),
    names: async () => {
      const { upstreams } = JSON.parse((await get(socket, '/api/v1/status')).body);
      return upstreams.filter(({ state }) => state !== 'disabled' && state !== 'draining').map(({ name }) => name);
    },
  };
}

const command = () => {
  const { command: program, args } = plain();
  return [program, ...args];
};
const echo = async (url) => (await callTool(url, 'echo', { nonce: 'n' }).answer).result.content[0].text;

describe('lineward server', { skip }, () => {
  test('add, disable, enable and remove, in a file of its own; a secret is kept and never printed', async (t) => {
    const one = await running(t, { mine: plain('a') });
    const added = await one.server('add', 'time', '-e', 'FORM=hunter2', '--', ...command());
    assert.equal(added.code, 0, added.err);
    assert.match(added.out, /^ {2}\+ time +new$/m);
    assert.match(added.out, /^reloaded in \d+ms/m);
    assert.equal(statSync(one.own).mode & 0o777, 0o600);
    assert.match(readFileSync(one.own, 'utf8'), /^# Written by `lineward server`/);
    assert.match(readFileSync(one.own, 'utf8'), /"FORM": "hunter2"/);
    assert.match(await echo(one.at('time')), / hunter2$/);
    assert.deepEqual(readdirSync(one.parts), [OWN], 'nothing else is left there');

    const twice = await one.server('add', 'time', '--url', 'http://127.0.0.1:9/mcp');
    assert.equal(twice.code, 1);
    assert.match(twice.err, /lineward-servers\.yaml has a server 'time' already/);
    const theirs = await one.server('remove', 'mine');
    assert.equal(theirs.code, 1);
    assert.match(theirs.err, /'mine' is defined in \S*lineward\.yaml, which Lineward does not change/);

    const off = await one.server('disable', 'mine');
    assert.equal(off.code, 0, off.err);
    assert.match(off.out, /^ {2}- mine +disabled/m);
    assert.ok(!(await one.names()).includes('mine'));
    assert.match((await one.server('disable', 'mine')).out, /mine is disabled already/);
    const listed = await one.server('list');
    assert.match(listed.out, /^mine +disabled +stdio +\S*lineward\.yaml$/m);
    assert.match(listed.out, /^time +enabled +stdio +\S*lineward-servers\.yaml$/m);
    assert.deepEqual(
      JSON.parse((await one.server('list', '--format', 'json')).out).servers.map(({ name, disabled }) => [name, disabled]),
      [['mine', true], ['time', false]],
    );
    assert.match((await one.server('enable', 'mine')).out, /^ {2}\+ mine +enabled/m);
    assert.match(await echo(one.at('mine')), /^n /);
    const removed = await one.server('remove', 'time');
    assert.match(removed.out, /^ {2}- time +removed/m);
    const unknown = await one.server('remove', 'time');
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /there is no server 'time'/);
    assert.equal(readFileSync(one.file, 'utf8'), one.text, 'the user’s file is as it was');
    for (const { out, err } of [added, twice, off, listed, removed]) assert.doesNotMatch(out + err, /hunter2/);
    assert.doesNotMatch(one.gateway.stderr(), /hunter2/);
  });

  test('a change that the configuration does not allow is not written', async (t) => {
    const one = await running(t, { mine: plain('a') });
    const bad = await one.server('add', 'x', '--url', 'ftp://nowhere');
    assert.equal(bad.code, 78, bad.out);
    assert.match(bad.err, /--> \S*lineward-servers\.yaml:\d+:\d+/);
    assert.match(bad.err, /nothing was written/);
    assert.ok(!existsSync(one.own));
    for (const words of [['add'], ['add', 'x'], ['add', 'a b', '--url', 'http://h'], ['disable', 'x', '--url', 'http://h'], ['list', 'x']])
      assert.equal((await one.server(...words)).code, 2, words.join(' '));
    writeFileSync(join(one.parts, OWN), '{"mcpServers": {}}');
    const foreign = await one.server('add', 'x', '--url', 'http://127.0.0.1:9/mcp');
    assert.equal(foreign.code, 1);
    assert.match(foreign.err, /was not written by lineward server/);
    assert.equal(readFileSync(one.own, 'utf8'), '{"mcpServers": {}}');
  });

  test('a change that the gateway rejects is taken back', async (t) => {
    const one = await running(t, { mine: plain('a') });
    assert.equal((await one.server('add', 'x', '--url', 'http://127.0.0.1:9/mcp')).code, 0);
    const before = readFileSync(one.own, 'utf8');
    chmodSync(one.own, 0o640);
    const { ino } = statSync(one.own);
    // The variable is unknown to the command, which leaves it to the gateway; the gateway does not have it either.
    const { code, err, out } = await one.server('add', 'y', '-e', 'LINEWARD_TEST_NOWHERE', '--', ...command());
    assert.equal(code, 78, out);
    assert.match(err, /LINEWARD_TEST_NOWHERE/);
    assert.match(err, /nothing was changed/);
    assert.equal(readFileSync(one.own, 'utf8'), before);
    assert.deepEqual([statSync(one.own).ino, statSync(one.own).mode & 0o777], [ino, 0o640], 'the file itself is back');
    assert.deepEqual(readdirSync(one.parts), [OWN]);
    assert.ok(!(await one.names()).includes('y'));
    assert.equal((await one.server('remove', 'x')).code, 0);
    assert.equal(statSync(one.own).mode & 0o777, 0o640, 'a change keeps the mode');
  });

  test('without a running gateway it only writes; without include it says what to add', async (t) => {
    const one = await running(t, { mine: plain('a') }, { start: false });
    const { code, out } = await one.server('add', 'app', '--url', 'https://mcp.example.com/mcp', '-H', 'Authorization: Bearer ${env:T:-x}');
    assert.equal(code, 0);
    assert.match(out, /lineward-servers\.yaml is written; no running gateway/);
    assert.match((await lineward(['validate', one.file])).out, /ok, 2 servers/);
    assert.equal((await one.server('disable', 'mine')).code, 0);
    writeFileSync(one.file, one.text.replace('"mine"', '"renamed"'));
    assert.equal((await one.server('remove', 'mine')).code, 0, 'a name that is only disabled');
    assert.doesNotMatch(readFileSync(one.own, 'utf8'), /mine/);
    renameSync(one.own, join(one.parts, 'elsewhere'));
    symlinkSync('elsewhere', one.own);
    const linked = await one.server('remove', 'app');
    assert.equal(linked.code, 1);
    assert.match(linked.err, /lineward-servers\.yaml is a symbolic link/);
    const none = await running(t, { mine: plain('a') }, { start: false, more: { include: undefined } });
    const refused = await none.server('disable', 'mine');
    assert.equal(refused.code, 78);
    assert.match(refused.err, /fix +add to it: include: \["servers\.d\/\*\.yaml"\]/);
  });

  test('twenty commands at once: each change is there', async (t) => {
    const one = await running(t, { mine: plain('a') });
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) => one.server('add', `s${i}`, '--url', `http://127.0.0.1:9/s${i}`)),
    );
    for (const { code, err } of all) assert.equal(code, 0, err);
    const names = new Set(await one.names());
    for (let i = 0; i < 20; ++i) assert.ok(names.has(`s${i}`), `s${i}`);
  });
});

describe('include', { skip }, () => {
  test('a bad included file names itself, and changes nothing', async (t) => {
    const one = await running(t, { mine: plain('a') });
    mkdirSync(one.parts);
    writeFileSync(join(one.parts, 'good.yaml'), YAML({ mcpServers: { good: plain('g') } }));
    writeFileSync(join(one.parts, 'bad.yaml'), 'mcpServers:\n  bad: { command: cat }\nlisten: { path: /x }\n');
    const bad = await lineward(['reload', '--admin', `unix:${one.socket}`]);
    assert.equal(bad.code, 78);
    assert.match(bad.err, /error\[not-included\].*\n +--> \S*servers\.d\/bad\.yaml:3:1\n/);
    assert.deepEqual(await one.names(), ['mine']);
    assert.match(one.gateway.stderr(), /event=config\.rejected .*bad\.yaml:3:1/);
    rmSync(join(one.parts, 'bad.yaml'));
    assert.equal((await lineward(['reload', '--admin', `unix:${one.socket}`])).code, 0);
    assert.match(await echo(one.at('good')), / g$/);
  });

  test('--watch sees files that come, change and go, and the link swap of a ConfigMap', async (t) => {
    const one = await running(t, { mine: plain('a') }, { args: ['--watch'] });
    const form = (name, value) => {
      const file = join(one.parts, `${name}.yaml`);
      writeFileSync(`${file}.tmp`, YAML({ mcpServers: { [name]: plain(value) } }));
      renameSync(`${file}.tmp`, file);
    };
    mkdirSync(one.parts);
    form('two', 'first');
    await eventually(async () => (await one.names()).includes('two'), 'the new file, in a new directory');
    form('two', 'second');
    await eventually(async () => / second$/.test(await echo(one.at('two'))), 'the changed file');
    rmSync(join(one.parts, 'two.yaml'));
    await eventually(async () => !(await one.names()).includes('two'), 'the end of the file');

    const version = (number, value) => {
      mkdirSync(join(one.parts, `..v${number}`));
      writeFileSync(join(one.parts, `..v${number}`, 'map.yaml'), YAML({ mcpServers: { map: plain(value) } }));
      symlinkSync(`..v${number}`, join(one.parts, '..data_tmp'));
      renameSync(join(one.parts, '..data_tmp'), join(one.parts, '..data'));
    };
    version(1, 'one');
    symlinkSync(join('..data', 'map.yaml'), join(one.parts, 'map.yaml'));
    await eventually(async () => (await one.names()).includes('map'), 'the linked file');
    assert.match(await echo(one.at('map')), / one$/);
    version(2, 'two');
    rmSync(join(one.parts, '..v1'), { recursive: true });
    await eventually(async () => / two$/.test(await echo(one.at('map'))), 'the swapped link');
  });
});

/** Calls at a rate over kept connections: {counts, first, stop()}. */
function callsAt(url, rate) {
  const { hostname, port, pathname } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const counts = { sent: 0, ok: 0, wrong: 0, broken: 0 };
  const load = { counts, first: '', stop: undefined };
  const open = new Set();
  const call = (number) => {
    const nonce = `n${number}`;
    const { body, ...post } = modernPost('tools/call', { name: 'echo', arguments: { nonce } }, { id: number });
    const done = new Promise((resolve) => {
      const end = (kind, text) => {
        ++counts[kind];
        if (kind !== 'ok') load.first ||= text;
        resolve();
      };
      const sent = request({ agent, hostname, port, path: pathname, ...post }, (response) => {
        let text = '';
        response.on('data', (bytes) => (text += bytes));
        response.on('end', () => end(response.statusCode === 200 && text.includes(`"${nonce} `) ? 'ok' : 'wrong', text));
        response.on('error', (error) => end('broken', error.message));
      });
      sent.on('error', (error) => end('broken', error.message));
      sent.end(body);
    });
    open.add(done);
    done.then(() => open.delete(done));
  };
  const began = performance.now();
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - began) / 1000) * rate);
    // A machine that cannot keep up gets no heap of requests.
    while (counts.sent < due && open.size < 256) call(++counts.sent);
  }, 5);
  load.stop = async () => {
    clearInterval(timer);
    await Promise.all(open);
    agent.destroy();
    return (performance.now() - began) / 1000;
  };
  return load;
}

/** A listen for changes of the lists: an inbox of the times of its news. */
async function listen(t, url) {
  const leave = new AbortController();
  t.after(() => leave.abort());
  const post = modernPost('subscriptions/listen', { notifications: { toolsListChanged: true } }, { id: 1 });
  const response = await fetch(url, { ...post, signal: leave.signal });
  assert.equal(response.status, 200);
  const news = new Inbox();
  const open = new Inbox();
  (async () => {
    let text = '';
    for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
      text += bytes;
      for (let end; (end = text.indexOf('\n')) >= 0; text = text.slice(end + 1)) {
        const line = text.slice(0, end);
        if (line.includes('subscriptions/acknowledged')) open.put(true);
        if (line.includes('tools/list_changed')) news.put(performance.now());
      }
    }
  })().catch(() => {});
  await open.count(1, 'the acknowledgement');
  return news;
}

describe('under load', { skip }, () => {
  test(`${CHANGES} changes under ${RATE} calls a second: nothing is lost, and listeners hear of each within a second`, { timeout: 60_000 + CHANGES * 5000 }, async (t) => {
    const info = { name: 'o', version: '1' };
    const origin = await startOrigin((_, response, body) => {
      const results = {
        'server/discover': {
          resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private',
          _meta: { 'io.modelcontextprotocol/serverInfo': info },
        },
        'tools/list': { resultType: 'complete', tools: [{ name: 'x', inputSchema: { type: 'object' } }], ttlMs: 0, cacheScope: 'private' },
      };
      const known = results[body?.method];
      json(response, { jsonrpc: '2.0', id: body?.id, ...(known ? { result: known } : { error: { code: -32601, message: 'no' } }) });
    });
    t.after(() => origin.stop());
    const one = await running(t, { main: plain('a'), other: plain('b') });
    const news = await listen(t, `${new URL(one.gateway.url).origin}/mcp`);
    const pid = (await echo(one.at('main'))).split(' ')[1];
    const load = callsAt(one.at('main'), RATE);
    let longest = 0;
    for (let change = 0; change < CHANGES; ++change) {
      const name = `s${(change >> 1) % 7}`;
      const before = news.items.length;
      const { code, err } = change % 2 === 0
        ? await one.server('add', name, '--url', `${origin.origin}/mcp`)
        : await one.server('remove', name);
      assert.equal(code, 0, err);
      const done = performance.now();
      await news.count(before + 1, `the news of change ${change}`);
      longest = Math.max(longest, news.items[before] - done);
    }
    const seconds = await load.stop();
    const { sent, ...counts } = load.counts;
    console.log(`${CHANGES} changes, ${sent} calls in ${seconds.toFixed(1)} s (${Math.round(sent / seconds)}/s): ${JSON.stringify(counts)}; news at most ${Math.max(0, longest).toFixed(0)} ms after a change`);
    assert.deepEqual(counts, { ok: sent, wrong: 0, broken: 0 }, load.first);
    assert.ok(longest < WITHIN_MS, `${longest} ms`);
    assert.equal((await echo(one.at('main'))).split(' ')[1], pid, 'the server kept its process');
  });
});
