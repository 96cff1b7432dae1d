// The commands that watch and steer a running gateway: servers, server, sessions, subs, tail and top, which is looked at
// through a pseudo-terminal.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { Inbox, bounded, temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { META, modernPost } from '../lib/modern.mjs';
import { callTool, eventually, get, lineward } from '../lib/operator.mjs';
import { modernFixture, plainFixture } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const skip = DIRECT;
const server = ([command, ...args]) => ({ command, args });

async function running(t, { folder = temporaryFolder(t), servers = {}, ...config } = {}) {
  const socket = join(folder, 'admin.sock');
  const start = () =>
    startGatewayFrom(t, {
      ops: 'off',
      admin: { address: `unix:${socket}` },
      ...config,
      mcpServers: { github: server(plainFixture()), other: server(plainFixture()), ...servers },
    });
  const ask = async (path) => JSON.parse((await get(socket, path)).body);
  const underWay = (n = 1) =>
    eventually(async () => {
      const calls = (await ask('/api/v1/calls')).calls.filter((call) => call.progress?.progress === 61);
      return calls.length >= n && calls;
    }, `${n} calls with progress`);
  return { gateway: await start(), start, socket, ask, underWay, admin: ['--admin', `unix:${socket}`] };
}

/** A command that goes on: until(regex) waits for it on stdout and stderr, ended resolves with its exit code or signal. */
function follow(t, command, args, env = {}) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  const inbox = new Inbox();
  const texts = { out: '', err: '' };
  child.stdin.on('error', () => {});
  for (const [name, stream] of [['out', child.stdout], ['err', child.stderr]])
    stream.setEncoding('utf8').on('data', (text) => {
      texts[name] += text;
      inbox.put(text);
    });
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)));
  t.after(() => child.kill('SIGKILL'));
  return {
    child,
    texts,
    ended: () => bounded(ended, 20_000, `the end of ${args[0]}`),
    until: (wanted, where = 'out') => inbox.when(() => wanted.exec(texts[where]) ?? undefined, String(wanted)),
    see: (look, what) => inbox.when(() => look(texts.out) || undefined, what),
    type: (text) => child.stdin.write(text),
  };
}

