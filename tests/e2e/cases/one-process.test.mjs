// Servers of which one process can run at a time: the era probe's process is over before another one starts.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { binary } from '../lib/binary.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { DIRECT, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const FIXTURE = new URL('../fixtures/one-process-server.mjs', import.meta.url).pathname;
const INFO = { name: 'lineward-e2e', version: '1.0.0' };

/** The command line of a server with a folder of its own. */
function server(t) {
  const folder = temporaryFolder(t);
  return [process.execPath, FIXTURE, join(folder, 'held'), join(folder, 'starts')];
}

async function counted(transport) {
  const client = new Client(INFO);
  await client.connect(transport);
  const count = Number(textOf(await client.callTool({ name: 'count', arguments: {} })));
  await client.close();
  return count;
}

describe('a server of which one process can run', { skip: DIRECT && 'needs Lineward' }, () => {
  test('lineward stdio starts one process for each legacy client, and no other', async (t) => {
    const command = server(t);
    for (let client = 1; client <= 4; ++client) {
      const transport = new StdioClientTransport({ command: binary(), args: ['stdio', '--', ...command], stderr: 'ignore' });
      assert.equal(await counted(transport), client);
    }
  });

  for (const one of [{ isolation: 'shared' }, { instances: 1 }]) {
    test(`lineward run with ${JSON.stringify(one)} starts no process beside the one of the probe`, async (t) => {
      const [command, ...args] = server(t);
      const gateway = await startGatewayFrom(t, { listen: { address: '127.0.0.1:0' }, mcpServers: { s: { command, args, ...one } } });
      assert.ok((await counted(new StreamableHTTPClientTransport(new URL(gateway.url)))) >= 1);
    });
  }
});
