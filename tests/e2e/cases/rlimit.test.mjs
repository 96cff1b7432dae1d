// A limit of a server's process that the kernel does not let Lineward set is an error that says which, and why.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { startListener } from '../lib/gateway.mjs';
import { callTool, eventually } from '../lib/operator.mjs';
import { plainFixture } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

// Root may raise its limits, unless that capability is taken away.
const CAPPED = ['setpriv', '--bounding-set=-sys_resource', '--inh-caps=-sys_resource', 'prlimit', '--nofile=512:512'];
const words = process.getuid() === 0 ? CAPPED : CAPPED.slice(3);
const usable = spawnSync(words[0], [...words.slice(1), 'true']).status === 0;

describe('rlimit', { skip: DIRECT || (!usable && `${words[0]} does not work here`) }, () => {
  test('one above the hard limit of Lineward itself', async (t) => {
    const [command, ...args] = plainFixture();
    const path = join(temporaryFolder(t), 'lineward.json');
    const server = { command, args, protocolEra: 'modern', rlimit: { openFiles: 4096 } };
    writeFileSync(path, JSON.stringify({ listen: { address: '127.0.0.1:0' }, mcpServers: { s: server } }));
    const gateway = await startListener(words[0], [...words.slice(1), binary(), 'run', '--ops', 'off', '--admin', 'off', path]);
    t.after(() => gateway.stop());
    const { error } = await callTool(gateway.url, 'echo').answer;
    assert.equal(error.code, 502);
    assert.equal(error.data['io.lineward/gateway'].reason, 'upstream_unreachable');
    assert.match(error.message, /could not be started with rlimit\.openFiles 4096: EPERM/);
    assert.match(error.message, /above the hard limit of Lineward itself \(ulimit -H\)/);
    await eventually(() => /event=upstream\.down .*rlimit\.openFiles/.test(gateway.stderr()), 'the line in the log');
  });

  test('one below it reaches the process', async (t) => {
    const path = join(temporaryFolder(t), 'lineward.json');
    const server = { command: 'sh', args: ['-c', 'echo nofile $(ulimit -n) >&2; exit 1'], protocolEra: 'modern', rlimit: { openFiles: 100 } };
    writeFileSync(path, JSON.stringify({ listen: { address: '127.0.0.1:0' }, mcpServers: { s: server } }));
    const gateway = await startListener(words[0], [...words.slice(1), binary(), 'run', '--ops', 'off', '--admin', 'off', path]);
    t.after(() => gateway.stop());
    const { error } = await callTool(gateway.url, 'echo').answer;
    assert.match(error.message, /nofile 100/);
  });
});
