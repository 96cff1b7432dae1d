// Lineward as the first process of a container: it buries what it inherits, and passes SIGTERM on.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { bounded, temporaryFolder } from '../lib/events.mjs';
import { callTool, eventually } from '../lib/operator.mjs';
import { plainFixture } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const NAMESPACE = ['--user', '--map-root-user', '--pid', '--fork', '--kill-child', '--mount-proc'];
const tried = spawnSync('unshare', [...NAMESPACE, 'true'], { encoding: 'utf8' });
const skip = DIRECT || (tried.status === 0 ? false : `unshare: ${tried.error?.message ?? tried.stderr.trim()}`);

/** Children of a process, by pid and state. */
function childrenOf(pid) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const fields = readFileSync(`/proc/${name}/stat`, 'latin1').split(') ')[1].split(' ');
        return Number(fields[1]) === pid ? [{ pid: Number(name), state: fields[0] }] : [];
      } catch {
        return []; // gone in the meantime
      }
    });
}

describe('as process 1', { skip }, () => {
  test('what it inherits is buried, SIGTERM ends everything', async (t) => {
    const [command, ...args] = plainFixture();
    const path = join(temporaryFolder(t), 'lineward.json');
    const config = { listen: { address: '127.0.0.1:0' }, mcpServers: { s: { command, args } }, admin: 'off' };
    writeFileSync(path, JSON.stringify({ ...config, ops: 'off' }));
    const outer = spawn('unshare', [...NAMESPACE, binary(), 'run', path], { stdio: ['ignore', 'ignore', 'pipe'] });
    t.after(() => outer.kill('SIGKILL')); // and with it all that is inside
    const ended = new Promise((resolve) => outer.once('exit', (code, signal) => resolve(signal ?? code)));
    const url = await bounded(
      new Promise((resolve) =>
        createInterface({ input: outer.stderr }).on('line', (line) => {
          const found = /http:\/\/127\.0\.0\.1:\d+\/mcp\b/.exec(line)?.[0];
          if (found) resolve(found);
        }),
      ),
      20_000,
      'the start',
    );
    await callTool(url, 'echo', { text: 'x' }).answer;
    const [first] = childrenOf(outer.pid);
    // A user enters the container and leaves processes behind, which become children of process 1.
    const entered = spawnSync('nsenter', ['-t', String(first.pid), '-U', '-p', '-m', '--preserve-credentials', 'sh', '-c',
      'for i in 1 2 3; do (sleep 0.2 &); done']); // prettier-ignore
    assert.equal(entered.status, 0, String(entered.stderr));
    await eventually(() => childrenOf(first.pid).length === 1, 'nothing left but the gateway');
    await callTool(url, 'echo', { text: 'x' }).answer;
    process.kill(first.pid, 'SIGTERM');
    assert.equal(await bounded(ended, 20_000, 'the end'), 0);
  });
});
