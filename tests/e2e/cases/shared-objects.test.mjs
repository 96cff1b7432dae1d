// Plugins that are shared objects: an example that is built against the installed headers alone, and some that break
// the interface.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import { binary } from '../lib/binary.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { eventually, get, opsOf } from '../lib/operator.mjs';
import { answer, call, gatewayError, json, startOrigin } from '../lib/raw-origin.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const quiet = { args: ['--ops', 'off', '--admin', 'off'] };
const run = (command, ...args) => execFileSync(command, args, { stdio: 'pipe' });
let work, prefix;

before(() => {
  if (DIRECT) return;
  work = mkdtempSync(join(tmpdir(), 'lineward-so-'));
  prefix = join(work, 'prefix');
  run('cmake', '--install', dirname(binary()), '--component', 'headers', '--prefix', prefix);
  run('cmake', '-S', join(repository, 'plugins/example'), '-B', join(work, 'b'), `-DCMAKE_PREFIX_PATH=${prefix}`);
  run('cmake', '--build', join(work, 'b'));
});
after(() => work && rmSync(work, { recursive: true, force: true }));

/** Builds a plugin that breaks the interface. */
function rubbish(kind) {
  const so = join(work, `${kind}.so`);
  const source = join(repository, 'tests/e2e/fixtures/rubbish_plugin.cc');
  run('c++', '-std=c++17', '-shared', '-fPIC', '-w', `-DRUBBISH_${kind}`, `-I${prefix}/include`, source, '-o', so);
  return so;
}

const up = async (t) => {
  const origin = await startOrigin(t, (_, response, message) =>
    json(response, 200, answer(message.id, { content: [], resultType: 'complete' })),
  );
  return { origin, mcpServers: { up: { url: origin.url, protocolEra: 'modern' } } };
};
const start = (t, servers, plugins) => startGatewayFrom(t, { ...servers, plugins }, quiet);

/** The error of `lineward run` when the gateway does not start. */
function refused(t, plugin) {
  const path = join(temporaryFolder(t), 'lineward.json');
  const mcpServers = { up: { command: 'true' } };
  writeFileSync(path, JSON.stringify({ listen: { address: '127.0.0.1:0' }, mcpServers, plugins: [plugin] }));
  const { status, stderr } = spawnSync(binary(), ['run', ...quiet.args, path], { timeout: 20_000, encoding: 'utf8' });
  assert.equal(status, 78, stderr);
  return stderr;
}

