// SDK 2.x client pinned to 2026-07-28, Lineward, the modern fixture: subscriptions/listen.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { Inbox } from '../lib/events.mjs';
import { modernFixture } from '../lib/servers.mjs';
import { DIRECT, modernClient, startTarget } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const WATCHED = 'test://watched-resource';

async function watcher(t, target) {
  const seen = new Inbox();
  const client = await modernClient(t, target, {
    notifications: {
      'notifications/tools/list_changed': () => seen.put('tools'),
      'notifications/prompts/list_changed': () => seen.put('prompts'),
      'notifications/resources/list_changed': () => seen.put('resources'),
      'notifications/resources/updated': ({ params }) => seen.put(params.uri),
    },
  });
  return { client, seen };
}

describe('SDK 2.x: subscriptions', () => {
  test('brings what was asked for, and nothing else', async (t) => {
    const target = await startTarget(t, modernFixture(), { http: true });
    const { client, seen } = await watcher(t, target);
    const filter = { toolsListChanged: true, resourceSubscriptions: [WATCHED] };
    const subscription = await client.listen(filter);
    assert.deepEqual(subscription.honoredFilter, filter);
    for (const name of ['test_trigger_prompt_change', 'test_touch_resource', 'test_trigger_tool_change'])
      await client.callTool({ name });
    await seen.until((what) => what === 'tools', 'the change of the tools');
    assert.deepEqual(seen.items, [WATCHED, 'tools']);
    assert.ok((await client.listTools()).tools.some(({ name }) => name === 'test_simple_text_again'));
    await subscription.close();
    assert.equal(await subscription.closed, 'local');
  });

  test('resource updates for exactly the URIs asked for', async (t) => {
    const target = await startTarget(t, modernFixture(), { http: true });
    const { client, seen } = await watcher(t, target);
    await client.listen({
      promptsListChanged: true,
      resourceSubscriptions: [`${WATCHED}/`, 'test://static-text'],
    });
    await client.callTool({ name: 'test_touch_resource' });
    await client.callTool({ name: 'test_trigger_prompt_change' });
    await seen.count(1);
    assert.deepEqual(seen.items, ['prompts']);
  });

  test('two clients with the same listen id and different wishes', async (t) => {
    const target = await startTarget(t, modernFixture(), { http: true });
    const [tools, prompts, caller] = [
      await watcher(t, target),
      await watcher(t, target),
      await watcher(t, target),
    ];
    const first = await tools.client.listen({ toolsListChanged: true });
    await prompts.client.listen({ promptsListChanged: true });
    await caller.client.callTool({ name: 'test_trigger_tool_change' });
    await caller.client.callTool({ name: 'test_trigger_prompt_change' });
    await Promise.all([tools.seen.count(1), prompts.seen.count(1)]);

    await first.close(); // also posts notifications/cancelled with an id that the other client uses too
    await caller.client.callTool({ name: 'test_trigger_tool_change' });
    await caller.client.callTool({ name: 'test_trigger_prompt_change' });
    await prompts.seen.count(2);
    assert.deepEqual(tools.seen.items, ['tools']);
    assert.deepEqual(prompts.seen.items, ['prompts', 'prompts']);
    assert.deepEqual(caller.seen.items, []);
  });

  test('many clients with the same wish', async (t) => {
    const target = await startTarget(t, modernFixture(), { http: true });
    const watchers = await Promise.all(Array.from({ length: 15 }, () => watcher(t, target)));
    const subscriptions = await Promise.all(
      watchers.map(({ client }) => client.listen({ resourceSubscriptions: [WATCHED] })),
    );
    const caller = await modernClient(t, target);
    await caller.callTool({ name: 'test_touch_resource' });
    await Promise.all(watchers.map(({ seen }) => seen.count(1)));
    await Promise.all(subscriptions.slice(1).map((subscription) => subscription.close()));
    await caller.callTool({ name: 'test_touch_resource' });
    await watchers[0].seen.count(2);
    assert.ok(watchers.slice(1).every(({ seen }) => seen.items.length === 1));
  });

  test('outlives the server process', { skip: DIRECT && 'the gateway listens again' }, async (t) => {
    const target = await startTarget(t, modernFixture());
    const { client, seen } = await watcher(t, target);
    const subscription = await client.listen({ toolsListChanged: true });
    await assert.rejects(client.callTool({ name: 'test_exit' }));
    await seen.count(1, 'list_changed for what may have been missed');
    await client.callTool({ name: 'test_trigger_tool_change' });
    await seen.count(2, 'list_changed from the new process');
    await subscription.close();
    assert.equal(await subscription.closed, 'local');
  });
});
