// A column of the matrix: a server, Lineward and a client, and their end.
import { fileURLToPath } from 'node:url';
import { binary } from '../lib/binary.mjs';
import { fixtureRecord } from '../lib/events.mjs';
import { startGateway, startGatewayToUrl, startListener } from '../lib/gateway.mjs';
import { descendants, describe, leftovers, processOf } from '../lib/processes.mjs';
import { legacyFixture, modernFixture } from '../lib/servers.mjs';
import { LEGACY } from '../lib/target.mjs';
import { connect } from './clients.mjs';

/** `for`: the revision of the clients that it is there for; all, where there is none. */
export const SERVERS = [
  { sdk: '1.x', over: 'stdio', era: 'legacy', short: '1s', command: legacyFixture('--sdk-questions') },
  { sdk: '1.x', over: 'HTTP', era: 'legacy', short: '1h', command: legacyFixture('--sdk-questions', '--http', '0') },
  { sdk: '1.x', over: 'HTTP+SSE', era: 'legacy', short: '1e', command: legacyFixture('--sdk-questions', '--sse', '0') },
  { sdk: '2.x', over: 'stdio', era: 'modern', short: '2s', command: modernFixture() },
  { sdk: '2.x', over: 'HTTP', era: 'modern', short: '2h', command: modernFixture('--http', '0') },
  // As SDK 2.x servers are by default: of a session they would serve little over HTTP, so Lineward is told to translate.
  {
    ...{ sdk: '2.x', over: 'HTTP, both eras', era: 'modern', short: '2b', for: LEGACY },
    command: modernFixture('--dual', '--http', '0'),
    args: ['--protocol-era', 'modern'],
  },
];

export const WAYS = ['HTTP', 'stdio'];

const LEFTOVER_MS = 10_000;
const DEFAULTS = ['--config', fileURLToPath(new URL('lineward.yaml', import.meta.url))];
const QUIET = ['--ops', 'off', '--admin', 'off'];

/** Runs what was put in, the last first, each although another failed; throws what went wrong. */
async function unwind(cleanups) {
  const errors = [];
  while (cleanups.length) {
    try {
      await cleanups.pop()();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length) throw new Error(errors.map(({ message }) => message).join('; '));
}

async function reach({ command, over, args = [] }, way, { env }, cleanups) {
  const chosen = [...DEFAULTS, ...args];
  let url;
  if (over !== 'stdio') {
    const [program, ...args] = command;
    const server = await startListener(program, args, { env, strict: false });
    cleanups.push(() => server.stop());
    url = server.url;
  }
  if (way === 'stdio') return { command: binary(), args: ['stdio', ...chosen, ...(url ? [url] : ['--', ...command])] };
  const gateway = url
    ? await startGatewayToUrl(url, { args: [...QUIET, ...chosen], env })
    : await startGateway({ args: [...QUIET, ...chosen], command, env });
  cleanups.push(() => gateway.stop());
  return { url: gateway.url, said: gateway.stderr };
}

/** Ends a client that started Lineward itself; throws when Lineward or its server is still there afterwards. */
async function endOfStdio(party) {
  const family = [processOf(party.pid), ...descendants(party.pid)].filter(Boolean);
  await party.close();
  const left = await leftovers(() => family, LEFTOVER_MS);
  for (const { pid } of left) process.kill(pid, 'SIGKILL');
  if (left.length) throw new Error(`left behind: ${left.map(describe).join(', ')}`);
}

/** Throws when the sanitizers that Lineward may be built with complained. */
function healthy(said) {
  const complaint = said.split('\n').find((line) => /Sanitizer|runtime error/.test(line));
  if (complaint) throw new Error(complaint);
}

/** {party, record, era, said(), end()}; end() throws when anything did not end as it must. */
export async function stand({ client, way, server }) {
  const cleanups = [];
  try {
    const record = fixtureRecord({ after: (cleanup) => cleanups.push(cleanup) });
    const target = await reach(server, way, record, cleanups);
    const party = await connect(client, target, record.env);
    cleanups.push(() => (way === 'stdio' ? endOfStdio(party) : party.close()));
    const said = target.said ?? party.said;
    cleanups.unshift(() => healthy(said())); // the last of all
    return { party, record, server, said, end: () => unwind(cleanups) };
  } catch (error) {
    await unwind(cleanups).catch(() => {});
    throw error;
  }
}
