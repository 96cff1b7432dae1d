// SDK 2.x client pinned to 2026-07-28, Lineward, the modern fixture.
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { fixtureRecord, Inbox } from '../lib/events.mjs';
import { findsWhatIsOffered } from '../lib/offered.mjs';
import { DECLINING, everyKind, isHeard, isHeardToDecline } from '../lib/questions.mjs';
import { modernFixture } from '../lib/servers.mjs';
import { DIRECT, MODERN, modernClient, reasonOf, startTarget, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

describe('SDK 2.x with the modern fixture', () => {
  let target;
  before(async () => {
    target = await startTarget(undefined, modernFixture(), { http: true });
  });
  after(() => target?.stop());

  test('discover', async (t) => {
    const client = await modernClient(t, target);
    assert.equal(client.getProtocolEra(), 'modern');
    assert.equal(client.getNegotiatedProtocolVersion(), MODERN);
    assert.equal(client.getServerVersion().name, 'lineward-fixture-modern');
    assert.deepEqual(client.getServerCapabilities().tools, { listChanged: true });
    assert.deepEqual((await client.discover()).supportedVersions, [MODERN]);
  });

  test('tools, prompts, resources, completion', async (t) => {
    await findsWhatIsOffered(await modernClient(t, target));
  });

  test('an argument that the client repeats in a header', async (t) => {
    const client = await modernClient(t, target);
    await client.listTools(); // teaches the client which arguments those are
    for (const region of ['eu-west', 'Zürich ', '=?base64?no?=']) {
      assert.equal(textOf(await client.callTool({ name: 'test_region', arguments: { region } })), region);
    }
  });

  test('errors keep code and data', async (t) => {
    const client = await modernClient(t, target);
    await assert.rejects(client.readResource({ uri: 'test://no/such' }), (error) => {
      assert.equal(error.code, -32602);
      assert.equal(error.data.uri, 'test://no/such');
      return true;
    });
    await assert.rejects(client.callTool({ name: 'no_such_tool' }), { code: -32602 });
    await assert.rejects(client.callTool({ name: 'test_missing_capability' }), (error) => {
      assert.equal(error.code, -32021);
      assert.deepEqual(error.data.requiredCapabilities, { sampling: {} });
      return true;
    });
  });

  test('progress', async (t) => {
    const client = await modernClient(t, target);
    const messages = [];
    const call = { name: 'test_steps', arguments: { steps: 30, tag: 'p' } };
    const result = await client.callTool(call, { onprogress: ({ message }) => messages.push(message) });
    assert.equal(textOf(result), 'p');
    assert.deepEqual(
      messages,
      Array.from({ length: 30 }, (_, n) => `p ${n + 1}`),
    );
  });

  test('log messages, only for a call that asks for them', async (t) => {
    const logs = new Inbox();
    const client = await modernClient(t, target, {
      notifications: { 'notifications/message': ({ params }) => logs.put(params.data) },
    });
    await client.callTool({ name: 'test_tool_with_logging' });
    assert.deepEqual(logs.items, []);
    await client.callTool({
      name: 'test_tool_with_logging',
      _meta: { 'io.modelcontextprotocol/logLevel': 'info' },
    });
    assert.equal((await logs.count(3)).length, 3);
    await client.callTool({
      name: 'test_tool_with_logging',
      _meta: { 'io.modelcontextprotocol/logLevel': 'error' },
    });
    assert.equal(logs.items.length, 3);
  });

  test('input: elicitation, sampling, roots; at once and in rounds; for a prompt', async (t) => {
    const client = await modernClient(t, target, everyKind('Ada'));
    await isHeard(client, 'Ada');
  });

  test('input: declined', async (t) => {
    await isHeardToDecline(await modernClient(t, target, DECLINING));
  });

  test('fifteen clients at once, with equal ids', async (t) => {
    const names = Array.from({ length: 15 }, (_, n) => `client-${n}`);
    await Promise.all(
      names.map(async (name) => {
        const client = await modernClient(t, target, everyKind(name));
        const messages = [];
        const [steps, greeting, echo, sleep] = await Promise.all([
          client.callTool(
            { name: 'test_steps', arguments: { steps: 20, tag: name } },
            { onprogress: (p) => messages.push(p.message) },
          ),
          client.callTool({ name: 'test_input_required_result_multiple_inputs' }),
          client.callTool({ name: 'test_echo', arguments: { value: name } }),
          client.callTool({ name: 'test_sleep', arguments: { ms: 200, tag: name } }),
        ]);
        assert.equal(textOf(steps), name);
        assert.equal(textOf(greeting), `greetings, ${name} (${name}, 1 roots)`);
        assert.equal(JSON.parse(textOf(echo)).value, name);
        assert.equal(textOf(sleep), name);
        assert.deepEqual(
          messages,
          Array.from({ length: 20 }, (_, n) => `${name} ${n + 1}`),
        );
      }),
    );
  });
});

describe('SDK 2.x: cancelling', () => {
  test("AbortSignal: the handler's signal fires, for that call only", async (t) => {
    const record = fixtureRecord(t);
    const target = await startTarget(t, modernFixture(), { http: true, env: record.env });
    const [first, second] = [await modernClient(t, target), await modernClient(t, target)];
    const aborts = [new AbortController(), new AbortController()];
    // The same method with the same id in both clients: only the connection tells them apart.
    const calls = [first, second].map((client, n) =>
      assert.rejects(
        client.callTool({ name: 'test_wait', arguments: { tag: `call-${n}` } }, { signal: aborts[n].signal }),
      ),
    );
    await Promise.all([0, 1].map((n) => record.until({ event: 'started', tag: `call-${n}` })));
    aborts[1].abort('enough');
    await record.until({ event: 'aborted', tag: 'call-1' });
    await calls[1];
    assert.equal(
      textOf(await second.callTool({ name: 'test_sleep', arguments: { ms: 1, tag: 'well' } })),
      'well',
    );
    assert.deepEqual(
      record.events.filter(({ event }) => event === 'aborted').map(({ tag }) => tag),
      ['call-1'],
    );
    aborts[0].abort('enough');
    await record.until({ event: 'aborted', tag: 'call-0' });
    await calls[0];
  });

  test('a client that closes cancels what it started, streaming or not', async (t) => {
    const record = fixtureRecord(t);
    const target = await startTarget(t, modernFixture(), { http: true, env: record.env });
    const client = await modernClient(t, target);
    const calls = [
      client.callTool({ name: 'test_wait', arguments: { tag: 'silent' } }),
      client.callTool({ name: 'test_wait', arguments: { tag: 'streaming' } }, { onprogress: () => {} }),
    ];
    calls.forEach((call) => call.catch(() => {}));
    await Promise.all(['silent', 'streaming'].map((tag) => record.until({ event: 'started', tag })));
    await client.close();
    await Promise.all(['silent', 'streaming'].map((tag) => record.until({ event: 'aborted', tag })));
  });

  test('many calls cancelled at once', async (t) => {
    const record = fixtureRecord(t);
    const target = await startTarget(t, modernFixture(), { http: true, env: record.env });
    const client = await modernClient(t, target);
    const tags = Array.from({ length: 20 }, (_, n) => `call-${n}`);
    const abort = new AbortController();
    const calls = tags.map((tag) =>
      assert.rejects(client.callTool({ name: 'test_wait', arguments: { tag } }, { signal: abort.signal })),
    );
    await Promise.all(tags.map((tag) => record.until({ event: 'started', tag })));
    abort.abort('all of them');
    await Promise.all([...calls, ...tags.map((tag) => record.until({ event: 'aborted', tag }))]);
    assert.equal(record.events.length, 2 * tags.length);
  });
});

describe('SDK 2.x: a server that exits', { skip: DIRECT && 'the gateway gives the reason' }, () => {
  test('ends the call with a reason, and serves the next', async (t) => {
    const client = await modernClient(t, await startTarget(t, modernFixture()));
    const pid = async () => JSON.parse(textOf(await client.callTool({ name: 'test_echo' }))).pid;
    const before = await pid();
    await assert.rejects(client.callTool({ name: 'test_exit' }), (error) => {
      assert.equal(error.code, 502);
      assert.equal(reasonOf(error), 'upstream_exited');
      return true;
    });
    assert.notEqual(await pid(), before);
  });
});