/** lineward top on a terminal of that size: screen() is what it shows, as lines. */
function onTerminal(t, args, { columns = 80, rows = 24, env = {} } = {}) {
  const quoted = [binary(), 'top', ...args].map((word) => `'${word}'`).join(' ');
  const inner = `stty rows ${rows} cols ${columns}; ${quoted}; echo "code=$?"`;
  const one = follow(t, 'script', ['-qec', inner, '/dev/null'], { TERM: 'xterm', SHELL: '/bin/sh', ...env });
  const frames = (text) => text.split('\x1b[H').slice(1).map((frame) => frame.replace(/\x1b\[[0-9;?]*[a-zA-Z]/g, '').split(/\r+\n/));
  return {
    ...one,
    /** Resolves with the first whole screen that fits, from now on. */
    shows: (fits, what) =>
      one.see((text) => frames(text).findLast((lines) => lines.length === rows && fits(lines.join('\n'), lines)), what),
  };
}

/** The listen request of a modern client; ends with the test. */
function listen(t, url, id, notifications) {
  const leave = new AbortController();
  const _meta = { [`${META}clientInfo`]: { name: 'inspector', version: '2.12' } };
  const request = modernPost('subscriptions/listen', { notifications, _meta }, { id });
  fetch(url, { ...request, signal: leave.signal })
    .then((response) => response.text())
    .catch(() => {});
  t.after(() => leave.abort());
}

describe('lineward servers, server, sessions, subs', { skip }, () => {
  test('servers: a table, one of them in full, and JSON', async (t) => {
    const { gateway, admin, underWay } = await running(t);
    const call = callTool(`${gateway.url}/github`, 'slow', { onCancel: 'error' });
    t.after(call.abort);
    await underWay();
    const { code, out } = await lineward(['servers', ...admin]);
    assert.equal(code, 0);
    const [head, github] = out.split('\n');
    assert.match(head, /^SERVER +STATE +KIND +ERA +CALLS +WAITING +LISTENS +SESSIONS +PROCESSES +MEMORY +BREAKER +ENDED +TIMEOUTS +SAYS$/);
    assert.match(github, /^github +ready +stdio +modern +1\/64 +0 +0 +0 +1 +\d+ MiB +closed +0 +0 +plain 1\?\[31m$/);
    assert.doesNotMatch(out, /\x1b/);
    const one = await lineward(['server', 'github', ...admin]);
    assert.match(one.out, /^github {2}ready\n {2}kind +stdio {2}modern {2}2026-07-28\n/);
    assert.match(one.out, /^ {2}process +pid \d+ .*MiB/m);
    const all = JSON.parse((await lineward(['servers', '--format', 'json', ...admin])).out).servers;
    assert.deepEqual(all.map(({ name }) => name), ['github', 'other', '/mcp']);
    assert.equal(JSON.parse((await lineward(['server', '/mcp', '--format', 'json', ...admin])).out).name, '/mcp');
  });

  test('sessions and subs: all clients, and each listen with its id', async (t) => {
    const { gateway, admin, ask } = await running(t, { servers: { news: server(modernFixture()) } });
    assert.match((await lineward(['sessions', ...admin])).err, /^no sessions$/m);
    assert.match((await lineward(['subs', ...admin])).err, /^no open listens$/m);
    listen(t, `${gateway.url}/news`, 'mine\u001b[2J', { toolsListChanged: true, resourceSubscriptions: ['test://watched'] });
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'old', version: '1\u202e' } };
    const answer = await fetch(`${gateway.url}/news`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    });
    const id = answer.headers.get('mcp-session-id');
    await answer.text();
    assert.ok(id);
    await eventually(async () => (await ask('/api/v1/listens')).listens[0]?.state === 'listening', 'the listen');
    const subs = (await lineward(['subs', ...admin])).out;
    assert.match(
      subs,
      /^news\n└─ c\w+ {2}inspector 2\.12 \(127\.0\.0\.1:\d+\) {2}id "mine\S*" {2}since \S+ {2}\d+ events?\n {3}├─ the list of tools\n {3}└─ test:\/\/watched\n$/,
    );
    assert.doesNotMatch(subs, /\x1b/);
    assert.match((await lineward(['subs', '--upstream', 'github', ...admin])).err, /no open listens/);
    const sessions = (await lineward(['sessions', ...admin])).out;
    assert.match(sessions, new RegExp(`^${id.slice(0, 8)} +news +anonymous, old 1\\? +2025-06-18 `, 'm'));
    assert.ok(!sessions.includes(id), 'the id itself is a secret');
    assert.equal(JSON.parse((await lineward(['sessions', '--format', 'json', ...admin])).out).sessions.length, 1);
    assert.equal(JSON.parse((await lineward(['subs', '--format', 'json', ...admin])).out).listens[0].filter.tools, true);
  });

  test('server: a server with calls is not stopped without --yes; stop, start, drain, restart', async (t) => {
    const { gateway, admin, underWay, ask } = await running(t);
    const act = (...words) => lineward(['server', ...words, ...admin]);
    const first = callTool(`${gateway.url}/github`, 'slow', { onCancel: 'error' });
    await underWay();
    const asked = await act('github', 'stop');
    assert.equal(asked.code, 2);
    assert.equal(asked.err, 'stop github ends at once: 1 call. Add --yes to do it, or drain it: its calls go on then\n');
    assert.equal((await act('github', 'restart', '--force')).code, 2);
    assert.equal((await ask('/api/v1/servers/github')).state, 'ready');
    const late = await act('github', 'drain', '--wait', '--timeout', '200ms');
    assert.equal(late.code, 124);
    assert.equal(late.out, 'github takes no new calls; 1 call may go on\n');
    assert.match(late.err, /^error: github is still draining after 0\.2s: 1 call may go on$/m);
    const stopped = await act('github', 'stop', '--yes', '--wait', '--reason', 'leaks');
    assert.deepEqual([stopped.code, stopped.out], [0, 'github is out of service; ends at once: 1 call\n']);
    assert.equal((await first.answer).error.code, 499);
    assert.equal((await ask('/api/v1/servers/github')).state, 'disabled');
    const started = await act('github', 'start', '--wait');
    assert.deepEqual([started.code, started.out], [0, 'github is back in service\n']);
    const again = await act('github', 'start');
    assert.deepEqual([again.code, again.err], [1, 'error: github is in service\n']);
    const anew = await act('github', 'restart', '--wait', '--format', 'json');
    assert.deepEqual([anew.code, JSON.parse(anew.out).action], [0, 'restart']);
    const unknown = await act('gihub', 'stop');
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /^error: there is no server 'gihub'; did you mean 'github'\?$/m);
    assert.match((await act('no/such?server')).err, /there is no server/);
    for (const words of [[], ['github', 'kill'], ['github', 'stop', '--force'], ['github', '--wait'], ['github', 'stop', '--timeout', '5']])
      assert.equal((await act(...words)).code, 2, words.join(' '));
  });

  test('a caller that may only read changes nothing: 77', async (t) => {
    const folder = temporaryFolder(t);
    const { admin } = await running(t, { folder, admin: { address: `unix:${join(folder, 'admin.sock')}`, readOnly: true } });
    const { code, err } = await lineward(['server', 'github', 'drain', ...admin]);
    assert.equal(code, 77);
    assert.match(err, /^error: nothing can be changed here \(admin\.readOnly\)$/m);
    assert.equal((await lineward(['servers', ...admin])).code, 0);
  });
});

