// SDK 2.x clients, pinned to 2026-07-28 and negotiating, Lineward, legacy servers as published. Without Lineward these
// clients and servers do not understand each other, so there is nothing to measure directly.
import assert from 'node:assert/strict';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { Inbox, temporaryFolder } from '../lib/events.mjs';
import { everything, filesystem, legacyFixture, memory } from '../lib/servers.mjs';
import { DIRECT, MODERN, modernClient, startTarget, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const CLIENTS = {
  pinned: {},
  negotiating: { options: { versionNegotiation: { mode: 'auto' } } },
};

describe('SDK 2.x in front of legacy servers', { skip: DIRECT }, () => {
  for (const [kind, options] of Object.entries(CLIENTS)) {
    test(`${kind}: server-everything`, async (t) => {
      const target = await startTarget(t, everything());
      const client = await modernClient(t, target, options);
      assert.equal(client.getProtocolEra(), 'modern');
      assert.equal(client.getNegotiatedProtocolVersion(), MODERN);
      assert.match(client.getServerVersion().name, /everything/);
      const { tools } = await client.listTools();
      assert.ok(tools.some(({ name }) => name === 'get-sum'));
      assert.match(textOf(await client.callTool({ name: 'get-sum', arguments: { a: 2, b: 3 } })), /5/);
      const steps = [];
      const call = { name: 'trigger-long-running-operation', arguments: { duration: 0.5, steps: 5 } };
      await client.callTool(call, { onprogress: ({ progress }) => steps.push(progress) });
      assert.deepEqual(steps, [1, 2, 3, 4, 5]);
      const { resources } = await client.listResources();
      assert.ok((await client.readResource({ uri: resources[0].uri })).contents.length > 0);
      const { prompts } = await client.listPrompts();
      assert.ok(prompts.length > 0);
      const abort = new AbortController();
      const long = { name: 'trigger-long-running-operation', arguments: { duration: 60, steps: 600 } };
      const cut = { signal: abort.signal, onprogress: () => abort.abort('enough') };
      await assert.rejects(client.callTool(long, cut));
      assert.match(textOf(await client.callTool({ name: 'echo', arguments: { message: 'still here' } })), /still here/);
    });

    test(`${kind}: server-filesystem`, async (t) => {
      const folder = realpathSync(temporaryFolder(t));
      writeFileSync(join(folder, 'hello.txt'), 'hello from a file');
      const client = await modernClient(t, await startTarget(t, filesystem(folder)), options);
      const call = (name, args) => client.callTool({ name, arguments: args });
      assert.equal(textOf(await call('read_text_file', { path: join(folder, 'hello.txt') })), 'hello from a file');
      await call('write_file', { path: join(folder, 'new.txt'), content: 'zwölf\n'.repeat(20_000) });
      assert.equal(readFileSync(join(folder, 'new.txt'), 'utf8').length, 120_000);
      assert.equal((await call('read_text_file', { path: '/etc/hostname' })).isError, true);
    });

    test(`${kind}: server-memory`, async (t) => {
      const path = join(temporaryFolder(t), 'memory.jsonl');
      const client = await modernClient(t, await startTarget(t, memory(), { env: { MEMORY_FILE_PATH: path } }), options);
      const entities = [{ name: 'Lineward', entityType: 'gateway', observations: ['stands between'] }];
      await client.callTool({ name: 'create_entities', arguments: { entities } });
      const graph = await client.callTool({ name: 'read_graph', arguments: {} });
      assert.deepEqual(graph.structuredContent.entities, entities);
      assert.match(readFileSync(path, 'utf8'), /stands between/);
    });

    test(`${kind}: listens on a server that knows none`, async (t) => {
      const target = await startTarget(t, legacyFixture());
      const seen = new Inbox();
      const client = await modernClient(t, target, {
        ...options,
        notifications: {
          'notifications/tools/list_changed': () => seen.put('tools'),
          'notifications/prompts/list_changed': () => seen.put('prompts'),
          'notifications/resources/updated': ({ params }) => seen.put(params.uri),
        },
      });
      const filter = { toolsListChanged: true, resourceSubscriptions: ['test://watched-resource'] };
      const subscription = await client.listen(filter);
      assert.deepEqual(subscription.honoredFilter, filter);
      for (const name of ['test_trigger_prompt_change', 'test_touch_resource', 'test_trigger_tool_change'])
        await client.callTool({ name });
      await seen.until((what) => what === 'tools', 'the change of the tools');
      assert.deepEqual(seen.items, ['test://watched-resource', 'tools']);
      await subscription.close();
    });
  }
});
