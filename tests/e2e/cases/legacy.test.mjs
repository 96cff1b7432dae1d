// SDK 1.x client, Lineward, the legacy fixture: what the published servers do not show.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { givesUpOneOfTwo } from '../lib/cancelling.mjs';
import { deferred, fixtureRecord, Inbox } from '../lib/events.mjs';
import { leftovers, processOf } from '../lib/processes.mjs';
import { legacyFixture } from '../lib/servers.mjs';
import { DIRECT, legacyClient, reasonOf, startTarget, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const pidOf = async (client) =>
  JSON.parse(textOf(await client.callTool({ name: 'test_echo', arguments: {} }))).pid;

const sampled = (text) => ({ role: 'assistant', model: 'test-model', content: { type: 'text', text } });
const everyKind = (name) => ({
  capabilities: { elicitation: {}, sampling: {}, roots: {} },
  requests: [
    [types.ElicitRequestSchema, () => ({ action: 'accept', content: { name, color: 'blue' } })],
    [types.CreateMessageRequestSchema, () => sampled(`greetings, ${name}`)],
    [types.ListRootsRequestSchema, () => ({ roots: [{ uri: `file:///${name}` }] })],
  ],
});

describe('SDK 1.x with the legacy fixture', () => {
  test('an aborted call is cancelled at the server, with its reason; others go on', async (t) => {
    const record = fixtureRecord(t);
    const target = await startTarget(t, legacyFixture(), { env: record.env });
    await givesUpOneOfTwo(await legacyClient(t, target), record);
  });

  test(
    'the end of a session cancels what it started and ends its process',
    { skip: DIRECT && 'needs sessions' },
    async (t) => {
      const record = fixtureRecord(t);
      const target = await startTarget(t, legacyFixture(), { env: record.env });
      const client = await legacyClient(t, target);
      const other = await legacyClient(t, target);
      const [pid, otherPid] = [await pidOf(client), await pidOf(other)];
      assert.notEqual(pid, otherPid, 'a session has a process of its own');
      const server = processOf(pid);
      const waiting = client.callTool({ name: 'test_wait', arguments: { tag: 'deleted' } });
      waiting.catch(() => {}); // how it ends is not the point: the session is gone
      await record.until({ event: 'started', tag: 'deleted' });

      const session = client.transport.sessionId;
      await client.transport.terminateSession();
      await record.until({ event: 'aborted', tag: 'deleted' });
      assert.deepEqual(await leftovers(() => [server], 10_000), []);
      const late = await fetch(target.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-session-id': session,
          'mcp-protocol-version': '2025-11-25',
        },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      });
      await late.body?.cancel();
      assert.equal(late.status, 404);
      assert.equal(await pidOf(other), otherPid, 'the other session goes on');
    },
  );

  test('questions asked at once and one after the other', async (t) => {
    const client = await legacyClient(t, await startTarget(t, legacyFixture()), everyKind('Ada'));
    const call = async (name) => textOf(await client.callTool({ name, arguments: {} }));
    assert.equal(await call('test_input_required_result_multiple_inputs'), 'greetings, Ada (Ada, 1 roots)');
    assert.equal(await call('test_input_required_result_multi_round'), 'Ada likes blue');
    const prompt = await client.getPrompt({ name: 'test_input_required_result_prompt' });
    assert.match(prompt.messages[0].content.text, /context/);
  });

  test('a cancelled call withdraws its open question', async (t) => {
    const record = fixtureRecord(t);
    const target = await startTarget(t, legacyFixture(), { env: record.env });
    const [asked, withdrawn] = [deferred(), deferred()];
    const client = await legacyClient(t, target, {
      capabilities: { elicitation: {} },
      requests: [
        [
          types.ElicitRequestSchema,
          (_request, { signal }) => {
            asked.resolve();
            return new Promise((resolve) => {
              signal.addEventListener('abort', () => {
                withdrawn.resolve();
                resolve({ action: 'cancel' });
              });
            });
          },
        ],
      ],
    });
    const abort = new AbortController();
    const call = { name: 'test_elicitation', arguments: { message: 'Well?' } };
    const outcome = assert.rejects(client.callTool(call, undefined, { signal: abort.signal }));
    await asked.promise;
    abort.abort('never mind');
    await Promise.all([outcome, withdrawn.promise]);
  });

  test('resource updates and list changes', async (t) => {
    const seen = new Inbox();
    const client = await legacyClient(t, await startTarget(t, legacyFixture()), {
      notifications: [
        [types.ResourceUpdatedNotificationSchema, ({ params }) => seen.put(params.uri)],
        [types.ToolListChangedNotificationSchema, () => seen.put('tools')],
        [types.PromptListChangedNotificationSchema, () => seen.put('prompts')],
      ],
    });
    const call = (name) => client.callTool({ name, arguments: {} });
    await call('test_touch_resource'); // no subscription: sends nothing
    await client.subscribeResource({ uri: 'test://watched-resource' });
    await call('test_touch_resource');
    await call('test_trigger_tool_change');
    await call('test_trigger_prompt_change');
    await seen.until((what) => what === 'prompts', 'the last change');
    assert.deepEqual(seen.items, ['test://watched-resource', 'tools', 'prompts']);
    assert.ok((await client.listTools()).tools.some(({ name }) => name === 'test_simple_text_again'));
    await client.unsubscribeResource({ uri: 'test://watched-resource' });
    await call('test_touch_resource');
    await call('test_trigger_tool_change');
    await seen.count(4);
    assert.equal(seen.items[3], 'tools');
  });

  test('many clients with equal ids: each gets what is its own', async (t) => {
    const target = await startTarget(t, legacyFixture());
    const names = Array.from({ length: 8 }, (_, n) => `client-${n}`);
    const outcomes = await Promise.all(
      names.map(async (name) => {
        const client = await legacyClient(t, target, everyKind(name));
        const messages = [];
        const call = { name: 'test_steps', arguments: { steps: 20, tag: name } };
        const [steps, greeting, echo] = await Promise.all([
          client.callTool(call, undefined, { onprogress: ({ message }) => messages.push(message) }),
          client.callTool({ name: 'test_input_required_result_multiple_inputs', arguments: {} }),
          client.callTool({ name: 'test_echo', arguments: { value: name } }),
        ]);
        assert.equal(textOf(steps), name);
        assert.equal(textOf(greeting), `greetings, ${name} (${name}, 1 roots)`);
        const all = Array.from({ length: 20 }, (_, n) => `${name} ${n + 1}`);
        // SDK clients on stdio drop notifications that come in one chunk.
        assert.deepEqual(messages, DIRECT ? all.filter((message) => messages.includes(message)) : all);
        return JSON.parse(textOf(echo));
      }),
    );
    assert.deepEqual(
      outcomes.map(({ value }) => value),
      names,
    );
    assert.equal(new Set(outcomes.map(({ pid }) => pid)).size, names.length, 'a process each');
  });

  test(
    'a server that exits ends the call with a reason',
    { skip: DIRECT && 'the gateway gives the reason' },
    async (t) => {
      const client = await legacyClient(t, await startTarget(t, legacyFixture()));
      await assert.rejects(client.callTool({ name: 'test_exit', arguments: {} }), (error) => {
        assert.equal(error.code, 502);
        assert.equal(reasonOf(error), 'upstream_exited');
        return true;
      });
    },
  );
});