describe('lineward tail', { skip }, () => {
  test('a line for what begins, goes on and ends; nothing steers the terminal; Ctrl-C ends it with 0', async (t) => {
    const { gateway, admin, underWay } = await running(t);
    const all = follow(t, binary(), ['tail', ...admin]);
    const errors = follow(t, binary(), ['tail', '--errors', '--upstream', 'github', ...admin]);
    const json = follow(t, binary(), ['tail', '--types', 'calls', '--format', 'json', ...admin]);
    await json.until(/"event":"hello"/);
    await all.until(/server {4}github/);
    const call = callTool(`${gateway.url}/github`, 'slow', { onCancel: 'error' });
    const [{ id }] = await underWay();
    await all.until(new RegExp(`^\\d\\d:\\d\\d:\\d\\d\\.\\d{3}  begin     ${id} +github  tools/call slow  from probe 2\\.1$`, 'm'));
    await all.until(new RegExp(`  progress  ${id} +github  tools/call slow  61/100 "indexing\\?\\[2J"$`, 'm'));
    await lineward(['cancel', id, ...admin]);
    assert.equal((await call.answer).error.code, 499);
    const end = new RegExp(`  end       ${id} +github  tools/call slow  cancelled_operator after \\S+, error 499, \\d+ bytes`);
    await all.until(end);
    await all.until(new RegExp(`  settled   ${id} .*its cancel: stopped after \\d+ms$`, 'm'));
    await all.until(/gateway {3}admin\.action {2}action=call\.cancel/);
    await errors.until(end);
    assert.doesNotMatch(errors.texts.out, /begin|progress/);
    await json.until(/"event":"call\.settled"/);
    const events = json.texts.out.trimEnd().split('\n').map((line) => JSON.parse(line));
    for (const name of ['call.begin', 'call.progress', 'call.cancel', 'call.end', 'call.settled'])
      assert.ok(events.some(({ event, data }) => event === name && data.id === id), name);
    for (const one of [all, errors, json]) {
      assert.doesNotMatch(one.texts.out, /\x1b/);
      one.child.kill('SIGINT');
      assert.equal(await one.ended(), 0);
    }
  });

  test('a gateway that restarts is found again, and what was missed is said', async (t) => {
    const { gateway, admin, start } = await running(t);
    const tail = follow(t, binary(), ['tail', '--types', 'calls', ...admin]);
    const brief = follow(t, binary(), ['tail', '--retry', '100ms', '--types', 'servers', ...admin]);
    await brief.until(/server {4}github/);
    callTool(`${gateway.url}/github`, 'echo', { nonce: 'x' });
    await tail.until(/ end {7}/);
    await gateway.stop();
    await tail.until(/looking for it for 1m/, 'err');
    assert.equal(await brief.ended(), 69);
    assert.match(brief.texts.err, /^error: the gateway did not come back within 100ms$/m);
    const next = await start();
    await tail.until(/^\S+ {2}lost {6}another process answers now/m);
    assert.match(tail.texts.err, /the gateway is there again after \S+$/m);
    const before = tail.texts.out.length;
    await callTool(`${next.url}/other`, 'echo', { nonce: 'y' }).answer;
    await tail.until(/ end {7}\S+ +other/);
    assert.doesNotMatch(tail.texts.out.slice(before), /github/);
    tail.child.kill('SIGTERM');
    assert.equal(await tail.ended(), 0);
  });

  test('it ends when its output has no reader any more, also while nothing happens', async (t) => {
    const { admin } = await running(t);
    const tail = follow(t, binary(), ['tail', ...admin]);
    await tail.until(/server {4}github/);
    tail.child.stdout.destroy();
    assert.equal(await tail.ended(), 0);
  });

  test('bad words: 2', async (t) => {
    const { admin } = await running(t);
    for (const words of [['--types', 'calls,'], ['--types', 'all'], ['--retry', '5'], ['more']])
      assert.equal((await lineward(['tail', ...words, ...admin])).code, 2, words.join(' '));
  });
});

