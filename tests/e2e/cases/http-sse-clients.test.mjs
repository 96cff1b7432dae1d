// SDK 1.x's SSE client, which users of older gateways still have, in front of legacy and modern servers.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { startGateway } from '../lib/gateway.mjs';
import { everything, modernFixture } from '../lib/servers.mjs';
import { textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

async function connect(t, command) {
  const target = await startGateway({ command, env: { LINEWARD_LISTEN_LEGACY_SSE: 'true' } });
  t.after(() => target.stop());
  const client = new Client({ name: 'old', version: '1' }, { capabilities: {} });
  t.after(() => client.close());
  await client.connect(new SSEClientTransport(new URL('/sse', target.url)));
  return client;
}

test('HTTP+SSE client, server-everything: tools, progress, cancel', async (t) => {
  const client = await connect(t, everything());
  assert.match(textOf(await client.callTool({ name: 'get-sum', arguments: { a: 2, b: 3 } })), /5/);
  const steps = [];
  const call = { name: 'trigger-long-running-operation', arguments: { duration: 0.5, steps: 5 } };
  await client.callTool(call, undefined, { onprogress: ({ progress }) => steps.push(progress) });
  // This client forgets its progress handler when the answer comes in the same chunk as the last progress.
  assert.deepEqual(steps.slice(0, 4), [1, 2, 3, 4]);
  const abort = new AbortController();
  const long = { name: 'trigger-long-running-operation', arguments: { duration: 60, steps: 600 } };
  const cut = { signal: abort.signal, onprogress: () => abort.abort('enough') };
  await assert.rejects(client.callTool(long, undefined, cut));
  assert.match(textOf(await client.callTool({ name: 'echo', arguments: { message: 'still here' } })), /still here/);
});

test('HTTP+SSE client, modern-only server', async (t) => {
  const client = await connect(t, modernFixture());
  const { tools } = await client.listTools();
  assert.ok(tools.length > 0);
});
