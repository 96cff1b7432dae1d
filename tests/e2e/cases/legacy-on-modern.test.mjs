// Clients of the old revisions (SDK 1.x, and SDK 2.x as it is by default), Lineward, a server that speaks only
// 2026-07-28, over stdio and over HTTP. Without Lineward these do not understand each other.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startGatewayTo, startListener } from '../lib/gateway.mjs';
import { deferred, fixtureRecord, Inbox } from '../lib/events.mjs';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { findsWhatIsOffered } from '../lib/offered.mjs';
import { DECLINING, everyKind, isHeard, isHeardToDecline } from '../lib/questions.mjs';
import { modernFixture } from '../lib/servers.mjs';
import { DIRECT, LEGACY, legacyClient, reasonOf, startTarget, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const WATCHED = 'test://watched-resource';
const INFO = { name: 'lineward-e2e', version: '1.0.0' };

const SCHEMAS = {
  'elicitation/create': types.ElicitRequestSchema,
  'sampling/createMessage': types.CreateMessageRequestSchema,
  'roots/list': types.ListRootsRequestSchema,
  'notifications/tools/list_changed': types.ToolListChangedNotificationSchema,
  'notifications/prompts/list_changed': types.PromptListChangedNotificationSchema,
  'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
  'notifications/message': types.LoggingMessageNotificationSchema,
};
const bySchema = (handlers = {}) => Object.entries(handlers).map(([method, handler]) => [SCHEMAS[method], handler]);

/** Handlers go by method for both; what differs between the two SDK lines stays here. */
const CLIENTS = {
  'SDK 1.x': async (t, target, { capabilities, requests, notifications } = {}) =>
    legacyClient(t, target, { capabilities, requests: bySchema(requests), notifications: bySchema(notifications) }),
  'SDK 2.x': async (t, target, { capabilities = {}, requests = {}, notifications = {} } = {}) => {
    const client = new Client(INFO, { capabilities });
    for (const [method, handler] of Object.entries(requests)) client.setRequestHandler(method, handler);
    for (const [method, handler] of Object.entries(notifications)) client.setNotificationHandler(method, handler);
    t.after(() => client.close());
    await client.connect(new StreamableHTTPClientTransport(new URL(target.url)));
    assert.equal(client.getProtocolEra(), 'legacy');
    return client;
  },
};

const SERVERS = {
  stdio: (t, env = {}) => startTarget(t, modernFixture(), { env }),
  HTTP: async (t, env = {}) => {
    const [program, ...args] = modernFixture('--http', '0');
    const server = await startListener(program, args, { env, strict: false });
    t.after(() => server.stop());
    return startGatewayTo(t, { url: server.url });
  },
};

for (const [server, start] of Object.entries(SERVERS)) {
  for (const [sdk, connect] of Object.entries(CLIENTS)) {
    describe(`${sdk}, legacy, in front of a modern ${server} server`, { skip: DIRECT }, () => {
      test('handshake, tools, prompts, resources, completion, errors', async (t) => {
        const client = await connect(t, await start(t));
        assert.equal(client.getServerVersion().name, 'lineward-fixture-modern');
        assert.deepEqual(client.getServerCapabilities().tools, { listChanged: true });
        await client.ping();
        await findsWhatIsOffered(client);
        // The code of the old revisions for a missing resource; SDK 2.x shows both codes as the new
        // one.
        const missing = sdk === 'SDK 1.x' ? -32002 : -32602;
        await assert.rejects(client.readResource({ uri: 'test://no/such' }), { code: missing });
        await assert.rejects(client.callTool({ name: 'no_such_tool' }), { code: -32602 });
        await assert.rejects(client.callTool({ name: 'test_missing_capability' }), /sampling/);
      });

      test('progress and log messages at the level that was set', async (t) => {
        const logs = new Inbox();
        const client = await connect(t, await start(t), {
          notifications: { 'notifications/message': ({ params }) => logs.put(params.data) },
        });
        const messages = [];
        const call = { name: 'test_steps', arguments: { steps: 30, tag: 'p' } };
        const onprogress = ({ message }) => messages.push(message);
        const result =
          sdk === 'SDK 1.x'
            ? await client.callTool(call, undefined, { onprogress })
            : await client.callTool(call, { onprogress });
        assert.equal(textOf(result), 'p');
        assert.deepEqual(
          messages,
          Array.from({ length: 30 }, (_, n) => `p ${n + 1}`),
        );
        await client.callTool({ name: 'test_tool_with_logging' });
        assert.equal((await logs.count(3)).length, 3);
        await client.setLoggingLevel('error');
        await client.callTool({ name: 'test_tool_with_logging' });
        assert.equal(logs.items.length, 3);
      });

      test('questions: at once, in rounds, for a prompt; declined', async (t) => {
        const target = await start(t);
        const client = await connect(t, target, everyKind('Ada', { roots: { listChanged: true } }));
        await isHeard(client, 'Ada');
        await client.sendRootsListChanged();
        await isHeardToDecline(await connect(t, target, DECLINING));
      });

      test('a question that the client cannot answer', async (t) => {
        const refuse = () => {
          throw new Error('the user is away');
        };
        const client = await connect(t, await start(t), {
          capabilities: { elicitation: {}, sampling: {} },
          requests: { 'elicitation/create': refuse, 'sampling/createMessage': refuse },
        });
        const asked = await client.callTool({ name: 'test_elicitation', arguments: { message: 'Well?' } });
        assert.match(textOf(asked), /action=cancel/);
        await assert.rejects(client.callTool({ name: 'test_sampling' }), /the user is away/);
      });

      test('subscription and list changes on the GET stream', async (t) => {
        const seen = new Inbox();
        const client = await connect(t, await start(t), {
          notifications: {
            'notifications/tools/list_changed': () => seen.put('tools'),
            'notifications/prompts/list_changed': () => seen.put('prompts'),
            'notifications/resources/updated': ({ params }) => seen.put(params.uri),
          },
        });
        const call = (name) => client.callTool({ name });
        await call('test_touch_resource'); // no subscription: sends nothing
        await client.subscribeResource({ uri: WATCHED });
        await call('test_touch_resource');
        await seen.count(1);
        await call('test_trigger_tool_change');
        await seen.count(2);
        await call('test_trigger_prompt_change');
        await seen.until((what) => what === 'prompts', 'the last change');
        assert.deepEqual(seen.items, [WATCHED, 'tools', 'prompts']);
        assert.ok((await client.listTools()).tools.some(({ name }) => name === 'test_simple_text_again'));
        await client.unsubscribeResource({ uri: WATCHED });
        await call('test_touch_resource');
        await call('test_trigger_tool_change');
        await seen.count(4);
        assert.equal(seen.items[3], 'tools');
      });

      test('an aborted call is cancelled at the server; others go on', async (t) => {
        const record = fixtureRecord(t);
        const client = await connect(t, await start(t, record.env));
        const abort = new AbortController();
        const cut = { signal: abort.signal };
        const call = { name: 'test_wait', arguments: { tag: 'a' } };
        const waiting = sdk === 'SDK 1.x' ? client.callTool(call, undefined, cut) : client.callTool(call, cut);
        const outcome = assert.rejects(waiting);
        await record.until({ event: 'started', tag: 'a' });
        const meanwhile = client.callTool({ name: 'test_sleep', arguments: { ms: 200, tag: 'b' } });
        abort.abort('changed my mind');
        await Promise.all([outcome, record.until({ event: 'aborted', tag: 'a' })]);
        assert.equal(textOf(await meanwhile), 'b');
        assert.equal(record.events.filter(({ event }) => event === 'aborted').length, 1);
      });

      test('an aborted call withdraws its open question', async (t) => {
        const [asked, withdrawn] = [deferred(), deferred()];
        const client = await connect(t, await start(t), {
          capabilities: { elicitation: {} },
          requests: {
            'elicitation/create': (_request, extra) => {
              asked.resolve();
              const signal = extra.signal ?? extra.mcpReq.signal;
              return new Promise((resolve) => {
                signal.addEventListener('abort', () => {
                  withdrawn.resolve();
                  resolve({ action: 'cancel' });
                });
              });
            },
          },
        });
        const abort = new AbortController();
        const cut = { signal: abort.signal };
        const call = { name: 'test_elicitation', arguments: { message: 'Well?' } };
        const outcome = assert.rejects(
          sdk === 'SDK 1.x' ? client.callTool(call, undefined, cut) : client.callTool(call, cut),
        );
        await asked.promise;
        abort.abort('never mind');
        await Promise.all([outcome, withdrawn.promise]);
      });

      test('eight clients at once: each gets what is its own', async (t) => {
        const target = await start(t);
        const names = Array.from({ length: 8 }, (_, n) => `client-${n}`);
        await Promise.all(
          names.map(async (name) => {
            const client = await connect(t, target, everyKind(name));
            const [greeting, echo, sleep] = await Promise.all([
              client.callTool({ name: 'test_input_required_result_multiple_inputs' }),
              client.callTool({ name: 'test_echo', arguments: { value: name } }),
              client.callTool({ name: 'test_sleep', arguments: { ms: 100, tag: name } }),
            ]);
            assert.equal(textOf(greeting), `greetings, ${name} (${name}, 1 roots)`);
            assert.equal(JSON.parse(textOf(echo)).value, name);
            assert.equal(textOf(sleep), name);
          }),
        );
      });

      test('a server that exits ends the call with a reason', { skip: server === 'HTTP' }, async (t) => {
        const client = await connect(t, await start(t));
        await assert.rejects(client.callTool({ name: 'test_exit' }), (error) => {
          assert.equal(error.code, 502);
          assert.equal(reasonOf(error), 'upstream_exited');
          return true;
        });
        assert.equal(textOf(await client.callTool({ name: 'test_sleep', arguments: { ms: 1, tag: 'on' } })), 'on');
      });
    });
  }
}

describe('a server that speaks both eras', { skip: DIRECT }, () => {
  test('serves a legacy client itself', async (t) => {
    const client = await legacyClient(t, await startTarget(t, modernFixture('--dual')));
    const result = await client.callTool({ name: 'test_simple_text' });
    assert.equal(result.resultType, undefined, 'the result of an old server');
    assert.equal(client.transport.protocolVersion, LEGACY);
  });
});
