// SDK clients of both eras that start Lineward as their stdio server: `lineward stdio URL` in front of HTTP fixtures,
// `lineward stdio FILE`, and `lineward stdio --share FILE`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { binary } from '../lib/binary.mjs';
import { givesUpOneOfTwo } from '../lib/cancelling.mjs';
import { fixtureRecord, Inbox, temporaryFolder } from '../lib/events.mjs';
import { startListener } from '../lib/gateway.mjs';
import { leftovers, processOf } from '../lib/processes.mjs';
import { legacyFixture, modernFixture } from '../lib/servers.mjs';
import { DIRECT, LEGACY, MODERN, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const INFO = { name: 'lineward-e2e', version: '1.0.0' };
const WATCHED = 'test://watched-resource';

// The servers behind `lineward stdio`.
const BEHIND = {
  'an HTTP server': async (t, [program, ...args], env) => {
    const server = await startListener(program, [...args, '--http', '0'], { env, strict: false });
    t.after(() => server.stop());
    return { target: server.url, env: {} };
  },
  'a file with a stdio server': async (t, [command, ...args], env) => {
    const path = join(temporaryFolder(t), 'mcp.json');
    writeFileSync(path, JSON.stringify({ mcpServers: { fixture: { command, args, inheritEnv: true } } }));
    return { target: path, env };
  },
  // The client that starts it is its only one here; tests/e2e/cases/stdio-share.test.mjs has the others.
  'a shared gateway': async (t, [command, ...args], env) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'mcp.json');
    writeFileSync(path, JSON.stringify({ mcpServers: { fixture: { command, args, inheritEnv: true } } }));
    return { target: path, env: { ...env, XDG_RUNTIME_DIR: folder }, words: ['--share'] };
  },
};

/** Parameters for a StdioClientTransport; stderr() tells what Lineward said. */
const parameters = ({ target, env, words = [] }) => ({
  command: binary(),
  args: ['stdio', ...words, target],
  env: { ...process.env, ...env },
  stderr: 'pipe',
});

async function legacy(t, behind, { capabilities = {}, requests = [], notifications = [] } = {}) {
  const client = new LegacyClient(INFO, { capabilities });
  for (const [schema, handler] of requests) client.setRequestHandler(schema, handler);
  for (const [schema, handler] of notifications) client.setNotificationHandler(schema, handler);
  const transport = new LegacyStdio(parameters(behind));
  let said = '';
  transport.stderr.on('data', (chunk) => (said += chunk));
  t.after(async () => {
    await client.close();
    // That the machine stood still for less than a second is no noise of its own.
    assert.equal(said.replace(/^.* event=loop\.stall held_up_ms=\d{1,3} .*\n/gm, ''), '', 'a quiet run leaves nothing on stderr');
  });
  await client.connect(transport);
  return { client, transport };
}

async function modern(t, behind, { notifications = {}, requests = {}, capabilities = {} } = {}) {
  const client = new ModernClient(INFO, { capabilities, versionNegotiation: { mode: { pin: MODERN } } });
  for (const [method, handler] of Object.entries(requests)) client.setRequestHandler(method, handler);
  for (const [method, handler] of Object.entries(notifications)) client.setNotificationHandler(method, handler);
  const transport = new ModernStdio(parameters(behind));
  t.after(() => client.close());
  await client.connect(transport);
  return { client, transport };
}

