// Bytes from outside that a library or a terminal would accept: endless files, false answers of a Redis, colours, an
// early signal, variables in visible places.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { binary } from '../lib/binary.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { callTool, eventually, get, lineward } from '../lib/operator.mjs';
import { plain, running } from '../lib/reloading.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

/** A stdio server of 2026-07-28 with one tool, which answers with this text. */
const speaker = (text) => `
const answer = { 'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } },
  'tools/list': { tools: [{ name: 't', description: ${JSON.stringify(text)}, inputSchema: { type: 'object' } }], ttlMs: 0, cacheScope: 'private' },
  'tools/call': { content: [{ type: 'text', text: ${JSON.stringify(text)} }] } };
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined && answer[method]) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...answer[method] } }));
});`;

/** A Redis that greets well and then says this to each script. */
async function lyingRedis(t, answer) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      const text = bytes.toString();
      if (text.includes('PING')) socket.write('+PONG\r\n');
      if (text.includes('EVALSHA')) socket.write(answer);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `redis://127.0.0.1:${server.address().port}`;
}

describe('bytes from outside', { skip: DIRECT }, () => {
  test('a pipe in the place of a file is refused at once, by validate, fmt and a reload', async (t) => {
    const one = await running(t, { s: plain() });
    const pipe = join(one.folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const value = '${file:' + pipe + '}';
    const file = join(one.folder, 'waits.json');
    writeFileSync(file, one.text({ s: plain('', { env: { TOKEN: value } }) }));
    for (const args of [['validate', file], ['validate', pipe], ['fmt', pipe]]) {
      const { status, stdout, stderr } = spawnSync(binary(), args, { encoding: 'utf8', timeout: 10_000 });
      assert.notEqual(status, null, `${args[0]} waits for the pipe`);
      assert.notEqual(status, 0);
      assert.match(stdout + stderr, /not a regular file/);
    }
    one.write({ s: plain('', { env: { TOKEN: value } }) });
    process.kill(one.gateway.pid, 'SIGHUP');
    await eventually(() => one.gateway.stderr().includes('not a regular file'), 'the reload is refused');
    assert.equal((await callTool(one.at('s'), 'echo', { nonce: 'n' }).answer).error, undefined);
  });

  test('SIGHUP while the gateway starts does not end it', async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'lineward.json');
    writeFileSync(file, JSON.stringify({ listen: { address: '127.0.0.1:0' }, ops: 'off', admin: 'off', mcpServers: { s: plain() } }));
    for (let pause = 0; pause < 8; ++pause) {
      const child = spawn(binary(), ['run', file], { stdio: ['ignore', 'ignore', 'pipe'] });
      let text = '';
      child.stderr.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      if (pause > 0) await sleep(pause);
      // From the beginning of main on, where the signal is held; not during the linker's work before it.
      const isHeld = () => child.signalCode !== null || /^SigBlk:\s+\w+[13579bdf]$/m.test(readFileSync(`/proc/${child.pid}/status`, 'utf8'));
      await eventually(() => isHeld() || text.includes('event=listen'), 'it is held');
      child.kill('SIGHUP');
      await eventually(() => text.includes('event=listen') || child.exitCode !== null || child.signalCode !== null, 'it listens');
      assert.equal(child.signalCode, null, `ended after ${pause} ms:\n${text}`);
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  });

  test('what a variable gave is shown nowhere: in arguments, in the path of a URL', async (t) => {
    process.env.OUTSIDE_ARG = 'argument-0a1b2c3d4e';
    process.env.OUTSIDE_PATH = 'path-9f8e7d6c5b';
    t.after(() => {
      delete process.env.OUTSIDE_ARG;
      delete process.env.OUTSIDE_PATH;
    });
    const s = plain();
    const one = await running(t, {
      s: { ...s, args: ['--title=${env:OUTSIDE_ARG}', ...s.args] },
      h: { url: 'http://127.0.0.1:9/${env:OUTSIDE_PATH}/mcp' },
    });
    await eventually(() => /ready +s +/.test(one.gateway.stderr()), 'the line about the server');
    const shown = [one.gateway.stderr()];
    for (const path of ['/api/v1/status', '/api/v1/servers', '/api/v1/servers/s', '/api/v1/servers/h'])
      shown.push((await get(join(one.folder, 'admin.sock'), path)).body);
    for (const text of shown) assert.doesNotMatch(text, /0a1b2c3d4e|9f8e7d6c5b/);
  });

  test('on a terminal neither call nor tools shows a colour of a server', () => {
    const text = 'seen\u001b[8mhidden\u001b[31mred\u001b[0m';
    const folder = ['--', 'node', '-e', speaker(text)];
    for (const args of [['call', 't', ...folder], ['tools', ...folder], ['tools', '--schema', 't', ...folder]]) {
      const words = [binary(), ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
      const { stdout } = spawnSync('script', ['-qec', words, '/dev/null'], { encoding: 'utf8', timeout: 30_000, env: { ...process.env, TERM: 'xterm' } });
      assert.doesNotMatch(stdout, /\x1b\[8m|\x1b\[31m/, args[0]);
      if (args[1] === 't') assert.match(stdout, /seen\?\[8mhidden\?\[31mred/);
    }
  });

  const LIES = {
    'an array of a hundred million': '*100000000\r\n',
    'arrays within arrays': '*9\r\n'.repeat(9),
    'a text of a gigabyte': '$1000000000\r\n',
    'a time that overflows': '*3\r\n:0\r\n:9223372036854775807\r\n:9223372036854775807\r\n',
    'a negative time': '*3\r\n:0\r\n:-5\r\n:-5\r\n',
    'a verdict that is none': '*3\r\n:7\r\n:0\r\n:0\r\n',
  };
  for (const [name, answer] of Object.entries(LIES)) {
    test(`a Redis that lies has failed, and onError holds: ${name}`, async (t) => {
      const url = await lyingRedis(t, answer);
      const rateLimit = { requests: 5, per: '1h', methods: ['tools/call'], redis: { url, timeout: '2s', onError: 'allow' } };
      const one = await running(t, { s: plain() }, { more: { plugins: [{ rateLimit }] } });
      await eventually(() => one.gateway.stderr().includes('rate_limit.redis'), 'Redis is there');
      for (let call = 0; call < 8; ++call) assert.equal((await callTool(one.at('s'), 'echo', { nonce: 'n' }).answer).error, undefined);
      assert.match(one.gateway.stderr(), /event=rate_limit.redis .*state=down/);
    });
  }
});
