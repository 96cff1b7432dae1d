// Many clients, few processes: `lineward stdio --share`.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe } from 'node:test';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { binary } from '../lib/binary.mjs';
import { fixtureRecord } from '../lib/events.mjs';
import { eventually, lineward } from '../lib/operator.mjs';
import { descendants, describe as described, leftovers } from '../lib/processes.mjs';
import { legacyFixture, memory, modernFixture } from '../lib/servers.mjs';
import { Sharing } from '../lib/share.mjs';
import { DIRECT, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const shared = (command, more = {}) => ({ command, isolation: 'shared', ...more });
const echo = async ({ client }, name = 'test_echo') =>
  textOf(await client.callTool({ name, arguments: { text: 'hi', message: 'hi' } }));
const signal = ({ pid }, name) => process.kill(pid, name);
const withChildren = (one) => [one, ...descendants(one.pid)];
/** Asserts that of these processes, or of those that a function finds, none is left after 5 s. */
async function end(which) {
  const left = await leftovers(typeof which === 'function' ? which : () => which, 5_000);
  assert.deepEqual(left.map(described), []);
}

describe('lineward stdio --share', { skip: DIRECT && 'needs Lineward' }, () => {
  test('8 sessions of 3 servers without state have 3 processes, and the last one out ends all', async (t) => {
    const sharing = new Sharing(t, { a: shared(legacyFixture()), b: shared(legacyFixture()), c: shared(modernFixture()) });
    const clients = await Promise.all(
      Array.from({ length: 8 }, (_, i) => (i % 2 ? sharing.modern() : sharing.legacy())),
    );
    for (const one of clients) {
      for (const server of ['a', 'b', 'c']) await echo(one, `${server}__test_echo`);
    }
    assert.equal(sharing.gateways().length, 1);
    assert.equal(sharing.servers().length, 3);
    const gateway = sharing.gateways();
    for (const one of clients.slice(1)) await one.close();
    await echo(clients[0], 'a__test_echo');
    assert.deepEqual(sharing.gateways(), gateway);
    const began = Date.now();
    await clients[0].close();
    assert.deepEqual(await leftovers(() => sharing.all(), 10_000), []);
    assert.ok(Date.now() - began < 5_000, `${Date.now() - began} ms`);
  });

  test('10 clients that start at once start one gateway', async (t) => {
    const sharing = new Sharing(t, { a: shared(legacyFixture()) });
    const clients = Array.from({ length: 10 }, () => sharing.raw());
    await Promise.all(clients.map((one) => one.initialize()));
    assert.equal(sharing.gateways().length, 1);
    assert.equal(sharing.named('lineward-lease').length, 10);
    assert.equal(sharing.servers().length, 1);
    for (const one of clients) one.child.stdin.end();
    for (const one of clients) assert.deepEqual(await one.ended, { code: 0, signal: null });
    assert.deepEqual(await leftovers(() => sharing.all(), 5_000), []);
  });

  test('a session has its own process at a server with state, and its questions reach its client', async (t) => {
    const sharing = new Sharing(t, { a: { command: legacyFixture() } });
    const asked = (name) => ({
      capabilities: { elicitation: {} },
      requests: [
        [types.ElicitRequestSchema, () => ({ action: 'accept', content: { username: name, email: `${name}@example.com` } })],
      ],
    });
    const [ada, bob] = await Promise.all([sharing.legacy(asked('ada')), sharing.legacy(asked('bob'))]);
    assert.equal(sharing.servers().length, 2);
    const answers = await Promise.all(
      [ada, bob].map(({ client }) => client.callTool({ name: 'test_elicitation', arguments: { message: 'who?' } })),
    );
    assert.match(textOf(answers[0]), /ada/);
    assert.match(textOf(answers[1]), /bob/);
    assert.equal(sharing.gateways().length, 1);
    await ada.close();
    await eventually(() => sharing.servers().length === 1, 'the end of the process of a session that ended');
  });

  test('state of one session is not seen in another', async (t) => {
    const sharing = new Sharing(t);
    const command = (i) => ({ command: memory(), env: { MEMORY_FILE_PATH: join(sharing.folder, `memory-${i}.json`) } });
    sharing.write({ notes: command(1) });
    const [one, other] = [await sharing.legacy(), await sharing.legacy()];
    assert.equal(sharing.servers().length, 2);
    await one.client.callTool({
      name: 'create_entities',
      arguments: { entities: [{ name: 'Ada', entityType: 'person', observations: [] }] },
    });
    // The file is one, as the configuration says; the processes are two.
    assert.match(textOf(await other.client.callTool({ name: 'read_graph', arguments: {} })), /Ada/);
  });

  test('another environment, directory or command is not joined', async (t) => {
    const sharing = new Sharing(t);
    const command = ['--', ...legacyFixture()];
    const one = await sharing.legacy({ args: command });
    const gateways = [1];
    const joined = async (options) => {
      const other = await sharing.legacy(options);
      gateways.push(sharing.gateways().length);
      return other;
    };
    await joined({ args: command, env: { OLDPWD: '/elsewhere', SHLVL: '7' } }); // noise
    assert.deepEqual(gateways, [1, 1]);
    await joined({ args: command, env: { OTHER: 'value' } });
    await joined({ args: command, cwd: sharing.folder });
    await joined({ args: [...command, '--more'] });
    await joined({ args: ['--timeout', '30s', ...command] });
    assert.deepEqual(gateways.slice(2), [2, 3, 4, 5]);
    await echo(one);
  });

  test('another configuration is not joined', async (t) => {
    const sharing = new Sharing(t, { a: shared(legacyFixture()) });
    const one = await sharing.legacy();
    await sharing.raw().initialize();
    assert.equal(sharing.gateways().length, 1);
    sharing.write({ a: shared(legacyFixture(), { timeouts: { request: '59s' } }) });
    await sharing.raw().initialize();
    assert.equal(sharing.gateways().length, 2);
    await echo(one);
  });

  test('another Lineward is not joined', async (t) => {
    const sharing = new Sharing(t, { a: shared(legacyFixture()) });
    await sharing.raw().initialize();
    // The same program at another place: another file, as after an update.
    const copy = join(sharing.folder, 'lineward');
    copyFileSync(binary(), copy);
    const before = process.env.LINEWARD;
    process.env.LINEWARD = copy;
    const other = sharing.raw();
    process.env.LINEWARD = before;
    await other.initialize();
    assert.equal(sharing.gateways().length, 2);
  });

  test('--linger keeps the gateway and its servers for the next client', async (t) => {
    const sharing = new Sharing(t, { a: shared(legacyFixture()) });
    const args = ['--linger', '60s', sharing.file];
    const first = await sharing.legacy({ args });
    await echo(first);
    const before = [...sharing.gateways(), ...sharing.servers()];
    await first.close();
    const second = await sharing.legacy({ args: ['--linger', '1ms', sharing.file] });
    await echo(second);
    assert.deepEqual([...sharing.gateways(), ...sharing.servers()], before);
    await second.close();
    assert.deepEqual(await leftovers(() => sharing.all(), 5_000), []);
  });

  test('kill -9 of a client ends its calls and its processes; others go on', async (t) => {
    const record = fixtureRecord(t);
    const sharing = new Sharing(t, { a: { command: legacyFixture(), env: record.env } });
    const other = await sharing.legacy();
    const others = sharing.all();
    const one = sharing.raw();
    await one.initialize();
    assert.equal(sharing.servers().length, 2);
    one.call('test_wait', { tag: 'left' }).catch(() => {});
    await record.until({ event: 'started', tag: 'left' });
    const before = others.map(({ pid }) => pid);
    const its = sharing.all().filter(({ pid }) => !before.includes(pid));
    // The client, its spawner, its keeper, and the process of its session.
    assert.ok(its.length >= 3 && its.some(({ pid }) => pid === one.pid), its.map(described).join(', '));
    signal(one, 'SIGKILL');
    await end(its);
    await record.until({ event: 'aborted', tag: 'left' });
    await echo(other);
    assert.equal(sharing.servers().length, 1);
    assert.equal(sharing.named('lineward-lease').length, 1);
    await other.close();
    await end(() => sharing.all());
  });

  test('kill -9 of a modern client ends its calls that wait for an answer; those of others wait on', async (t) => {
    const record = fixtureRecord(t);
    const sharing = new Sharing(t, { a: { command: legacyFixture(), env: record.env } });
    const [gone, other] = [sharing.raw(), sharing.raw()];
    const ask = (one, message, more = {}) =>
      one.askModern('tools/call', { name: 'test_elicitation', arguments: { message }, ...more }, { elicitation: {} });
    const asked = [await ask(gone, 'gone'), await ask(other, 'other')];
    for (const { result } of asked) assert.equal(result.resultType, 'input_required');
    const began = Date.now();
    signal(gone, 'SIGKILL');
    await record.until({ event: 'aborted', tag: 'gone' });
    assert.ok(Date.now() - began < 5_000, `${Date.now() - began} ms`);
    const { inputRequests, requestState } = asked[1].result;
    const content = { username: 'Ada', email: 'ada@example.com' };
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, { action: 'accept', content }]));
    assert.match(textOf((await ask(other, 'other', { inputResponses, requestState })).result), /Ada/);
    assert.ok(!record.events.some(({ event, tag }) => event === 'aborted' && tag === 'other'));
  });

  for (const era of ['legacy', 'modern']) {
    test(`kill -9 of the gateway fails calls of ${era} clients once, and the sessions go on`, async (t) => {
      const record = fixtureRecord(t);
      const command = era === 'legacy' ? legacyFixture() : modernFixture();
      const sharing = new Sharing(t, { a: { command, env: record.env } });
      const clients = [await sharing[era](), await sharing[era]()];
      const waiting = clients[0].client.callTool({ name: 'test_wait', arguments: { tag: 'lost' } });
      const outcome = waiting.then(
        () => assert.fail('it was answered'),
        (error) => error,
      );
      await record.until({ event: 'started', tag: 'lost' });
      const [gateway] = sharing.gateways();
      const its = withChildren(gateway);
      assert.ok(sharing.servers().every(({ pid }) => its.some((one) => one.pid === pid)));
      const began = Date.now();
      signal(gateway, 'SIGKILL');
      await end(its);
      const error = await outcome;
      assert.match(error.message, /ended|lost|closed|broke/i);
      for (const one of clients) await echo(one);
      // A gateway and two processes of Node start. benchmarks/share has the figures of a machine at rest.
      assert.ok(Date.now() - began < 20_000, `${Date.now() - began} ms`);
      assert.equal(sharing.gateways().length, 1);
      assert.notEqual(sharing.gateways()[0].pid, gateway.pid);
      assert.equal(record.events.filter(({ event, tag }) => event === 'started' && tag === 'lost').length, 1);
    });
  }

  test('what clients send while the gateway is lost is served by the next one', async (t) => {
    const sharing = new Sharing(t, { a: shared(legacyFixture()) });
    const [legacy, modern, newcomer, discoverer] = Array.from({ length: 4 }, () => sharing.raw());
    const keepers = await eventually(() => {
      const found = sharing.named('lineward-lease');
      return found.length === 4 && found;
    }, 'four keepers');
    await legacy.initialize();
    assert.ok((await modern.askModern('tools/list')).result);
    const [gateway] = sharing.gateways();
    // No other gateway starts until all have sent their requests.
    for (const keeper of keepers) signal(keeper, 'SIGSTOP');
    const its = withChildren(gateway);
    signal(gateway, 'SIGKILL');
    await end(its);
    const hi = { name: 'test_echo', arguments: { text: 'hi', message: 'hi' } };
    const answers = [
      ...Array.from({ length: 10 }, () => legacy.call(hi.name, hi.arguments)),
      modern.askModern('tools/call', hi),
      newcomer.initialize(),
      discoverer.askModern('server/discover'),
    ];
    // Each of them has been tried in vain.
    await eventually(() => sharing.gateways().length === 0, 'no gateway');
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (const keeper of keepers) signal(keeper, 'SIGCONT');
    for (const answer of await Promise.all(answers)) assert.ok(answer.result, JSON.stringify(answer));
    assert.ok((await newcomer.call(hi.name, hi.arguments)).result);
    assert.equal(sharing.gateways().length, 1);
  });

  test('kill -9 of a server fails its calls once', async (t) => {
    const record = fixtureRecord(t);
    const sharing = new Sharing(t, { a: shared(legacyFixture(), { env: record.env }) });
    const [one, other] = [await sharing.legacy(), await sharing.legacy()];
    const outcome = assert.rejects(one.client.callTool({ name: 'test_wait', arguments: { tag: 'lost' } }));
    await record.until({ event: 'started', tag: 'lost' });
    const its = withChildren(sharing.servers()[0]);
    signal(its[0], 'SIGKILL');
    await end(its);
    await outcome;
    for (const each of [one, other]) await echo(each);
    assert.equal(sharing.servers().length, 1);
    for (const each of [one, other]) await each.close();
    await end(() => sharing.all());
  });

  test('a stopped gateway makes room for another one', async (t) => {
    const sharing = new Sharing(t, { a: shared(legacyFixture()) });
    const one = await sharing.legacy();
    const [gateway] = sharing.gateways();
    signal(gateway, 'SIGTERM');
    await eventually(() => sharing.gateways().some(({ pid }) => pid !== gateway.pid), 'another gateway');
    await echo(one);
    await eventually(() => sharing.gateways().length === 1, 'the end of the first');
  });

  test('a client ends with the process that keeps its lease', async (t) => {
    const sharing = new Sharing(t, { a: { command: legacyFixture() } });
    const other = await sharing.legacy();
    const others = sharing.all().map(({ pid }) => pid);
    const keepers = sharing.named('lineward-lease');
    const one = sharing.raw();
    await one.initialize();
    const its = sharing.all().filter(({ pid }) => !others.includes(pid));
    signal(sharing.named('lineward-lease').find(({ pid }) => pid !== keepers[0].pid), 'SIGKILL');
    await end(its);
    assert.equal((await one.ended).code, 70);
    assert.match(one.texts.err, /share\.keeper_lost/);
    await echo(other);
    await other.close();
    await end(() => sharing.all());
  });

  test('a client that stands still keeps its session', async (t) => {
    const sharing = new Sharing(t, { a: { command: legacyFixture() } });
    const [one, other] = [sharing.raw(), await sharing.legacy()];
    await one.initialize();
    const keeper = sharing.named('lineward-lease');
    for (const stopped of [one, ...keeper]) signal(stopped, 'SIGSTOP');
    for (let i = 0; i < 20; ++i) await echo(other);
    for (const stopped of [one, ...keeper]) signal(stopped, 'SIGCONT');
    assert.ok((await one.call('test_echo', { text: 'hi', message: 'hi' })).result);
    assert.equal(sharing.servers().length, 2);
  });

  test('modern clients have state of their own with isolation: session', async (t) => {
    const sharing = new Sharing(t, { a: { command: legacyFixture(), isolation: 'session' } });
    const [one, other] = [await sharing.modern(), await sharing.modern()];
    for (const each of [one, other, one, other]) await echo(each);
    await eventually(() => sharing.servers().length === 2, 'two processes');
    await one.close();
    await eventually(() => sharing.servers().length === 1, 'the end of the process of a client that ended');
  });

  test('ps and status find the shared gateway', async (t) => {
    const record = fixtureRecord(t);
    const sharing = new Sharing(t, { a: shared(legacyFixture(), { env: record.env }) });
    const [one, other] = [await sharing.legacy(), await sharing.modern()];
    await echo(other);
    one.client.callTool({ name: 'test_wait', arguments: { tag: 'seen' } }).catch(() => {});
    await record.until({ event: 'started', tag: 'seen' });
    const socket = join(sharing.runtime, 'lineward', `${sharing.gateways()[0].pid}.sock`);
    const seen = (...words) => lineward([...words, '--admin', `unix:${socket}`]);
    const status = await seen('status');
    assert.match(status.out, new RegExp(`shared +by 2 clients: pid ${one.pid} ${other.pid}\n`));
    assert.match((await seen('ps')).out, /test_wait.*lineward-e2e 1\.0\.0/);
    assert.match((await seen('sessions')).out, /lineward-e2e/);
    assert.deepEqual(JSON.parse((await seen('status', '--format', 'json')).out).shared_by, [one.pid, other.pid]);
  });

  test('a gateway that cannot be started is an error', async (t) => {
    const sharing = new Sharing(t, { a: shared(legacyFixture()) });
    sharing.write({ a: shared(legacyFixture()) }, { audit: { path: '/nowhere/at/all.log' } });
    const one = sharing.raw();
    assert.equal((await one.ended).code, 78);
    assert.match(one.texts.err, /\/nowhere\/at/);
    assert.deepEqual(await leftovers(() => sharing.all(), 5_000), []);
  });

  test('an audit log of another gateway is an error until that gateway has ended', async (t) => {
    const sharing = new Sharing(t);
    const path = join(sharing.folder, 'audit.log');
    const write = (request) => sharing.write({ a: shared(legacyFixture(), { timeouts: { request } }) }, { audit: { path } });
    write('58s');
    const first = sharing.raw();
    await first.initialize();
    write('59s');
    const second = sharing.raw();
    assert.equal((await second.ended).code, 78);
    assert.match(second.texts.err, new RegExp(`audit\\.path: another process writes the audit log ${path}: give each gateway a file of its own, or end that`));
    first.child.stdin.end();
    await first.ended;
    await end(() => sharing.all());
    await sharing.raw().initialize();
  });

  test('an ops address of another gateway is an error', async (t) => {
    const sharing = new Sharing(t, { a: shared(legacyFixture()) });
    const busy = createServer().listen(0, '127.0.0.1');
    await once(busy, 'listening');
    const ops = `127.0.0.1:${busy.address().port}`;
    busy.close();
    await once(busy, 'close');
    await sharing.raw(['--ops', ops, sharing.file]).initialize();
    sharing.write({ a: shared(legacyFixture(), { timeouts: { request: '59s' } }) });
    const second = sharing.raw(['--ops', ops, sharing.file]);
    assert.equal((await second.ended).code, 75);
    assert.match(second.texts.err, new RegExp(`${ops}.*\n.*choose another address \\(--ops .*or stop what listens there`));
  });

  test('a gateway that does not answer is an error after timeouts.startup', async (t) => {
    const sharing = new Sharing(t, { a: shared(legacyFixture(), { timeouts: { startup: '3s' } }) });
    await sharing.raw().initialize();
    const [gateway] = sharing.gateways();
    signal(gateway, 'SIGSTOP');
    t.after(() => signal(gateway, 'SIGCONT'));
    const other = sharing.raw();
    assert.equal((await other.ended).code, 75);
    assert.match(other.texts.err, /did not answer within 3000 ms \(timeouts\.startup\); its log is .*\.log/);
  });

  test('a directory that others may write is not used', async (t) => {
    const sharing = new Sharing(t, { a: shared(legacyFixture()) });
    const below = join(sharing.runtime, 'lineward');
    mkdirSync(below);
    chmodSync(below, 0o777);
    await sharing.raw().initialize();
    assert.deepEqual(readdirSync(below), []);
  });

  test('the command line', async () => {
    for (const [args, said] of [
      [['--linger', '5s', 'x.yaml'], /--linger belongs to --share/],
      [['--share', '--linger', '5', '--', 'true'], /--linger/],
      [['--share', '--linger', '200h', '--', 'true'], /7d/],
      [['--share', '-'], /stdin belongs to the client/],
    ]) {
      const { code, err } = await lineward(['stdio', ...args]);
      assert.equal(code, 2, args.join(' '));
      assert.match(err, said);
    }
  });
});
