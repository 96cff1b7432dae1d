// Lineward under a service manager: what it tells ($NOTIFY_SOCKET), the watchdog, and listeners that it is given.
// The service manager is tests/e2e/lib/service-manager.pl; docs/systemd.md says what it plays.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import { binary } from '../lib/binary.mjs';
import { Inbox, temporaryFolder } from '../lib/events.mjs';
import { callTool, eventually, lineward } from '../lib/operator.mjs';
import { plainFixture } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const MANAGER = fileURLToPath(new URL('../lib/service-manager.pl', import.meta.url));
const skip = DIRECT;
let names = 0;
const abstract = () => `@lineward-e2e-${process.pid}-${++names}`;

function fileWith(t, more = {}) {
  const [command, ...args] = plainFixture();
  const path = join(temporaryFolder(t), 'lineward.json');
  const config = { listen: { address: '127.0.0.1:0' }, ops: 'off', admin: 'off', mcpServers: { s: { command, args } } };
  writeFileSync(path, JSON.stringify({ ...config, ...more }));
  return path;
}

/** The service manager with a gateway; next(pattern) waits for the next line that fits. */
function managed(t, settings, args, env = {}) {
  const child = spawn('perl', [MANAGER, ...settings, '--', binary(), 'run', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const lines = new Inbox();
  let seen = 0;
  let stderr = '';
  createInterface({ input: child.stdout }).on('line', (line) => lines.put(line));
  child.stderr.on('data', (data) => (stderr += data));
  t.after(() => child.exitCode ?? child.kill('SIGTERM'));
  const next = (pattern) =>
    lines.when((items) => {
      const at = items.findIndex((line, index) => index >= seen && pattern.test(line));
      if (at < 0) return undefined;
      seen = at + 1;
      return items[at];
    }, String(pattern));
  return { next, stderr: () => stderr, kill: (signal) => child.kill(signal) };
}

describe('under a service manager', { skip }, () => {
  test('ready, reloading, stopping; and the watchdog hears of it', async (t) => {
    const one = managed(t, [`notify=${abstract()}`, 'watchdog=300000'], [fileWith(t)]);
    assert.match(await one.next(/^notify/), /^notify READY=1\\nSTATUS=serving at 127\.0\.0\.1:\d+$/);
    for (let k = 0; k < 3; ++k) await one.next(/^notify WATCHDOG=1$/);
    one.kill('SIGHUP');
    await one.next(/^notify RELOADING=1\\nMONOTONIC_USEC=\d+$/);
    await one.next(/^notify READY=1\\n/);
    one.kill('SIGTERM');
    await one.next(/^notify STOPPING=1\\nSTATUS=stopping: 0 calls left$/);
    assert.equal(await one.next(/^exit/), 'exit 0');
  });

  test('a reload that fails is over too', async (t) => {
    const file = fileWith(t);
    const one = managed(t, [`notify=${abstract()}`], [file]);
    await one.next(/READY/);
    writeFileSync(file, '{');
    one.kill('SIGHUP');
    await one.next(/^notify RELOADING=1/);
    await one.next(/^notify READY=1/);
  });

  test('while calls end it asks for more time, and says how many are left', async (t) => {
    const gate = join(temporaryFolder(t), 'gate');
    const one = managed(t, [`notify=${abstract()}`], [fileWith(t)]);
    const address = /at (\S+)$/.exec(await one.next(/READY/))[1];
    const answer = callTool(`http://${address}/mcp`, 'until', { nonce: 'n', file: gate }).answer;
    const echo = await callTool(`http://${address}/mcp`, 'echo', { nonce: 'm' }).answer;
    assert.ok(echo.result);
    one.kill('SIGTERM');
    await one.next(/^notify STOPPING=1\\nSTATUS=stopping: 1 calls? left$/);
    await one.next(/^notify EXTEND_TIMEOUT_USEC=10000000$/);
    await one.next(/^notify EXTEND_TIMEOUT_USEC=10000000$/); // again, a second later
    writeFileSync(gate, '');
    assert.ok((await answer).result);
    assert.equal(await one.next(/^exit/), 'exit 0');
  });

  test('a listener is taken, also by two workers, and its clients are served', async (t) => {
    const file = fileWith(t, { listen: { address: '${env:BOUND}' }, workers: 2 });
    const one = managed(t, ['listen=127.0.0.1:0', `notify=${abstract()}`], ['--listen', '%s', file], { BOUND: '127.0.0.1:0' });
    const address = (await one.next(/^listening/)).split(' ')[1];
    assert.match(await one.next(/READY/), new RegExp(`serving at ${address.replaceAll('.', '\\.')}$`));
    assert.ok((await callTool(`http://${address}/mcp`, 'echo', { nonce: 'n' }).answer).result);
  });

  test('a socket that the configuration does not name is an error with both addresses', async (t) => {
    const one = managed(t, ['listen=127.0.0.1:0', 'name=lineward.socket'], [fileWith(t)]);
    const address = (await one.next(/^listening/)).split(' ')[1];
    assert.equal(await one.next(/^exit/), 'exit 78');
    assert.ok(one.stderr().includes(`a socket at ${address} (lineward.socket), and the configuration names no such address`));
    assert.match(one.stderr(), /listen\.address is 127\.0\.0\.1:0/);
    assert.match(one.stderr(), /fix {3}write the same address as ListenStream=/);
  });

  test('a notify socket without a listener is reported once, and nothing else happens', async (t) => {
    const [command, ...args] = plainFixture();
    const out = await lineward(['validate', fileWith(t)], { NOTIFY_SOCKET: '/nowhere' });
    assert.equal(out.code, 0);
    const one = managed(t, [], ['--listen', '127.0.0.1:0', '--ops', 'off', '--admin', 'off', '--', command, ...args], {
      NOTIFY_SOCKET: '/nowhere/at/all',
    });
    await eventually(() => /event=notify\.failed.*no process listens there/.test(one.stderr()), 'the warning');
    one.kill('SIGTERM');
    assert.equal(await one.next(/^exit/), 'exit 0');
  });

  test('what stops it as soon as it listens is an orderly end', async (t) => {
    const [command, ...args] = plainFixture();
    for (let k = 0; k < 3; ++k) {
      const path = join(temporaryFolder(t), 'socket');
      const child = spawn(binary(), ['run', '--listen', `unix:${path}`, '--ops', 'off', '--admin', 'off', '--', command, ...args], {
        stdio: 'ignore',
      });
      const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)));
      t.after(() => child.exitCode ?? child.kill('SIGKILL'));
      // Without a pause: what is looked for lasts some milliseconds.
      const takes = () =>
        new Promise((resolve) => {
          const socket = connect(path, () => resolve(true)).once('error', () => resolve(false));
          socket.once('connect', () => socket.destroy());
        });
      while (child.exitCode === null && child.signalCode === null && !(await takes()));
      child.kill('SIGTERM');
      assert.equal(await ended, 0);
    }
  });

  test('the process of one client says nothing for the service that its client may be', async (t) => {
    const one = managed(t, [`notify=${abstract()}`], ['--listen', 'stdio', fileWith(t)]);
    assert.equal(await one.next(/^(notify|exit)/), 'exit 0'); // its stdin has ended
  });

  test('a credential of the unit is a file in the configuration', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'token'), 'Bearer of-the-unit\n');
    const file = join(folder, 'lineward.json');
    const server = { url: 'http://127.0.0.1:9/mcp', headers: { Authorization: '${file:$CREDENTIALS_DIRECTORY/token}' } };
    writeFileSync(file, JSON.stringify({ mcpServers: { s: server } }));
    const found = await lineward(['validate', file], { CREDENTIALS_DIRECTORY: folder });
    assert.equal(found.code, 0, found.err);
    const missing = await lineward(['validate', file]);
    assert.equal(missing.code, 78);
    assert.match(missing.err + missing.out, /CREDENTIALS_DIRECTORY is not set/);
    assert.match(missing.err + missing.out, /LoadCredential=/);
  });
});

describe('copy-self', { skip }, () => {
  test('the program is in the folder, whole and for all users', async (t) => {
    const folder = temporaryFolder(t);
    const done = await lineward(['copy-self', folder]);
    assert.equal(done.code, 0, done.err);
    const path = join(folder, 'lineward');
    assert.equal(done.out, `${path}\n`);
    assert.equal(statSync(path).mode & 0o777, 0o755);
    assert.match((await lineward(['version'], {}, path)).out, /^lineward /);
    const again = await lineward(['copy-self', folder], {}, path);
    assert.equal(again.code, 0, 'over itself');
  });

  test('a folder that is none is an error, and nothing is left', async (t) => {
    const none = await lineward(['copy-self', join(temporaryFolder(t), 'none')]);
    assert.equal(none.code, 1);
    assert.match(none.err, /cannot write .*none\/lineward: No such file/);
    assert.equal((await lineward(['copy-self'])).code, 2);
  });
});
