// Servers that start on use, and lists from the last life (docs/quick-starts.md). The server waits for a file before it
// reads anything, so that only Lineward can have answered before.
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { binary } from '../lib/binary.mjs';
import { Inbox, temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { descendants } from '../lib/processes.mjs';
import { everything, memory, modernFixture } from '../lib/servers.mjs';
import { DIRECT, MODERN } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const INFO = { name: 'lineward-e2e', version: '1.0.0' };
const LISTS = Number(process.env.LINEWARD_QUICK_LISTS ?? 60);
// Any answer within this limit is Lineward's own: the server cannot start before the test lets it.
const LIMIT_MS = Number(process.env.LINEWARD_QUICK_MS ?? 5000);

/** A server behind a gate: it starts when the file is there. An argument that is a file would be part of its fingerprint. */
const behind = (gate, [command, ...args], env = {}) => ({
  command: 'sh',
  args: ['-c', 'until [ -e "$${GATE}" ]; do sleep 0.05; done; exec "$0" "$@"', command, ...args],
  env: { GATE: gate, ...env },
});

const CLIENTS = {
  'SDK 1.x': {
    make: () => new LegacyClient(INFO, { capabilities: {} }),
    transport: (parameters) => new LegacyStdio(parameters),
    // Its listTools() compiles each outputSchema anew: 29 ms for the list of server-memory without a gateway, of 2 ms for the answer.
    list: (client) => client.request({ method: 'tools/list' }, ListToolsResultSchema),
    on: (client, told) => {
      client.fallbackNotificationHandler = async ({ method }) => told.put(method);
    },
  },
  'SDK 2.x': {
    make: () => new ModernClient(INFO, { capabilities: {}, versionNegotiation: { mode: { pin: MODERN } } }),
    transport: (parameters) => new ModernStdio(parameters),
    list: (client) => client.listTools(),
    on: () => {},
  },
};

async function connect(line, path) {
  const { make, transport, on } = CLIENTS[line];
  const client = make();
  const told = new Inbox();
  on(client, told);
  const began = performance.now();
  await client.connect(transport({ command: binary(), args: ['stdio', path], env: process.env, stderr: 'ignore' }));
  return { client, told, connected: performance.now() - began };
}

/** The times of these lists, in order of their size. */
async function times(line, client, n) {
  const all = [];
  for (let i = 0; i < n; i++) {
    const began = performance.now();
    await CLIENTS[line].list(client);
    all.push(performance.now() - began);
  }
  return all.sort((a, b) => a - b);
}

const SERVERS = {
  'one server': (gate) => ({ slow: behind(gate, everything()) }),
  'two servers': (gate) => ({ slow: behind(gate, everything()), other: behind(gate, memory()) }),
};

describe('lists from the last life', { skip: DIRECT && 'needs Lineward' }, () => {
  for (const line of Object.keys(CLIENTS)) {
    for (const [name, servers] of Object.entries(SERVERS)) {
      test(`${line} on stdio, in front of ${name}`, async (t) => {
        const folder = temporaryFolder(t);
        const gate = join(folder, 'gate');
        const path = join(folder, 'lineward.json');
        const defaults = { start: 'onUse', remember: { directory: join(folder, 'memory') } };
        writeFileSync(path, JSON.stringify({ defaults, mcpServers: servers(gate) }));
        writeFileSync(gate, '');
        const first = await connect(line, path);
        const { tools } = await first.client.listTools();
        await first.client.close();
        rmSync(gate);

        const { client, connected } = await connect(line, path);
        t.after(() => client.close());
        const again = await client.listTools();
        assert.deepEqual(again.tools, tools);
        const sorted = await times(line, client, LISTS);
        const p99 = sorted[Math.floor(sorted.length * 0.99) - 1];
        console.log(`connected in ${connected.toFixed(0)} ms, lists: p50 ${sorted[LISTS / 2].toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
        assert.ok(p99 <= LIMIT_MS, `p99 is ${p99} ms`);

        const tool = tools.find((one) => one.name.endsWith('echo')).name;
        const called = client.callTool({ name: tool, arguments: { message: 'there' } });
        writeFileSync(gate, '');
        const result = await called;
        assert.match(result.content[0].text, /there/);
        // The server's own list from here on.
        assert.deepEqual((await client.listTools()).tools, tools);
      });
    }
  }

  test('a list that differs is told to a legacy client, and a tool that is gone is refused', async (t) => {
    const folder = temporaryFolder(t);
    const gate = join(folder, 'gate');
    const path = join(folder, 'lineward.json');
    const list = join(folder, 'list.json');
    const source = `
      const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
      const names = JSON.parse(require('fs').readFileSync(process.env.LIST, 'utf8'));
      const self = { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } }, serverInfo: { name: 's', version: '1' } };
      require('readline').createInterface({ input: process.stdin }).on('line', (text) => {
        const { id, method, params } = JSON.parse(text);
        if (id === undefined) return;
        if (method === 'initialize') return say({ id, result: self });
        if (method === 'tools/list') return say({ id, result: { tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) } });
        if (names.includes(params?.name)) return say({ id, result: { content: [] } });
        say({ id, error: { code: method === 'tools/call' ? -32602 : -32601, message: 'unknown' } });
      });`;
    // A file that only a variable names is not part of its fingerprint.
    const slow = behind(gate, [process.execPath, '-e', source], { LIST: list });
    const remember = { directory: join(folder, 'memory') };
    writeFileSync(path, JSON.stringify({ mcpServers: { s: { ...slow, start: 'onUse', remember } } }));
    writeFileSync(list, '["old", "both"]');
    writeFileSync(gate, '');
    const first = await connect('SDK 1.x', path);
    assert.equal((await first.client.listTools()).tools.length, 2);
    await first.client.close();
    rmSync(gate);
    writeFileSync(list, '["both", "new"]');

    const { client, told } = await connect('SDK 1.x', path);
    t.after(() => client.close());
    assert.deepEqual((await client.listTools()).tools.map((one) => one.name), ['old', 'both']);
    const gone = client.callTool({ name: 'old' }).catch((error) => error);
    writeFileSync(gate, '');
    assert.equal((await gone).code, -32602);
    await told.until((method) => method === 'notifications/tools/list_changed', 'the change');
    assert.deepEqual((await client.listTools()).tools.map((one) => one.name), ['both', 'new']);
    assert.equal(told.items.length, 1);
  });
});

describe('forty servers that no client uses', { skip: DIRECT && 'needs Lineward' }, () => {
  test('they have no process', async (t) => {
    const mcpServers = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => {
        const [command, ...args] = modernFixture();
        return [`s${i}`, { command, args, required: i === 0 }];
      }),
    );
    const folder = temporaryFolder(t);
    const { pid } = await startGatewayFrom(t, {
      defaults: { start: 'onUse', remember: { directory: join(folder, 'memory') } },
      ops: { address: 'off' },
      admin: { address: 'off' },
      mcpServers,
    });
    const own = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
    const others = descendants(pid).filter((one) => readFileSync(`/proc/${one.pid}/cmdline`, 'latin1') !== own);
    assert.deepEqual(others, []);
    const status = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
    const size = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)[1]);
    console.log(`resident ${size('Rss')} kB, of them private ${size('Private_Dirty') + size('Private_Clean')} kB`);
  });
});
