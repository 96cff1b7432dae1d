// Two gateways behind haproxy, each request to the next one: sessions that both serve, sessions that one holds, and
// what is left of them when one is killed.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { Inbox, temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom, startListener } from '../lib/gateway.mjs';
import { haproxy, noHaproxy } from '../lib/haproxy.mjs';
import { freePort } from '../lib/ports.mjs';
import { eventually, get, opsOf } from '../lib/operator.mjs';
import { parse, value } from '../lib/prometheus.mjs';
import { legacyFixture } from '../lib/servers.mjs';
import { DIRECT, legacyClient, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

if (noHaproxy) console.log(`# replicas: ${noHaproxy}`);
const skip = DIRECT || noHaproxy;

/** Two gateways that know each other and share a key, and a haproxy before them. */
async function twoReplicas(t, mcpServers, more = {}, kept = true) {
  const keyFile = join(temporaryFolder(t), 'keys');
  writeFileSync(keyFile, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  const ports = { a: await freePort(), b: await freePort() };
  const peers = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, `http://127.0.0.1:${port}`]));
  const start = (name) =>
    startGatewayFrom(
      t,
      {
        listen: { address: `127.0.0.1:${ports[name]}` },
        ops: { address: '127.0.0.1:0' },
        admin: 'off',
        replicas: { keyFile, name, peers },
        mcpServers,
        ...more,
      },
      { strict: false },
    );
  const [a, b] = [await start('a'), await start('b')];
  return { a, b, front: await haproxy(t, [a.url, b.url], { kept }) };
}

async function httpFixture(t) {
  const [command, ...args] = legacyFixture('--http', '0');
  const server = await startListener(command, args, { strict: false });
  t.after(() => server.stop());
  return { url: server.url };
}

const kill = (gateway) => process.kill(gateway.pid, 'SIGKILL');
/** Until node has buried it. */
const isThere = ({ pid }) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const calls = (gateway) => gateway.stderr().match(/call\.end/g)?.length ?? 0;
const echo = async (client) => JSON.parse(textOf(await client.callTool({ name: 'test_echo', arguments: {} })));

