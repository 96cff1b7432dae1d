// The table of docs/proxies.md: node run.mjs [NAME…]. A proxy that is not installed is named and left out; one that
// does not keep what its row below says fails.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { binary } from '../e2e/lib/binary.mjs';
import { startListener } from '../e2e/lib/gateway.mjs';
import { measure, resets } from './measure.mjs';
import { installed, start } from './proxies.mjs';

const SERVER = join(dirname(fileURLToPath(import.meta.url)), 'server.mjs');
const QUIET_MS = Number(process.env.QUIET_MS ?? 65_000);
const slack = Number(process.env.SLACK ?? 1); // of a busy machine

// The most, in milliseconds: a leave before the head, a leave in the stream, an event's lateness. A leave that only a
// comment shows is there one beat later: keepAlive and 300 ms.
const BEAT = 5_300;
const BOUNDS = {
  nginx: [500, 500, 500],
  haproxy: [500, 500, 150],
  caddy: [500, 500, 500],
  apache2: [1_800, BEAT, 500],
  squid: [500, 500, 500],
  nghttpx: [500, 500, 500],
  'http-proxy': [500, 500, 500],
  'http-proxy-middleware': [500, 500, 500],
  'http-proxy-3': [500, 500, 500],
  fastify: [1_800, 500, 500],
};

/** The figures that are out of bounds. */
export function faults(name, { head, leaveBeforeHead, leaveInStream, events, large, cutAfter, reset }, times = slack) {
  const [before, inStream, late] = BOUNDS[name].map((ms) => ms * times + 200);
  const out = [];
  const within = (what, ms, most) => (ms === undefined || ms > most) && out.push(`${what}: ${ms ?? 'never'} (at most ${most} ms)`);
  within('the head of a silent call', head.ms, 1_500 * times);
  if (head.status !== 200) out.push(`the head of a silent call: HTTP ${head.status}`);
  within('a leave before the head', leaveBeforeHead, before);
  within('a leave in the stream', leaveInStream, inStream);
  if (reset) {
    within('RST_STREAM before the head', reset.beforeHead, before);
    within('RST_STREAM in the stream', reset.inStream, inStream);
  }
  if (events.count !== 20) out.push(`${events.count} of 20 events came`);
  within('the latest event', events.latest, late);
  if (large !== 200) out.push(`an argument of 1 MiB: HTTP ${large}`);
  if (cutAfter !== undefined) out.push(`a quiet stream was cut after ${cutAfter} ms`);
  return out;
}

/** Lineward with the server that the measurements need; resolves with {gateway, journal, stop}. */
export async function stand(folder, listen = {}) {
  const journal = join(folder, 'journal');
  const file = join(folder, 'lineward.json');
  writeFileSync(journal, '');
  writeFileSync(
    file,
    JSON.stringify({
      listen: { address: '127.0.0.1:0', allowedHosts: ['mcp.example.com'], ...listen },
      ops: 'off',
      admin: 'off',
      mcpServers: { up: { command: process.execPath, args: [SERVER, journal], timeouts: { request: '10m' } } },
    }),
  );
  const gateway = await startListener(binary(), ['run', file]);
  return { gateway: new URL(gateway.url).host, journal, stop: gateway.stop };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { here, missing } = installed(process.argv.slice(2));
  const ms = (value) => (value === undefined ? 'never' : `${value} ms`);
  let failed = 0;
  const row = (cells) => console.log(`| ${cells.join(' | ')} |`);
  const leaves = ['leave before the head', 'leave in the stream', 'half-close', 'RST_STREAM before the head, in the stream'];
  const columns = ['proxy', 'head', ...leaves, 'latest of 20 events', '1 MiB', 'quiet stream'];
  row(columns);
  row(columns.map(() => '---'));
  for (const proxy of here) {
    const folder = mkdtempSync(join(tmpdir(), 'lineward-proxies-'));
    const base = await stand(folder);
    let front;
    try {
      front = await start(proxy, base.gateway, folder);
      const one = await measure(front.port, base.journal, { quietMs: QUIET_MS });
      if (proxy.h2) {
        await front.stop();
        front = await start(proxy, base.gateway, folder, { change: proxy.h2 });
        one.reset = await resets(front.port, base.journal);
      }
      const quiet = !QUIET_MS ? '–' : one.cutAfter === undefined ? `stays ${QUIET_MS / 1000} s` : `cut after ${one.cutAfter} ms`;
      const reset = one.reset ? `${ms(one.reset.beforeHead)}, ${ms(one.reset.inStream)}` : '–';
      row([proxy.is, ms(one.head.ms), ms(one.leaveBeforeHead), ms(one.leaveInStream), ms(one.halfClose), reset, ms(one.events.latest), one.large, quiet]);
      for (const fault of faults(proxy.name, one)) {
        ++failed;
        console.error(`${proxy.name}: ${fault}`);
      }
    } catch (error) {
      ++failed;
      console.error(`${proxy.name}: ${error.message}`);
    } finally {
      await front?.stop();
      await base.stop().catch((error) => (++failed, console.error(error.message)));
      rmSync(folder, { recursive: true, force: true });
    }
  }
  if (missing.length) console.log(`\nnot here: ${missing.join(', ')}`);
  process.exitCode = failed || here.length === 0 ? 1 : 0;
}
