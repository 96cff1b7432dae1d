// lineward ps, cancel and status over the control socket, with a call under way.
import assert from 'node:assert/strict';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe } from 'node:test';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom, startListener } from '../lib/gateway.mjs';
import { binary } from '../lib/binary.mjs';
import { callTool, eventually, get, lineward, opsOf } from '../lib/operator.mjs';
import { plainFixture } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const skip = DIRECT;

async function running(t, { folder = temporaryFolder(t), timeouts = {}, others = {}, workers } = {}) {
  const socket = join(folder, 'admin.sock');
  const [command, ...args] = plainFixture();
  const gateway = await startGatewayFrom(t, {
    ops: 'off',
    admin: { address: `unix:${socket}` },
    ...(workers && { workers }),
    mcpServers: { github: { command, args, timeouts }, ...others },
  });
  const calls = async () => JSON.parse((await get(socket, '/api/v1/calls')).body).calls;
  const underWay = () =>
    eventually(async () => (await calls()).find((call) => call.progress?.progress === 61), 'a call with progress');
  return { gateway, socket, admin: ['--admin', `unix:${socket}`], calls, underWay };
}

describe('lineward ps, cancel, status', { skip }, () => {
  test('ps while a call runs: age, limit, target, client, progress, all printable', async (t) => {
    const { gateway, admin, socket, underWay } = await running(t);
    const call = callTool(gateway.url, 'slow', { onCancel: 'error' });
    const { id } = await underWay();
    const { code, out } = await lineward(['ps', ...admin]);
    assert.equal(code, 0);
    const [head, line, ...rest] = out.trimEnd().split('\n');
    assert.match(head, /^CALL +AGE +LEFT +TARGET +UPSTREAM +METHOD +CLIENT +STATE$/);
    assert.match(
      line,
      new RegExp(`^${id} +\\d+\\.\\ds +\\d+s +slow +github +tools/call +probe 2\\.1 +running 61/100 "indexing\\?\\[2J"$`),
    );
    assert.equal(rest.length, 0);
    assert.doesNotMatch(out, /\x1b/);
    const story = await lineward(['ps', id, ...admin]);
    assert.match(story.out, /limit +\d+s left \(timeouts\.request\)/);
    assert.match(story.out, /progress +61\/100/);
    assert.equal(JSON.parse((await lineward(['ps', '--format', 'json', ...admin])).out).calls[0].id, id);
    for (const command of [['ps'], ['ps', '--format', 'json'], ['cancel', '--yes'], ['sessions'], ['subs'], ['tail']]) {
      const wrong = await lineward([...command, '--upstream', 'githib', ...admin]);
      assert.deepEqual([wrong.code, wrong.out], [1, ''], command.join(' '));
      assert.match(wrong.err, /^error: there is no server 'githib'; did you mean 'github'\?\n {2}fix {4}lineward servers lists them\n$/);
    }
    assert.match((await lineward(['ps', '--older', '1h', ...admin])).err, /no calls in flight/);
    assert.equal((await lineward(['ps', '--older', '30', ...admin])).code, 2);
    assert.match((await lineward(['ps', '--color', 'always', ...admin])).out, /^\x1b\[1mCALL/);
    assert.equal(statSync(socket).mode & 0o777, 0o600, 'only its user may connect');
    call.abort();
    await eventually(async () => /no calls/.test((await lineward(['ps', ...admin])).err), 'the end of the call');
    assert.match((await lineward(['ps', '--all', ...admin])).out, /ended \S+ ago: cancelled_client/);
  });

  for (const [how, said] of [
    ['error', /github was told \(notifications\/cancelled\) and stopped in \d+ms/],
    ['result', /github was told \(notifications\/cancelled\) but finished all the same, \d+ms later/],
  ]) {
    test(`cancel, and the server answers with ${how === 'error' ? 'an error' : 'a result'}`, async (t) => {
      const { gateway, admin, underWay } = await running(t);
      const call = callTool(gateway.url, 'slow', { onCancel: how });
      const { id } = await underWay();
      const { code, out } = await lineward(['cancel', id, '--reason', 'wrong repo', ...admin]);
      assert.equal(code, 0);
      assert.match(out, new RegExp(`^${id} cancelled after \\d+\\.\\ds: client got error 499; `));
      assert.match(out, said);
      const { error } = await call.answer;
      assert.equal(error.code, 499);
      assert.equal(error.data['io.lineward/gateway'].reason, 'cancelled_operator');
      assert.match(error.message, /wrong repo/);
      const again = await lineward(['cancel', id, ...admin]);
      assert.equal(again.code, 1);
      assert.match(
        again.err,
        new RegExp(`^error: no call ${id} in flight; it ended \\S+ ago: cancelled_operator after \\S+ \\(lineward ps ${id}\\)$`, 'm'),
      );
      assert.match((await lineward(['ps', id, ...admin])).out, /ended +\S+ ago: cancelled_operator after \S+, error 499/);
    });
  }

  // With two workers the first server lives on the second, and all as one on the first.
  for (const workers of [1, 2]) {
    test(`cancel of a call at the aggregate, ${workers} worker${workers > 1 ? 's' : ''}: its server's word comes back`, async (t) => {
      const [command, ...args] = plainFixture();
      const { gateway, admin, underWay, socket } = await running(t, { workers, others: { other: { command, args } } });
      for (const [how, said] of [
        ['error', /was told \(notifications\/cancelled\) and stopped in \d+ms/],
        ['result', /was told \(notifications\/cancelled\) but finished all the same, \d+ms later/],
      ]) {
        const call = callTool(gateway.url, 'github__slow', { onCancel: how });
        const { id } = await underWay();
        const shown = JSON.parse((await get(socket, `/api/v1/calls/${id}`)).body);
        assert.deepEqual([shown.upstream, shown.route, shown.target], ['github', '/mcp', 'github__slow']);
        assert.match((await lineward(['ps', ...admin])).out, /github__slow +github via \/mcp +tools\/call/);
        assert.match((await lineward(['ps', '--upstream', 'github', ...admin])).out, /github__slow/);
        assert.doesNotMatch((await lineward(['ps', '--upstream', 'other', ...admin])).out, /github__slow/);
        const { code, out } = await lineward(['cancel', id, ...admin]);
        assert.equal(code, 0);
        assert.match(out, said);
        const { error } = await call.answer;
        assert.equal(error.code, 499);
        assert.equal(error.data['io.lineward/gateway'].upstream, 'github');
      }
      const { upstreams } = JSON.parse((await get(socket, '/api/v1/status')).body);
      assert.deepEqual(
        upstreams.map(({ state }) => state),
        ['ready', 'ready', 'ready'],
        JSON.stringify(upstreams),
      );
    });
  }

  test('cancel, and the server says nothing more', async (t) => {
    const { gateway, admin, underWay } = await running(t, { timeouts: { cancelGrace: '200ms' } });
    callTool(gateway.url, 'slow', { onCancel: 'silent' });
    const { id } = await underWay();
    const { out } = await lineward(['cancel', id, ...admin]);
    assert.match(out, /and said nothing more within cancelGrace \(0\.2s\)/);
  });

  test('cancel what never was; cancel by what it is', async (t) => {
    const { gateway, admin, underWay } = await running(t);
    const never = await lineward(['cancel', 'c9f1', ...admin]);
    assert.equal(never.code, 1);
    assert.match(never.err, /^error: no call c9f1 in flight; it is none of the last 256 that ended/);
    assert.equal((await lineward(['cancel', ...admin])).code, 2);
    assert.equal((await lineward(['cancel', '../status', ...admin])).code, 2);
    const call = callTool(gateway.url, 'slow', { onCancel: 'error' });
    const { id } = await underWay();
    for (const filter of [['--upstream', 'github'], ['--method', 'tools/list'], ['--older', '1h']]) {
      for (const command of ['ps', 'cancel']) {
        const both = await lineward([command, id, ...filter, ...admin]);
        assert.equal(both.code, 2, both.out);
        assert.match(both.err, /name calls, or select them: not both/);
      }
    }
    const asked = await lineward(['cancel', '--upstream', 'github', ...admin]);
    assert.equal(asked.code, 2);
    assert.match(asked.err, /add --yes/);
    assert.equal((await lineward(['cancel', '--upstream', 'github', '--yes', ...admin])).code, 0);
    assert.equal((await call.answer).error.code, 499);
  });

  test('status', { skip: NOT_PLAIN }, async (t) => {
    const { gateway, admin, underWay } = await running(t);
    callTool(gateway.url, 'slow', { onCancel: 'error' });
    await underWay();
    const { code, out } = await lineward(['status', ...admin]);
    assert.equal(code, 0);
    assert.match(out, /^lineward \S+ {2}serving {2}up \S+ {2}pid \d+/);
    assert.ok(out.includes(gateway.url));
    assert.match(out, / 1 call, 0 waiting, 0 listens, /);
    assert.match(out, /^ {2}memory +\d+ MiB; 1 server process: \d+ MiB$/m);
    assert.match(out, /github +ready +stdio +modern +1\/64 calls {2}pid \d+ {2}\d+ MiB {2}plain 1\?\[31m/);
    const json = JSON.parse((await lineward(['status', '--format', 'json', ...admin])).out);
    assert.equal(json.pid, gateway.pid);
    assert.equal(json.upstreams[0].state, 'ready');
  });

  test('on every interface: the banner has an address that clients can be given; an address that is taken', { skip: NOT_PLAIN }, async (t) => {
    const folder = temporaryFolder(t);
    const env = { XDG_RUNTIME_DIR: folder, TMPDIR: folder };
    const one = await startListener(binary(), ['run', '--listen', ':0', '--ops', '127.0.0.1:0', '--', ...plainFixture()], { env, strict: false });
    t.after(() => one.stop());
    assert.match(one.stderr(), /MCP {6}http:\/\/127\.0\.0\.1:\d+\/mcp {3}/);
    assert.match(one.stderr(), /on every interface of this machine \((\[::\]|0\.0\.0\.0):\d+\)\n/);
    const taken = await lineward(['run', '--listen', '127.0.0.1:0', '--admin', 'off', '--ops', opsOf(one), '--', ...plainFixture()], env);
    assert.equal(taken.code, 75, taken.err);
    assert.match(taken.err, /choose another address \(--ops 127\.0\.0\.1:9465, or --ops off\)/);
    // A refusal by a plugin at its creation names the file and the command that helps.
    const file = join(folder, 'c.yaml');
    writeFileSync(file, 'listen: { address: 127.0.0.1:0 }\nops: off\nrateLimit: { requests: 1, per: 24h, burst: 1000000 }\nmcpServers: {}\n');
    const refused = await lineward(['run', file], env);
    assert.equal(refused.code, 78, refused.err);
    assert.match(refused.err, /^error: plugin rateLimit \(line 3\): burst is too large.*\n {2}where {2}.*c\.yaml\n {2}fix {4}lineward/m);
  });

  test('two gateways: the commands name them; one: they find it', { skip: NOT_PLAIN }, async (t) => {
    const folder = temporaryFolder(t);
    const env = { XDG_RUNTIME_DIR: folder, TMPDIR: folder };
    const start = async () => {
      const one = await startListener(
        binary(),
        ['run', '--listen', '127.0.0.1:0', '--ops', 'off', '--', ...plainFixture()],
        { env },
      );
      t.after(() => one.stop());
      return one;
    };
    const first = await start();
    const directory = join(folder, 'lineward');
    assert.deepEqual(readdirSync(directory), [`${first.pid}.sock`]);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    // Another user's gateways, or those of the machine, may be there too: only ours are counted.
    const found = await lineward(['status', '--format', 'json'], env);
    if (found.code === 0) assert.equal(JSON.parse(found.out).pid, first.pid);
    const second = await start();
    const both = await lineward(['ps'], env);
    assert.equal(both.code, 2);
    assert.match(both.err, /^error: \d+ gateways are running; name one of them$/m);
    for (const { pid, url } of [first, second])
      assert.ok(both.err.includes(`--admin unix:${directory}/${pid}.sock   ${url}`), both.err);
  });

  test('an address of TCP means the gateway that has its admin API there, and no other', async (t) => {
    const folder = temporaryFolder(t);
    const env = { XDG_RUNTIME_DIR: folder, TMPDIR: folder };
    const [command, ...args] = plainFixture();
    const start = async (address) => {
      const config = { ops: 'off', admin: { address }, mcpServers: { a: { command, args } } };
      const one = await startGatewayFrom(t, config, { env });
      return { pid: one.pid, admin: /Admin {4}http:\/\/([^/\s]+)\/api/.exec(one.stderr())[1] };
    };
    const first = await start('127.0.0.1:0');
    const second = await start('127.0.0.77:0');
    const status = async (admin) => {
      const { code, out, err } = await lineward(['status', '--format', 'json', '--admin', admin], env);
      assert.equal(code, 0, err);
      return JSON.parse(out);
    };
    assert.equal((await status(first.admin)).pid, first.pid);
    assert.equal((await status(second.admin)).pid, second.pid);
    assert.equal((await status('127.0.0.77:0')).pid, second.pid, 'as it is configured');
    // A gateway elsewhere is not asked, and one here is not meant.
    for (const elsewhere of ['192.0.2.9:8001', `192.0.2.9:${first.admin.split(':')[1]}`]) {
      const { code, err } = await lineward(['server', 'a', 'stop', '--yes', '--admin', elsewhere], env);
      assert.equal(code, 2, err);
      assert.ok(err.includes(`has its admin API at ${elsewhere}`), err);
      assert.ok(err.includes(first.admin), err);
      assert.match(err, /curl .*http:\/\/192\.0\.2\.9:\d+\/api\/v1\/status/);
    }
    for (const { admin } of [first, second])
      assert.deepEqual((await status(admin)).upstreams.filter(({ why }) => why), [], 'nothing was stopped');
  });

  test('no gateway: 69, what, where and the way on', async (t) => {
    const { code, err } = await lineward(['ps', '--admin', `unix:${temporaryFolder(t)}/none.sock`]);
    assert.equal(code, 69);
    assert.match(err, /^error: cannot connect to .*none\.sock/);
    assert.match(err, /^ {2}fix /m);
  });

  test('a socket that a killed gateway left is replaced; one that is in use is not, nor a file', async (t) => {
    const folder = temporaryFolder(t);
    const socket = join(folder, 'admin.sock');
    const killed = spawn(binary(), ['run', '--listen', '127.0.0.1:0', '--ops', 'off', '--admin', `unix:${socket}`, '--', 'cat'], {
      stdio: 'ignore',
    });
    await eventually(() => get(socket, '/api/v1/status').then(() => true, () => false), 'the first gateway');
    killed.kill('SIGKILL');
    await new Promise((resolve) => killed.once('close', resolve));
    assert.ok(statSync(socket).isSocket());
    const { admin } = await running(t, { folder });
    assert.equal((await lineward(['status', ...admin])).code, 0);
    const taken = await lineward(['run', '--listen', '127.0.0.1:0', '--ops', 'off', '--admin', `unix:${socket}`, '--', 'cat']);
    assert.equal(taken.code, 75);
    assert.equal((await lineward(['status', ...admin])).code, 0);
    const silent = createServer();
    await new Promise((resolve) => silent.listen(join(folder, 'silent.sock'), resolve));
    t.after(() => silent.close());
    assert.equal((await lineward(['run', '--admin', '8001', '--', 'cat'])).code, 2);
    assert.equal((await lineward(['run', '--admin', ':8001', '--', 'cat'])).code, 78, 'others reach it, and there is no tokenFile');
  });

  test('the API: methods, types, and no way in for web pages', async (t) => {
    const { socket } = await running(t);
    const status = async (path, options) => (await get(socket, path, options)).status;
    assert.equal(await status('/api/v1/calls/c1/cancel'), 405);
    assert.equal(await status('/api/v1/calls/c1/cancel', { method: 'POST', body: '{}' }), 415);
    const headers = { 'content-type': 'application/json' };
    assert.equal(await status('/api/v1/calls/c1/cancel', { method: 'POST', headers, body: '{}' }), 404);
    assert.equal(await status('/api/v1/calls/c1/cancel', { method: 'POST', headers, body: '[]' }), 400);
    assert.equal(await status('/api/v1/status', { method: 'POST', headers, body: '{}' }), 405);
    assert.equal(await status('/api/v1/status', { headers: { origin: 'http://localhost' } }), 403);
    assert.equal(await status('/metrics'), 404);
  });

  test('another user is refused', { skip: process.getuid() !== 0 && 'needs root' }, async (t) => {
    const { socket } = await running(t);
    const { chmodSync, chownSync } = await import('node:fs');
    chmodSync(socket, 0o777);
    for (let folder = join(socket, '..'); folder !== '/tmp' && folder !== '/'; folder = join(folder, '..'))
      chmodSync(folder, 0o755);
    const script = `require('http').get({socketPath: process.argv[1], path: '/api/v1/status'}, r => { console.log(r.statusCode); r.resume(); })`;
    const child = spawn(process.execPath, ['-e', script, socket], { uid: 65534, gid: 65534, stdio: ['ignore', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.on('data', (bytes) => (out += bytes));
    await new Promise((resolve) => child.once('close', resolve));
    assert.equal(out.trim(), '403');
  });
});
