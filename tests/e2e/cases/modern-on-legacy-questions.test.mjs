// SDK 2.x client, Lineward, legacy servers that ask their client something in the middle of a call. The questions
// cross the eras as input requests; the SDK answers them and calls again by itself.
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { startGatewayTo, startListener } from '../lib/gateway.mjs';
import { DECLINING, everyKind, isHeard, isHeardToDecline } from '../lib/questions.mjs';
import { everything, legacyFixture } from '../lib/servers.mjs';
import { DIRECT, modernClient, startTarget, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

/** A client that answers everything, in forms and on pages. */
const answering = (name) => everyKind(name, { elicitation: { form: {}, url: {} } });

/** The ways in which Lineward reaches the legacy fixture. */
const WAYS = {
  stdio: (t) => startTarget(t, legacyFixture()),
  HTTP: (t) => overHttp(t, '--http'),
  'HTTP+SSE': (t) => overHttp(t, '--sse'),
};

async function overHttp(t, kind) {
  const [command, ...args] = legacyFixture(kind, '0');
  const server = await startListener(command, args, { strict: false });
  t.after(() => server.stop());
  return startGatewayTo(t, { url: server.url });
}

for (const [way, start] of Object.entries(WAYS)) {
  describe(`a legacy server over ${way} asks SDK 2.x clients`, { skip: DIRECT }, () => {
    test('elicitation, sampling, roots; at once and in rounds; for a prompt', async (t) => {
      const client = await modernClient(t, await start(t), answering('Ada'));
      await isHeard(client, 'Ada');
    });

    test('declined', async (t) => {
      await isHeardToDecline(await modernClient(t, await start(t), DECLINING));
    });

    test('what a client did not declare it is not asked', async (t) => {
      const client = await modernClient(t, await start(t), { capabilities: { sampling: {} } });
      await assert.rejects(client.callTool({ name: 'test_elicitation', arguments: {} }), (error) => {
        assert.equal(error.code, -32021);
        return true;
      });
    });

    test('fifteen clients at once: each gets its own question', async (t) => {
      const target = await start(t);
      const names = Array.from({ length: 15 }, (_, n) => `client-${n}`);
      await Promise.all(
        names.map(async (name) => {
          const client = await modernClient(t, target, answering(name));
          const [greeting, echo] = await Promise.all([
            client.callTool({ name: 'test_input_required_result_multiple_inputs' }, { timeout: 60_000 }),
            client.callTool({ name: 'test_echo', arguments: { value: name } }, { timeout: 60_000 }),
          ]);
          assert.equal(textOf(greeting), `greetings, ${name} (${name}, 1 roots)`);
          assert.equal(JSON.parse(textOf(echo)).value, name);
        }),
      );
    });
  });
}

describe('SDK 2.x gives up when it is asked', { skip: DIRECT }, () => {
  for (const way of ['stdio', 'HTTP']) {
    test(`over ${way}: other calls go on`, async (t) => {
      const client = await modernClient(t, await WAYS[way](t), {
        capabilities: { elicitation: {} },
        requests: { 'elicitation/create': () => Promise.reject(new Error('nobody is here')) },
      });
      await assert.rejects(client.callTool({ name: 'test_elicitation', arguments: {} }));
      assert.match(textOf(await client.callTool({ name: 'test_echo', arguments: { value: 'still here' } })), /still here/);
    });
  }
});

describe('server-everything asks an SDK 2.x client', { skip: DIRECT }, () => {
  let target;
  before(async () => {
    target = await startTarget(undefined, everything());
  });
  after(() => target?.stop());

  test('elicitation', async (t) => {
    const client = await modernClient(t, target, answering('Ada'));
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'trigger-elicitation-request'));
    assert.match(textOf(await client.callTool({ name: 'trigger-elicitation-request', arguments: {} })), /Ada/);
  });

  test('sampling', async (t) => {
    const client = await modernClient(t, target, answering('Ada'));
    const call = { name: 'trigger-sampling-request', arguments: { prompt: 'Well?', maxTokens: 10 } };
    assert.match(textOf(await client.callTool(call)), /greetings, Ada/);
  });

  test('without capabilities those tools are not there', async (t) => {
    const client = await modernClient(t, target);
    const { tools } = await client.listTools();
    assert.ok(!tools.some(({ name }) => name.startsWith('trigger-sampling')));
  });
});
