// `npx lineward` in an empty folder, from tarballs (conf/scripts/npm.sh) that a registry of the test's own serves.
// LINEWARD_TARBALLS names their folder; conf/npm/test/run.sh does all of it.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { empty_folder, registry } from './registry.mjs';

const tarballs = process.env.LINEWARD_TARBALLS;
const version = execFileSync(join(import.meta.dirname, '../../scripts/version.sh'), { encoding: 'utf8' }).trim();
const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
const headers = (method, name) => ({
  'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method,
  ...(name && { 'Mcp-Name': name }),
});
const echo = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { message: 'hi' }, _meta: meta } };

// The tests run one after the other, with one registry.
test('npx lineward', { timeout: 600_000 }, async (t) => {
  const { env, url } = await registry(t, tarballs);
  const folder = empty_folder(t);
  // The time of the network is not tested: the server is in npx's cache from here on.
  execFileSync('npm', ['exec', '-y', '--package', '@modelcontextprotocol/server-everything', '--', 'true'], { cwd: folder, env, stdio: 'ignore' });
  const own = (extra = {}) => ({ cwd: folder, env: { ...env, XDG_RUNTIME_DIR: folder, ...extra } });

  // Started, with what it says on stderr as it comes; killed by the test's end at the latest, with its group.
  function start(t, command, args, options = {}) {
    const child = spawn(command, args, { ...own(), stdio: ['pipe', 'pipe', 'pipe'], detached: true, ...options });
    child.said = '';
    child.stderr.on('data', (chunk) => { child.said += chunk; child.emit('said'); });
    child.over = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
    t.after(() => { try { process.kill(-child.pid, 'SIGKILL'); } catch { /* all of it is gone */ } });
    return child;
  }
  async function says(child, pattern) {
    for (;;) {
      const found = child.said.match(pattern);
      if (found) return found;
      const over = await Promise.race([new Promise((resolve) => child.once('said', resolve)), child.over]);
      if (over && !child.said.match(pattern)) assert.fail(`it ended with ${JSON.stringify(over)} and said\n${child.said}`);
    }
  }
  const running = (child) => says(child, /http:\/\/127\.0\.0\.1:(\d+)\/mcp/).then((found) => found[0]);
  // A process that ends during the look is not there.
  const processes = (mark) => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).flatMap((pid) => {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark)) return [];
      return [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')}`];
    } catch { return []; }
  });
  async function none_left(mark) {
    const until = Date.now() + 60_000;
    let left = [];
    while ((left = processes(mark)).length > 0) {
      assert.ok(Date.now() < until, `still there:\n${left.join('\n')}`);
      await pause(50);  // there is no event of another process's grandchild
    }
  }
  const launcher = () => join(folder, 'node_modules/.bin/lineward');
  // Without a server, which is a configuration too.
  writeFileSync(join(folder, 'lineward.yaml'), 'mcpServers: {}\n');

  await t.test('--version, in an empty folder, with nothing run at the installation', () => {
    const out = execFileSync('npx', ['-y', 'lineward', '--version'], { ...own(), encoding: 'utf8' });
    assert.match(out, new RegExp(version.replaceAll('.', '\\.')));
    execFileSync('npm', ['install', '--ignore-scripts', '--silent', 'lineward'], own());
    assert.equal(JSON.parse(readFileSync(join(folder, 'node_modules/lineward/package.json'))).scripts, undefined);
    assert.deepEqual(readdirSync(join(folder, 'node_modules/@lineward')), [`linux-${process.arch}`]);
  });

  await t.test('run -- npx -y some-server: a call over HTTP, and SIGTERM ends all of it', async (t) => {
    const child = start(t, 'npx', ['-y', 'lineward', 'run', '--listen', '127.0.0.1:0', '--ops', 'off', '--', 'npx', '-y', '@modelcontextprotocol/server-everything'],
      own({ MARK: 'mark-run' }));
    const answer = await fetch(await running(child), { method: 'POST', headers: headers('tools/call', 'echo'), body: JSON.stringify(echo) });
    assert.match(await answer.text(), /Echo: hi/);
    child.kill('SIGTERM');
    await child.over;
    await none_left('MARK=mark-run');
  });

  await t.test('stdio URL as a client starts it: one line in, one line out, and the end of stdin ends it with 0', async (t) => {
    const server = start(t, launcher(), ['run', '--listen', '127.0.0.1:0', '--ops', 'off', '--', 'npx', '-y', '@modelcontextprotocol/server-everything']);
    const front = start(t, 'npx', ['-y', 'lineward', 'stdio', await running(server)], own({ MARK: 'mark-stdio' }));
    front.stdin.write(`${JSON.stringify(echo)}\n`);
    const [line] = await new Promise((resolve) => front.stdout.once('data', (chunk) => resolve(String(chunk).split('\n'))));
    assert.match(line, /Echo: hi/);
    front.stdin.end();
    assert.deepEqual(await front.over, { code: 0, signal: null });
    await none_left('MARK=mark-stdio');
  });

  await t.test('what the binary ends with is what the launcher ends with', () => {
    const ended = (...args) => spawnSync(launcher(), args, own()).status;
    assert.equal(ended('run', '--no-such-flag'), 2);
    assert.equal(ended('validate', '/no/such/file'), spawnSync(join(folder, `node_modules/@lineward/linux-${process.arch}/lineward`), ['validate', '/no/such/file']).status);
    assert.equal(ended('healthcheck', '--ops', '127.0.0.1:1'), 69);
    assert.equal(ended('--version'), 0);
  });

  await t.test('SIGINT and SIGTERM reach the binary once; what it writes is not lost', async (t) => {
    for (const signal of ['SIGINT', 'SIGTERM']) {
      const child = start(t, launcher(), ['run', '--listen', '127.0.0.1:0', '--ops', 'off', '--log-format', 'logfmt'], own({ MARK: 'mark-signal' }));
      await running(child);
      child.kill(signal);
      assert.deepEqual(await child.over, { code: 0, signal: null }, child.said);
      assert.match(child.said, /event=stop/);
      await none_left('MARK=mark-signal');
    }
  });

  await t.test('SIGHUP is a reload, not the end', async (t) => {
    const child = start(t, launcher(), ['run', '--listen', '127.0.0.1:0', '--ops', 'off', '--log-format', 'logfmt']);
    await running(child);
    child.kill('SIGHUP');
    await says(child, /SIGHUP|reload|config/);
    child.kill('SIGTERM');
    assert.deepEqual(await child.over, { code: 0, signal: null }, child.said);
  });

  await t.test('a binary that a signal kills takes the launcher along with the same one', async (t) => {
    const child = start(t, launcher(), ['run', '--listen', '127.0.0.1:0', '--ops', 'off']);
    await running(child);
    const [binary] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'latin1').trim().split(' ');
    assert.match(readlinkSync(`/proc/${binary}/exe`), /@lineward/);
    process.kill(Number(binary), 'SIGKILL');
    assert.deepEqual(await child.over, { code: null, signal: 'SIGKILL' });
  });

  await t.test('kill -9 of the launcher, and of npx above it, leaves no process', async (t) => {
    const args = ['run', '--listen', '127.0.0.1:0', '--ops', 'off', '--', 'npx', '-y', '@modelcontextprotocol/server-everything'];
    for (const [command, before] of [[launcher(), []], ['npx', ['-y', 'lineward']]]) {
      const child = start(t, command, [...before, ...args], own({ MARK: 'mark-kill' }));
      await running(child);
      child.kill('SIGKILL');
      await child.over;
      await none_left('MARK=mark-kill');
    }
  });

  await t.test('servers do not see who started Lineward', async (t) => {
    const child = start(t, launcher(), ['run', '--listen', '127.0.0.1:0', '--ops', 'off', '--', 'sh', '-c', 'env >server-env; exec cat']);
    await says(child, /mcp/);
    const file = join(folder, 'server-env');
    for (const until = Date.now() + 30_000; !(existsSync(file) && readFileSync(file, 'utf8').includes('PATH=')); await pause(20)) assert.ok(Date.now() < until);
    assert.doesNotMatch(readFileSync(file, 'utf8'), /LINEWARD_PARENT/);
    child.kill('SIGTERM');
    await child.over;
  });

  await t.test('without the package of the machine the error says what to do, with 69', () => {
    const bare = empty_folder(t);
    execFileSync('npm', ['install', '--silent', '--omit=optional', 'lineward'], { cwd: bare, env });
    const ended = spawnSync(join(bare, 'node_modules/.bin/lineward'), ['--version'], { env, encoding: 'utf8' });
    assert.equal(ended.status, 69);
    assert.match(ended.stderr, /@lineward\/linux-\w+ is not installed\n  fix   npm install without --omit=optional/);
  });

  await t.test('another system is named, with 69', () => {
    const ended = spawnSync(process.execPath, ['-e', "Object.defineProperty(process, 'platform', { value: 'darwin' }); require('lineward/lineward.js')"], { ...own(), encoding: 'utf8' });
    assert.equal(ended.status, 69);
    assert.match(ended.stderr, /there is no binary for darwin \w+, only for linux x64 and linux arm64/);
  });
});