describe('lineward top', { skip }, () => {
  test('without a terminal: one screen, or JSON', async (t) => {
    const { gateway, admin, underWay } = await running(t);
    assert.match((await lineward(['top', ...admin])).out, /serving.*\n\nno calls in flight\n$/s);
    const call = callTool(`${gateway.url}/github`, 'slow', { onCancel: 'error' });
    t.after(call.abort);
    const [{ id }] = await underWay();
    const { code, out } = await lineward(['top', ...admin]);
    assert.equal(code, 0);
    assert.match(out, new RegExp(`^lineward \\S+  serving .*^CALL +AGE .*^${id} `, 'ms'));
    assert.doesNotMatch(out, /\x1b/);
    const json = JSON.parse((await lineward(['top', '--format', 'json', ...admin])).out);
    assert.deepEqual([json.calls[0].id, json.status.pid, json.servers[0].name], [id, gateway.pid, 'github']);
    assert.equal((await lineward(['top', '--interval', '1ms', ...admin])).code, 2);
  });

  test('calls on the screen: choose, filter, cancel after a question, story, quit; the terminal is as it was', async (t) => {
    const { gateway, admin, underWay } = await running(t);
    const one = callTool(`${gateway.url}/github`, 'slow', { onCancel: 'error' });
    const two = callTool(`${gateway.url}/other`, 'slow', { onCancel: 'error' }, { id: 2 });
    t.after(two.abort);
    const calls = await underWay(2);
    const id = (name) => calls.find(({ upstream }) => upstream === name).id;
    const top = onTerminal(t, ['--interval', '100ms', ...admin], { columns: 120 });
    await top.shows((text) => text.includes(id('github')) && text.includes('61/100 "indexing?[2'), 'both calls');
    top.type('/github\r');
    const only = await top.shows((text) => !text.includes(id('other')) && text.includes('1/1 of 2'), 'the filter');
    assert.match(only.join('\n'), new RegExp(`^> ${id('github')} `, 'm'));
    top.type('\r');
    await top.shows((text) => /timeline +arrived +\+0ms/.test(text), 'its story');
    top.type('x');
    top.type('c');
    await top.shows((text) => text.includes(`cancel ${id('github')}? y/n  slow on github`), 'the question');
    top.type('y');
    assert.equal((await one.answer).error.code, 499);
    await top.shows((text) => text.includes(`${id('github')} cancelled after`), 'what became of it');
    top.type('\x1b');
    await top.shows((text) => text.includes(id('other')), 'all calls again');
    top.type('l');
    await top.shows((text) => /^LOG\n.*call\.end/ms.test(text), 'the log');
    top.type('q');
    await top.until(/code=0/);
    const out = top.texts.out;
    assert.match(out.slice(out.lastIndexOf('\x1b[?1049h')), /\x1b\[\?7h\x1b\[\?25h\x1b\[\?1049l\s*code=0/);
    await top.ended();
  });

  test('40 columns, no colour with NO_COLOR; a gateway that goes and comes back; the end by a signal', async (t) => {
    const { gateway, admin, start } = await running(t);
    const top = onTerminal(t, ['--interval', '100ms', ...admin], { columns: 40, rows: 12, env: { NO_COLOR: '1' } });
    await top.shows((text) => text.includes('no calls in flight') && text.includes('github'), 'the first screen');
    await gateway.stop();
    await top.shows((text, lines) => /^! \S+ old: /.test(lines[1]), 'that the gateway has gone');
    const next = await start();
    await top.shows((text, lines) => /^0 calls/.test(lines[1]) && text.includes('no calls'), 'the gateway');
    assert.ok(next.pid);
    assert.doesNotMatch(top.texts.out, /\x1b\[[0-9;]*[1-9][0-9;]*m/, 'no colour');
    // script starts the process group of its terminal; Ctrl-C reaches it as a signal.
    top.type('\x03');
    await top.until(/\x1b\[\?1049l\s*(\^C)?\s*(code=0)?/);
    await top.ended();
  });
});

describe('a gateway that is older, or none', { skip }, () => {
  const commands = [['servers'], ['server', 'github'], ['server', 'github', 'stop'], ['sessions'], ['subs'], ['tail'], ['top']];

  async function answering(t, reply) {
    const path = join(temporaryFolder(t), 'old.sock');
    const one = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', (request) => {
        const text = reply(String(request).split(' ')[1]);
        if (text !== undefined) socket.end(text);
      });
    });
    await new Promise((resolve) => one.listen(path, resolve));
    t.after(() => one.close());
    return ['--admin', `unix:${path}`];
  }
  const http = (status, body) => `HTTP/1.1 ${status} X\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;

  test('an older gateway: one sentence, and what to do', async (t) => {
    const admin = await answering(t, (path) =>
      path === '/api/v1/status' ? http(200, '{"version":"0.0.1"}') : http(404, '{"error":"not found"}'));
    for (const words of commands) {
      const { code, err } = await lineward([...words, ...admin]);
      assert.equal(code, 69, words.join(' '));
      assert.match(err, /^error: the gateway at \S+ does not know \/api\/v1\/\w+\n {2}fix {4}it is older than this command: restart it with this version of lineward\n$/);
    }
  });

  test('what is no gateway, or says nonsense: 69, and no crash', async (t) => {
    const answers = ['SSH-2.0-OpenSSH\r\n', http(200, '[]'), http(200, 'x'), http(200, ''), 'HTTP/1.1 200 OK\r\n\r\n{"a"'];
    for (const [i, text] of answers.entries()) {
      const admin = await answering(t, () => text);
      for (const words of i === 0 ? commands : [['subs'], ['tail']]) {
        const { code, err } = await lineward([...words, ...(words[0] === 'tail' ? ['--retry', '0s'] : []), ...admin]);
        assert.equal(code, 69, `${words.join(' ')} of ${JSON.stringify(text)}: ${err}`);
        assert.match(err, /^error: /);
      }
    }
    assert.equal((await lineward(['top', '--admin', 'unix:/nowhere/at/all.sock'])).code, 69);
  });

  test('lists with elements of other kinds are shown, not stumbled over', async (t) => {
    const body = '{"servers":[1,null,{"name":7}],"sessions":["x"],"listens":[[]],"calls":{},"upstreams":[{}]}';
    const admin = await answering(t, () => http(200, body));
    for (const words of [['servers'], ['sessions'], ['subs'], ['top']])
      assert.equal((await lineward([...words, ...admin])).code, 0, words.join(' '));
  });
});