for (const [name, stand] of Object.entries(BEHIND)) {
  describe(`SDK 1.x on stdio, in front of ${name}`, { skip: DIRECT && 'needs Lineward' }, () => {
    test('tools, progress, an elicitation, and the end', async (t) => {
      const record = fixtureRecord(t);
      const { client, transport } = await legacy(t, await stand(t, legacyFixture(), record.env), {
        capabilities: { elicitation: {} },
        requests: [[types.ElicitRequestSchema, () => ({ action: 'accept', content: { username: 'ada', email: 'a@b' } })]],
      });
      assert.equal(client.getServerVersion().name, 'lineward-fixture-legacy');
      assert.ok((await client.listTools()).tools.some((tool) => tool.name === 'test_echo'));
      const steps = [];
      await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, undefined, {
        onprogress: ({ progress }) => steps.push(progress),
      });
      // The last one comes together with the answer, and SDK clients on stdio then forget it.
      assert.deepEqual(steps.slice(0, 2), [0, 50]);
      const answered = await client.callTool({ name: 'test_elicitation', arguments: { message: 'who?' } });
      assert.match(textOf(answered), /accept/);
      const gateway = processOf(transport.pid);
      const began = Date.now();
      await client.close();
      assert.deepEqual(await leftovers(() => [gateway], 10_000), []);
      assert.ok(Date.now() - began < 4_000, 'the end of stdin is enough');
    });

    test('an aborted call is cancelled at the server, with its reason; others go on', async (t) => {
      const record = fixtureRecord(t);
      const { client } = await legacy(t, await stand(t, legacyFixture(), record.env));
      await givesUpOneOfTwo(client, record);
    });

    test('a client that closes cancels what it started', async (t) => {
      const record = fixtureRecord(t);
      const { client } = await legacy(t, await stand(t, legacyFixture(), record.env));
      client.callTool({ name: 'test_wait', arguments: { tag: 'left' } }).catch(() => {});
      await record.until({ event: 'started', tag: 'left' });
      await client.close();
      await record.until({ event: 'aborted', tag: 'left' });
    });
  });

  describe(`SDK 2.x on stdio, in front of ${name}`, { skip: DIRECT && 'needs Lineward' }, () => {
    test('tools, progress, subscriptions, and the end', async (t) => {
      const record = fixtureRecord(t);
      const seen = new Inbox();
      const { client, transport } = await modern(t, await stand(t, modernFixture(), record.env), {
        notifications: {
          'notifications/tools/list_changed': () => seen.put('tools'),
          'notifications/resources/updated': ({ params }) => seen.put(params.uri),
        },
      });
      assert.equal(client.getProtocolEra(), 'modern');
      assert.ok((await client.listTools()).tools.some((tool) => tool.name === 'test_echo'));
      const steps = [];
      await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, { onprogress: ({ progress }) => steps.push(progress) });
      // The last one comes together with the answer, and SDK clients on stdio then forget it.
      assert.deepEqual(steps.slice(0, 2), [0, 50]);
      const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [WATCHED] });
      await client.callTool({ name: 'test_touch_resource' });
      await client.callTool({ name: 'test_trigger_tool_change' });
      await seen.until((what) => what === 'tools', 'the change of the tools');
      assert.deepEqual(seen.items, [WATCHED, 'tools']);
      await subscription.close();
      assert.equal(await subscription.closed, 'local');
      const gateway = processOf(transport.pid);
      await client.close();
      assert.deepEqual(await leftovers(() => [gateway], 10_000), []);
    });

    test('an aborted call is cancelled at the server; others go on', async (t) => {
      const record = fixtureRecord(t);
      const { client } = await modern(t, await stand(t, modernFixture(), record.env));
      const abort = new AbortController();
      const waiting = client.callTool({ name: 'test_wait', arguments: { tag: 'a' } }, { signal: abort.signal });
      const outcome = assert.rejects(waiting);
      await record.until({ event: 'started', tag: 'a' });
      const meanwhile = client.callTool({ name: 'test_sleep', arguments: { ms: 300, tag: 'b' } });
      abort.abort('changed my mind');
      await outcome;
      await record.until({ event: 'aborted', tag: 'a' });
      assert.equal(textOf(await meanwhile), 'b');
    });
  });
}

describe('SDK 2.x on stdio, negotiating', { skip: DIRECT && 'needs Lineward' }, () => {
  for (const [name, stand] of Object.entries(BEHIND)) {
    test(`finds the modern era in front of ${name} that is legacy`, async (t) => {
      const behind = await stand(t, legacyFixture(), {});
      const client = new ModernClient(INFO, { versionNegotiation: { mode: 'auto' } });
      t.after(() => client.close());
      await client.connect(new ModernStdio(parameters(behind)));
      assert.equal(client.getNegotiatedProtocolVersion(), MODERN);
      assert.equal(textOf(await client.callTool({ name: 'test_simple_text' })), 'This is a simple text response for testing.');
    });

    test(`its legacy default in front of ${name} that is modern`, async (t) => {
      const behind = await stand(t, modernFixture(), {});
      const client = new ModernClient(INFO);
      t.after(() => client.close());
      await client.connect(new ModernStdio(parameters(behind)));
      assert.equal(client.getNegotiatedProtocolVersion(), LEGACY);
      assert.equal(textOf(await client.callTool({ name: 'test_simple_text' })), 'This is a simple text response for testing.');
    });
  }
});

describe('a file on stdin', { skip: DIRECT && 'needs Lineward' }, () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: LEGACY, capabilities: {}, clientInfo: INFO },
  };
  const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };

  // Messages behind `initialize` are read when that is answered, after the file's end.
  for (const [name, behind, answers] of [
    ['nothing', [], 1],
    ['only a notification', [initialized], 1],
    ['a request that is refused', [initialized, { ...initialize, id: 1 }], 2],
    ['a call', [initialized, { jsonrpc: '2.0', id: 1, method: 'tools/list' }], 2],
  ]) {
    test(`is answered and ends, with ${name} behind initialize`, async (t) => {
      const folder = temporaryFolder(t);
      const file = join(folder, 'in.jsonl');
      writeFileSync(file, [initialize, ...behind].map((message) => `${JSON.stringify(message)}\n`).join(''));
      const input = openSync(file, 'r');
      const child = spawn(binary(), ['stdio', '--', ...legacyFixture()], { stdio: [input, 'pipe', 'ignore'] });
      closeSync(input);
      t.after(() => child.kill('SIGKILL'));
      let said = '';
      child.stdout.on('data', (chunk) => (said += chunk));
      const [code] = await once(child, 'close');
      assert.equal(code, 0);
      const ids = said.trim().split('\n').map((line) => JSON.parse(line).id);
      assert.deepEqual(ids, [0, 1].slice(0, answers));
    });
  }
});
