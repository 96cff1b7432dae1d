// SDK 1.x client, Lineward, server-everything.
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { Inbox } from '../lib/events.mjs';
import { everything } from '../lib/servers.mjs';
import { DIRECT, LEGACY, legacyClient, startTarget, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const RESOURCE = 'demo://resource/dynamic/text/1';

describe('SDK 1.x with server-everything', () => {
  let target;
  before(async () => {
    target = await startTarget(undefined, everything());
  });
  after(() => target?.stop());

  test('initialize', async (t) => {
    const client = await legacyClient(t, target);
    assert.equal(client.getServerVersion().name, 'mcp-servers/everything');
    assert.ok(client.getInstructions().length > 0);
    assert.deepEqual(client.getServerCapabilities().resources, { subscribe: true, listChanged: true });
    if (!DIRECT) assert.equal(client.transport.protocolVersion, LEGACY);
    await client.ping();
  });

  test('tools', async (t) => {
    const client = await legacyClient(t, target);
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'get-sum'));
    assert.equal(
      textOf(await client.callTool({ name: 'echo', arguments: { message: 'grüße ☃' } })),
      'Echo: grüße ☃',
    );
    assert.match(textOf(await client.callTool({ name: 'get-sum', arguments: { a: 2, b: 3 } })), /5/);
    const weather = await client.callTool({
      name: 'get-structured-content',
      arguments: { location: 'Chicago' },
    });
    assert.equal(typeof weather.structuredContent.temperature, 'number');
  });

  test('an error of a tool, and an error of the protocol', async (t) => {
    const client = await legacyClient(t, target);
    assert.equal((await client.callTool({ name: 'get-sum', arguments: { a: 'x' } })).isError, true);
    const missing = client.readResource({ uri: 'demo://nothing/here' });
    await assert.rejects(
      missing,
      (error) => error instanceof types.McpError && error.code === types.ErrorCode.InvalidParams,
    );
  });

  test('progress', async (t) => {
    const client = await legacyClient(t, target);
    const steps = [];
    const call = { name: 'trigger-long-running-operation', arguments: { duration: 0.5, steps: 5 } };
    const result = await client.callTool(call, undefined, {
      onprogress: ({ progress }) => steps.push(progress),
    });
    assert.match(textOf(result), /completed/);
    // The last one and the result come together, and SDK clients on stdio drop it then.
    assert.deepEqual(steps, DIRECT ? [1, 2, 3, 4, 5].slice(0, steps.length) : [1, 2, 3, 4, 5]);
  });

  test('an aborted call rejects at once, and the session goes on', async (t) => {
    const client = await legacyClient(t, target);
    const abort = new AbortController();
    const call = { name: 'trigger-long-running-operation', arguments: { duration: 60, steps: 600 } };
    const options = { signal: abort.signal, onprogress: () => abort.abort('enough') };
    await assert.rejects(client.callTool(call, undefined, options), /enough/);
    assert.match(
      textOf(await client.callTool({ name: 'echo', arguments: { message: 'still here' } })),
      /still here/,
    );
  });

  test('resources', async (t) => {
    const client = await legacyClient(t, target);
    const { resources } = await client.listResources();
    assert.ok(resources.length > 0);
    const { contents } = await client.readResource({ uri: RESOURCE });
    assert.equal(contents[0].uri, RESOURCE);
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.ok(resourceTemplates.some(({ uriTemplate }) => uriTemplate.includes('{resourceId}')));
  });

  test('resource subscription', async (t) => {
    const updates = new Inbox();
    const notifications = [
      [types.ResourceUpdatedNotificationSchema, ({ params }) => updates.put(params.uri)],
    ];
    const client = await legacyClient(t, target, { notifications });
    await client.subscribeResource({ uri: RESOURCE });
    await client.callTool({ name: 'toggle-subscriber-updates', arguments: {} });
    assert.equal(await updates.until((uri) => uri === RESOURCE, 'the update'), RESOURCE);
    await client.callTool({ name: 'toggle-subscriber-updates', arguments: {} });
    await client.unsubscribeResource({ uri: RESOURCE });
  });

  test('prompts and completion', async (t) => {
    const client = await legacyClient(t, target);
    const { prompts } = await client.listPrompts();
    assert.ok(prompts.some(({ name }) => name === 'completable-prompt'));
    const promotion = { name: 'completable-prompt', arguments: { department: 'Sales', name: 'Eve' } };
    assert.match((await client.getPrompt(promotion)).messages[0].content.text, /Eve.*Sales/);
    const ref = { type: 'ref/prompt', name: 'completable-prompt' };
    const { completion } = await client.complete({ ref, argument: { name: 'department', value: 'S' } });
    assert.deepEqual(completion.values, ['Sales', 'Support']);
    const second = {
      ref,
      argument: { name: 'name', value: '' },
      context: { arguments: { department: 'Sales' } },
    };
    assert.deepEqual((await client.complete(second)).completion.values, ['David', 'Eve', 'Frank']);
  });

  test('log messages at the level that was set', async (t) => {
    const logs = new Inbox();
    const client = await legacyClient(t, target, {
      notifications: [[types.LoggingMessageNotificationSchema, ({ params }) => logs.put(params)]],
    });
    await client.setLoggingLevel('debug');
    await client.callTool({ name: 'toggle-simulated-logging', arguments: {} });
    assert.ok((await logs.count(1, 'a log message'))[0].level);
    await client.callTool({ name: 'toggle-simulated-logging', arguments: {} });
  });

  test('roots', async (t) => {
    const roots = [{ uri: 'file:///one/of/mine', name: 'mine' }];
    const asked = new Inbox();
    const client = await legacyClient(t, target, {
      capabilities: { roots: { listChanged: true } },
      requests: [
        [
          types.ListRootsRequestSchema,
          () => {
            asked.put(roots.length);
            return { roots };
          },
        ],
      ],
    });
    const list = await client.callTool({ name: 'get-roots-list', arguments: {} });
    assert.match(textOf(list), /file:\/\/\/one\/of\/mine/);
    roots.push({ uri: 'file:///another', name: 'other' });
    await client.sendRootsListChanged();
    await asked.until((n) => n === 2, 'the question for the changed roots');
  });

  test('sampling', async (t) => {
    const client = await legacyClient(t, target, {
      capabilities: { sampling: {} },
      requests: [
        [
          types.CreateMessageRequestSchema,
          ({ params }) => ({
            role: 'assistant',
            model: 'test-model',
            content: { type: 'text', text: `heard: ${JSON.stringify(params.messages)}` },
          }),
        ],
      ],
    });
    const call = { name: 'trigger-sampling-request', arguments: { prompt: 'knock knock', maxTokens: 10 } };
    assert.match(textOf(await client.callTool(call)), /heard: .*knock knock/);
  });

  test('elicitation: accepted, declined, cancelled', async (t) => {
    const answers = [
      { action: 'accept', content: { name: 'Ada' } },
      { action: 'decline' },
      { action: 'cancel' },
    ];
    const client = await legacyClient(t, target, {
      capabilities: { elicitation: {} },
      requests: [[types.ElicitRequestSchema, () => answers.shift()]],
    });
    const ask = async () =>
      textOf(await client.callTool({ name: 'trigger-elicitation-request', arguments: {} }));
    assert.match(await ask(), /Ada/);
    assert.match(await ask(), /declined/);
    assert.match(await ask(), /cancel/);
  });

  test('tools that depend on what this client declared, announced by list_changed', async (t) => {
    const changes = new Inbox();
    const client = await legacyClient(t, target, {
      capabilities: { elicitation: {} },
      requests: [[types.ElicitRequestSchema, () => ({ action: 'decline' })]],
      notifications: [[types.ToolListChangedNotificationSchema, () => changes.put('changed')]],
    });
    await changes.count(1, 'notifications/tools/list_changed');
    const names = (await client.listTools()).tools.map(({ name }) => name);
    assert.ok(names.includes('trigger-elicitation-request'));
    assert.ok(!names.includes('trigger-sampling-request'), 'sampling was not declared');

    const bare = await legacyClient(t, target);
    const bareNames = (await bare.listTools()).tools.map(({ name }) => name);
    assert.ok(!bareNames.includes('trigger-elicitation-request'), 'nothing was declared');
  });
});
