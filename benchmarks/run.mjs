// The side-by-side benchmark: every front before every server, in both eras; see README.md.
//
//   run.mjs BUILD_DIR       BENCH_CALLS, BENCH_SECONDS, BENCH_LONG, BENCH_PEER_SECONDS, BENCH_STREAMS, BENCH_ONLY
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FRONTS, start } from './fronts.mjs';
import { svg } from './chart.mjs';
import { hop, hopTable } from './hop.mjs';
import { many, manyTable } from './many.mjs';
import { plugins, pluginTable } from './plugins.mjs';
import { ALL, ONE, pin } from './pin.mjs';
import { BAR, table, verdicts } from './report.mjs';

const build = resolve(process.argv[2] ?? 'build/release');
const count = (name, value) => Math.max(1, Math.round(Number(process.env[name] ?? value)) || value);
const CALLS = count('BENCH_CALLS', 100_000);
const SECONDS = count('BENCH_SECONDS', 20);
const FULL_SECONDS = Math.max(SECONDS, Math.ceil(CALLS / 300)); // the run that must reach BENCH_CALLS
// The peers are slow and grow: theirs ends here, however few calls it had.
const PEER_SECONDS = Math.min(FULL_SECONDS, count('BENCH_PEER_SECONDS', 180));
const LONG = process.env.BENCH_LONG === '0' ? 0 : count('BENCH_LONG', 1_000_000); // Lineward's memory after so many
const ONLY = (process.env.BENCH_ONLY ?? '').split(',').filter(Boolean);
const CANCELS = 50;
const RUNS = [{ clients: 1, pinned: true }, { clients: 1 }, { clients: 64 }];

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const program = (name) => join(build, 'benchmarks', name);
const SERVERS = [
  { name: 'echo', marker: 'bench-echo-server', command: [program('bench-echo-server')] },
  { name: 'sdk', marker: 'sdk_server.mjs', command: [process.execPath, here('sdk_server.mjs')] },
];

/** Runs one of our programs, which prints one line of JSON. */
function measure(name, args, pinned = false) {
  return new Promise((resolve, reject) => {
    const words = [...(pinned ? ['taskset', '--cpu-list', ONE] : []), program(name), ...args.map(String)];
    const child = spawn(words[0], words.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    child.once('error', reject);
    child.once('close', () => {
      try {
        resolve(JSON.parse(text));
      } catch {
        reject(new Error(`${name} printed no JSON: ${text}`));
      }
    });
  });
}

/** All that is measured at one front: memory at rest, one client, many clients, memory again, cancels. */
async function cell(front, server, era) {
  const out = { front: front.name, peer: front.peer === true, server: server.name, era, errors: [] };
  const running = await start(front, { build, server, era });
  const load = async (options, pinned) => {
    const args = { port: running.port, pid: running.pid, marker: server.marker, era, ...options };
    const result = await measure('bench-load', Object.entries(args).flatMap(([k, v]) => [`--${k}`, v]), pinned);
    if (!result.ok) out.errors.push(`${options.clients ?? 0} clients: ${result.error}`);
    return result;
  };
  try {
    out.rest = await load({ calls: 0 });
    out.runs = [];
    for (const { clients, pinned } of RUNS) {
      const full = clients > 1 && server.name === 'echo' && !front.bounded?.includes(era);
      const calls = full ? CALLS : Math.ceil(CALLS / 10);
      const seconds = !full ? SECONDS : front.peer ? PEER_SECONDS : FULL_SECONDS;
      pin(running.pid, pinned ? ONE : ALL);
      const result = await load({ clients, calls, seconds, warmup: Math.min(2000, calls / 5) }, pinned);
      out.runs.push({ ...result, pinned });
      if (!result.ok) break;
    }
    const long = LONG > 0 && front.long && server.name === 'echo' && out.errors.length === 0;
    if (long) out.long = await load({ clients: 64, calls: LONG, seconds: Math.ceil(LONG / 1000) });
    if (front.cancels === false) return out;
    out.cancel = await measure('bench-cancel', [running.port, era, running.journal, CANCELS]);
    if (!front.peer && !out.cancel.cancels) out.errors.push(`${front.name}: no cancel reached the server`);
  } finally {
    await running.stop();
  }
  return out;
}

const wanted = (name) => ONLY.every((word) => name.includes(word));
const cells = [];
for (const era of ['modern', 'legacy']) {
  for (const server of SERVERS) {
    for (const front of FRONTS) {
      const name = `${era} / ${server.name} / ${front.name}`;
      if (front.eras && !front.eras.includes(era)) continue;
      if (front.servers && !front.servers.includes(server.name)) continue;
      if (!wanted(name)) continue;
      process.stderr.write(`… ${name}\n`);
      try {
        cells.push(await cell(front, server, era));
      } catch (error) {
        cells.push({ front: front.name, server: server.name, era, errors: [String(error.message)], runs: [] });
      }
    }
  }
}

let hops;
if (wanted('modern / http hop')) {
  process.stderr.write('… http hop\n');
  hops = await hop({ build, calls: CALLS, seconds: SECONDS, measure });
}

let costs;
if (wanted('modern / plugins')) {
  process.stderr.write('… plugins\n');
  costs = await plugins({ build, calls: CALLS, seconds: SECONDS, measure });
}

let manies;
if (wanted('modern / many')) {
  process.stderr.write('… many\n');
  manies = await many({ build, calls: CALLS, seconds: SECONDS, streams: count('BENCH_STREAMS', 10_000), measure });
}

const results = {
  calls: CALLS,
  seconds: SECONDS,
  node: process.version,
  cpus: cpus().length,
  bar: BAR,
  fronts: FRONTS.map(({ name, note }) => ({ name, note })),
  verdicts: verdicts(cells),
  cells,
  hop: hops,
  plugins: costs,
  many: manies,
};
if (cells.length) console.log(table(results));
if (hops) console.log(hopTable(hops));
if (costs) console.log(pluginTable(costs));
if (manies) console.log(manyTable(manies));
mkdirSync(here('out'), { recursive: true });
writeFileSync(here('out/results.json'), `${JSON.stringify(results, null, 1)}\n`);
writeFileSync(here('out/results.svg'), svg(results));
console.log('\nbenchmarks/out/results.json, benchmarks/out/results.svg');
const failed = cells.some(({ front, errors }) => errors.length && front.startsWith('lineward'));
const judged = [...results.verdicts, ...(hops?.verdicts ?? [])];
process.exit(failed || hops?.errors.length || costs?.errors.length || manies?.errors.length || judged.some(({ passed }) => !passed) ? 1 : 0);