describe('shared objects', { skip: DIRECT }, () => {
  test('a plugin built against the installed headers waits on a thread of its own, refuses and sets headers', async (t) => {
    const { origin, ...servers } = await up(t);
    const options = { ask: 'delete,drop', forbid: 'drop' };
    const { url, stderr } = await start(t, servers, [{ path: join(work, 'b/approval.so'), options, name: 'gatekeeper' }]);
    const allowed = await call(url, 'tools/call', { name: 'delete' }, { headers: { 'x-team': 'blue' } });
    assert.ok(allowed.message.result);
    assert.equal(allowed.headers.get('x-approval'), 'asked');
    assert.equal(origin.requests.at(-1).headers['x-approved-for'], 'blue');
    const denied = gatewayError(await call(url, 'tools/call', { name: 'drop' }));
    assert.deepEqual([denied.reason, denied.text], ['forbidden', 'drop was not approved']);
    assert.ok((await call(url, 'tools/call', { name: 'other' })).message.result);
    assert.equal(origin.requests.filter(({ message }) => message?.method === 'tools/call').length, 2);
    await eventually(() => /plugin\.loaded.*gatekeeper.*approval/.test(stderr()), 'a line in the log');
    await eventually(() => /plugin\.log.*gatekeeper.*approved delete/.test(stderr()), 'a line in the log');
    // Many at once: each wait ends with its own decision.
    const many = await Promise.all(
      Array.from({ length: 200 }, (_, i) => call(url, 'tools/call', { name: i % 2 ? 'drop' : 'delete' }, { id: i })),
    );
    many.forEach(({ message }, i) => assert.equal(Boolean(message.error), i % 2 === 1));
  });

  test('a relative path starts at the configuration file', async (t) => {
    const folder = temporaryFolder(t);
    symlinkSync(join(work, 'b/approval.so'), join(folder, 'mine.so'));
    const path = join(folder, 'lineward.json');
    writeFileSync(path, JSON.stringify({ mcpServers: {}, plugins: [{ path: './mine.so', options: { aks: 'x' } }] }));
    const { status, stderr } = spawnSync(binary(), ['run', ...quiet.args, path], { cwd: '/', encoding: 'utf8', timeout: 20_000 });
    assert.equal(status, 78);
    assert.match(stderr, /there is no option aks/);
  });

  for (const [kind, says] of [
    ['ABI', /interface 7.*speaks 1/],
    ['NO_ENTRY', /no plugin of Lineward.*lineward_plugin_entry/],
    ['NULL', /returned nothing/],
    ['SIZE', /table of 16 bytes/],
    ['FUNCTIONS', /without all functions/],
    ['OPTIONS', /no\?!/],
    ['CREATE_THROWS', /exception|does not say why/],
  ]) {
    test(`${kind}: refused at the start, with the reason`, async (t) => {
      assert.match(refused(t, { path: rubbish(kind) }), says);
    });
  }

  test('what is no shared object at all is refused', async (t) => {
    const text = join(temporaryFolder(t), 'x.so');
    writeFileSync(text, 'hello');
    assert.match(refused(t, { path: text }), /cannot be loaded/);
    assert.match(refused(t, { path: './missing.so' }), /No such file/);
    assert.match(refused(t, { path: '/tmp' }), /is no file/);
  });

  for (const kind of ['THROWS', 'VERDICT', 'WAIT', 'ANSWERED', 'ANSWER', 'LATER', 'ID']) {
    test(`${kind}: the call fails, Lineward does not`, async (t) => {
      const { origin, ...servers } = await up(t);
      const { url } = await start(t, servers, [{ path: rubbish(kind), name: 'bad' }]);
      for (const id of [1, 2]) {
        const failed = gatewayError(await call(url, 'tools/call', { name: 'x' }, { id }));
        assert.equal(failed.reason, 'internal');
        assert.match(failed.text, /plugin bad/);
      }
      assert.equal(origin.requests.filter(({ message }) => message?.method === 'tools/call').length, 0);
    });
  }

  // No hook is no verdict: what a plugin could not look at does not pass.
  for (const kind of ['ATTACH_THROWS', 'ATTACH_THROWS_IN_CXX']) {
    test(`${kind}: the call fails and is counted`, async (t) => {
      const { origin, ...servers } = await up(t);
      const config = { ...servers, ops: { address: '127.0.0.1:0' }, admin: 'off', plugins: [{ path: rubbish(kind), name: 'bad' }] };
      const gateway = await startGatewayFrom(t, config, { strict: false });
      const ops = await eventually(() => opsOf(gateway), 'the line with the ops address');
      for (const id of [1, 2]) {
        const failed = gatewayError(await call(gateway.url, 'tools/call', { name: 'x' }, { id }));
        assert.deepEqual([failed.reason, failed.text], ['internal', 'plugin bad failed']);
      }
      assert.equal(origin.requests.filter(({ message }) => message?.method === 'tools/call').length, 0);
      const { body } = await get(ops, '/metrics');
      assert.match(body, /lineward_shared_object_faults_total\{[^}]*plugin="bad"[^}]*\} 2\n/);
    });
  }

  test('headers that frame messages cannot be set', async (t) => {
    const { origin, ...servers } = await up(t);
    const { url } = await start(t, servers, [{ path: rubbish('HEADERS') }]);
    assert.ok((await call(url, 'tools/call', { name: 'x' })).message.result);
  });

  test('one that never returns holds up its worker alone; /livez fails while it does', { skip: NOT_PLAIN, timeout: 60_000 }, async (t) => {
    const file = join(temporaryFolder(t), 'stuck');
    writeFileSync(file, '');
    const { mcpServers } = await up(t);
    const gateway = await startGatewayFrom(
      t,
      {
        ops: { address: '127.0.0.1:0' },
        admin: 'off',
        workers: 2,
        watchdog: { abort: '0s' },
        aggregate: { enabled: false }, // a lives on the first worker, b on the second
        mcpServers: { a: { ...mcpServers.up, workers: 'one' }, b: { ...mcpServers.up, workers: 'one' } },
        plugins: [{ path: rubbish('STUCK'), servers: ['b'] }],
      },
      { env: { STUCK_WHILE: file }, strict: false },
    );
    const ops = await eventually(() => opsOf(gateway), 'the line with the ops address');
    const livez = async () => (await get(ops, '/livez')).status;
    const ask = (name) => call(gateway.url.replace(/\/mcp.*/, `/mcp/${name}`), 'tools/call', { name: 'x' });
    assert.equal(await livez(), 200);
    const held = ask('b');
    await eventually(async () => (await livez()) === 503, 'a worker that stands still is no life');
    assert.ok((await ask('a')).message.result, 'the other one works');
    rmSync(file);
    assert.ok((await held).message.result);
    await eventually(async () => (await livez()) === 200, 'life again');
  });
});
