// SDK 2.x client, Lineward, server-everything in three processes: the client declares that it can be asked, so calls
// that ask run each in a process of its own. All of them send the notifications that it listens to.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { deferred, Inbox } from '../lib/events.mjs';
import { startGatewayTo } from '../lib/gateway.mjs';
import { everything } from '../lib/servers.mjs';
import { DIRECT, modernClient, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const WATCHED = 'demo://resource/dynamic/text/1';
const LOGS = { _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } };
const WORDS = { name: 'Ada', check: true, firstLine: 'x', integer: 7, number: 1.5 };

async function heldUp(t, gateway) {
  const updates = new Inbox();
  const logs = new Inbox();
  const questions = new Inbox();
  const client = await modernClient(t, gateway, {
    capabilities: { elicitation: { form: {} } },
    notifications: {
      'notifications/resources/updated': ({ params }) => updates.put(params.uri),
      'notifications/message': ({ params }) => logs.put(params.data),
    },
    requests: {
      'elicitation/create': () => {
        const answer = deferred();
        questions.put(answer);
        return answer.promise;
      },
    },
  });
  return { client, updates, logs, questions };
}

describe('server-everything in three processes', { skip: DIRECT }, () => {
  test('stdio: subscriptions, questions and logs of each reach their client', async (t) => {
    const [command, ...args] = everything();
    const gateway = await startGatewayTo(t, { command, args, instances: 3 });
    const { client, updates, logs, questions } = await heldUp(t, gateway);
    const subscription = await client.listen({ resourceSubscriptions: [WATCHED] });
    assert.deepEqual(subscription.honoredFilter, { resourceSubscriptions: [WATCHED] });

    // Two calls wait for their answers, each in a process of its own.
    const asked = [1, 2].map(() =>
      client.callTool({ name: 'trigger-elicitation-request', arguments: {} }, { timeout: 60_000 }),
    );
    await questions.count(2);
    // A third process does the rest; it was started after the listen. Its log line comes with the first of its calls.
    const logging = await client.callTool({ name: 'toggle-simulated-logging', arguments: {}, ...LOGS });
    assert.match(textOf(logging), /Started simulated/);
    await logs.count(1);
    const toggled = await client.callTool({ name: 'toggle-subscriber-updates', arguments: {} });
    assert.match(textOf(toggled), /Started simulated resource/);
    await updates.count(1);
    assert.deepEqual([...new Set(updates.items)], [WATCHED]);

    const [first, second] = questions.items;
    first.resolve({ action: 'accept', content: WORDS });
    second.resolve({ action: 'decline' });
    const answers = (await Promise.all(asked)).map(textOf);
    assert.equal(answers.filter((text) => text.includes('Ada')).length, 1);
    assert.equal(answers.filter((text) => /declined/.test(text)).length, 1);
    await subscription.close();
  });
});