describe('replicas', { skip }, () => {
  test('one session, two gateways, one of them killed under load: what comes later works', { skip: NOT_PLAIN, timeout: 240_000 }, async (t) => {
    const { a, b, front } = await twoReplicas(t, { up: await httpFixture(t) }, {}, false);
    const changes = new Inbox();
    const client = await legacyClient(t, front, {
      notifications: [[types.ToolListChangedNotificationSchema, () => changes.put('tools')]],
    });
    const session = client.transport.sessionId;
    assert.match(session, /^lws1\./);
    for (let n = 0; n < 20; ++n) await echo(client);
    // A log line is written up to a tenth of a second after what it tells of.
    await eventually(() => calls(a) > 0 && calls(b) > 0, 'both serve the session');
    await client.callTool({ name: 'test_trigger_tool_change', arguments: {} });
    await changes.count(1);

    const gone = { asked: Infinity, seen: Infinity };
    const failed = [];
    let after = 0;
    const worker = async () => {
      for (let n = 0; n < 40; ++n) {
        const begun = performance.now();
        try {
          await echo(client);
          if (begun > gone.seen) ++after;
        } catch (error) {
          // Requests in flight when it was killed, and those that the kernel still accepted for it until it
          // was dead.
          if (performance.now() < gone.asked || begun > gone.seen) throw error;
          failed.push(error.message);
        }
      }
    };
    const workers = Array.from({ length: 6 }, worker);
    await eventually(() => calls(a) > 30, 'some load');
    gone.asked = performance.now();
    kill(a);
    await eventually(() => !isThere(a), 'its end');
    gone.seen = performance.now();
    await Promise.all(workers);
    assert.ok(failed.length <= workers.length, `${failed.length} calls failed, more than were in flight: ${failed.join('; ')}`);
    assert.ok(after > 20, `${after} calls came after it`);
    assert.equal(client.transport.sessionId, session);

    // Its GET stream comes back at the other one, and the server's own messages with it.
    const before = changes.items.length;
    await eventually(async () => {
      await client.callTool({ name: 'test_trigger_tool_change', arguments: {} });
      return changes.items.length > before;
    }, 'a change on the stream that was opened again');
    await client.transport.terminateSession();
  });

  test('questions of the server reach the client, and its answers the server, by whichever gateway', { timeout: 180_000 }, async (t) => {
    const { front } = await twoReplicas(t, { up: await httpFixture(t) });
    let asked = 0;
    const client = await legacyClient(t, front, {
      capabilities: { elicitation: {} },
      requests: [
        [
          types.ElicitRequestSchema,
          () => {
            ++asked;
            return { action: 'accept', content: { name: 'Ada', username: 'ada', email: 'ada@example.com' } };
          },
        ],
      ],
    });
    for (let n = 0; n < 6; ++n) {
      const result = await client.callTool({ name: 'test_elicitation', arguments: { message: 'Who?' } });
      assert.ok(!result.isError, textOf(result));
    }
    assert.equal(asked, 6);
  });

  test('a session of a process is served by either gateway while its own lives, then a new one opens', { skip: NOT_PLAIN, timeout: 240_000 }, async (t) => {
    const [command, ...args] = legacyFixture();
    const { a, b, front } = await twoReplicas(t, { up: { command, args } });
    const client = await legacyClient(t, front);
    const [, holder] = /^lwr1~([ab])~/.exec(client.transport.sessionId);
    const pids = new Set();
    for (let n = 0; n < 10; ++n) pids.add((await echo(client)).pid);
    assert.equal(pids.size, 1, 'one process, whichever gateway was asked');
    const steps = [];
    await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, undefined, { onprogress: (p) => steps.push(p) });
    assert.ok(steps.length > 0, 'progress comes through');

    kill(holder === 'a' ? a : b);
    // Requests on their way to it fail in some way; then the session is over.
    const lost = await eventually(async () => {
      const error = await client.callTool({ name: 'test_echo', arguments: {} }).then(
        () => assert.fail('the session is gone'),
        (reason) => reason,
      );
      return /404|initialize anew/.test(`${error.code} ${error.message}`) && error;
    }, 'the end of the session');
    assert.equal(lost.code, 404);
    assert.match(lost.message, /initialize anew/);
    const anew = await legacyClient(t, front);
    assert.notEqual((await echo(anew)).pid, [...pids][0]);
  });

  test('with two workers each, wherever a server lives, and the metrics tell what was passed', { skip: NOT_PLAIN, timeout: 240_000 }, async (t) => {
    const [command, ...args] = legacyFixture();
    const mcpServers = { here: { command, args }, there: { command, args }, up: await httpFixture(t) };
    const { a, b, front } = await twoReplicas(t, mcpServers, { workers: 2, aggregate: { enabled: false } });
    const clients = {};
    for (const name of Object.keys(mcpServers))
      clients[name] = await legacyClient(t, { url: front.url.replace(/\/mcp$/, `/mcp/${name}`) });
    const used = { here: new Set(), there: new Set(), up: new Set() };
    for (let n = 0; n < 10; ++n)
      for (const [name, client] of Object.entries(clients)) used[name].add((await echo(client)).pid);
    for (const [name, pids] of Object.entries(used)) assert.equal(pids.size, 1, `${name}: one process`);
    assert.equal(new Set(Object.values(used).flatMap((pids) => [...pids])).size, 3);
    const steps = [];
    for (const client of Object.values(clients))
      await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, undefined, { onprogress: (p) => steps.push(p) });
    assert.ok(steps.length >= 3);

    const passed = async (gateway, outcome) =>
      value(parse((await get(opsOf(gateway), '/metrics')).body), 'lineward_replica_passed_total', { outcome });
    const [out, taken] = [(await passed(a, 'out')) + (await passed(b, 'out')), (await passed(a, 'in')) + (await passed(b, 'in'))];
    assert.ok(out >= 10, `${out} of at least 22 requests came to the other one`);
    assert.equal(taken, out);
    assert.equal((await passed(a, 'failed')) + (await passed(b, 'failed')), 0);

    const [, holder] = /^lwr1~([ab])~/.exec(clients.here.transport.sessionId);
    kill(holder === 'a' ? a : b);
    const left = holder === 'a' ? b : a;
    await eventually(async () => {
      await echo(clients.here).catch(() => {});
      return (await passed(left, 'failed')) > 0;
    }, 'a request that could not be passed');
    await eventually(() => echo(clients.up).catch(() => false), 'the shared session at the other one');
  });
});
