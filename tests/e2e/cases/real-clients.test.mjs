// Clients as their users have them, from npm, with real servers: each operation through Lineward as directly. The whole table is
// tests/interop/clients (make interop-clients).
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { CLIENTS } from '../../interop/clients/clients.mjs';
import { runCell } from '../../interop/clients/cell.mjs';
import { compareCell } from '../../interop/clients/compare.mjs';
import { knownAt } from '../../interop/clients/known.mjs';
import { baseline, ROADS } from '../../interop/clients/roads.mjs';
import { SERVERS } from '../../interop/clients/servers.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const TEST_MS = 240_000; // mcporter starts a process for each operation
const CELLS = [
  ['mcp-remote', 'everything', ['run CMD', 'run, /sse', 'aggregate']],
  ['mcporter', 'filesystem', ['aggregate', 'stdio CMD']],
];

for (const [client, server, names] of CELLS) {
  const title = `${client} uses server-${server} through Lineward as directly: ${names.join('; ')}`;
  test(title, { skip: NOT_PLAIN, timeout: TEST_MS }, async () => {
    const Client = CLIENTS[client];
    const spec = SERVERS[server];
    const roads = ROADS.filter(({ name }) => names.includes(name));
    const direct = baseline(roads[0], Client.speaks, spec);
    const run = (road) => runCell({ base: tmpdir(), Client, server: spec, road });
    const [before, ...after] = await Promise.all([direct, ...roads].map(run));
    for (const [at, road] of roads.entries()) {
      const worse = compareCell({ direct: before, through: after[at], road }).filter(({ mark }) => mark === '!');
      assert.deepEqual(worse.filter(({ operation }) => !knownAt(client, server, road.name, operation)), [], road.name);
    }
    assert.ok(before.text.result, 'the direct call works');
  });
}
