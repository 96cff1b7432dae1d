// Counts instructions per call with valgrind's callgrind, since times are too noisy to show small changes. Each road runs
// twice with different numbers of calls, so that the start and the end of a gateway drop out.
//
//   instructions.mjs BUILD                    beside benchmarks/instructions.json: `make bench-check`
//   instructions.mjs BUILD --against BEFORE   beside another build
//   --only WORDS     only roads with these words in their name
//   --write          writes the figures into instructions.json, better or worse
//
// BUILD is a plain one, with bench-programs. A single client, or two, with one call at a time: the number of calls in a turn of
// the loop depends on the machine. Better figures are written down by themselves, except in CI.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort } from './fronts.mjs';
import { policies } from './plugins.mjs';

const BOUND = 0.03;
const BASELINE = fileURLToPath(new URL('instructions.json', import.meta.url));
const usage = 'usage: instructions.mjs BUILD [--against BUILD] [--only WORDS] [--write]';

let options;
try {
  options = parseArgs({
    allowPositionals: true,
    options: { against: { type: 'string' }, only: { type: 'string', default: '' }, write: { type: 'boolean' } },
  });
} catch (error) {
  console.error(`${error.message}\n${usage}`);
  process.exit(2);
}
const { against, only, write } = options.values;
if (options.positionals.length !== 1) {
  console.error(usage);
  process.exit(2);
}
const build = resolve(options.positionals[0]);
if (spawnSync('valgrind', ['--version']).error) {
  console.error('instructions.mjs needs valgrind: apt-get install valgrind');
  process.exit(69);
}
const program = (name) => join(process.env.BENCH_PROGRAMS ?? join(build, 'benchmarks'), name); // of the newer build, at both gateways

/**
 * calls: of the shorter and of the longer run. load: more options of the client.
 *
 * origins: the number of tools of each HTTP server; without it there is a stdio server, or as many as `servers` says.
 *
 * listeners: a call is one event to this number of clients.
 */
const ROADS = [
  { name: 'stdio call, modern', calls: [1000, 5000] },
  { name: 'stdio call, legacy', calls: [1000, 5000], load: ['--era', 'legacy'] },
  { name: 'HTTP hop', calls: [1000, 5000], origins: [1] },
  { name: 'HTTP hop, two workers', calls: [1000, 5000], origins: [1], workers: 2 },
  { name: '1 MiB result, one string', calls: [5, 25], origins: [1], load: ['--names', 'string'] },
  { name: '1 MiB result, dense JSON', calls: [5, 25], origins: [1], load: ['--names', 'dense'] },
  { name: '1,000 events and an answer', calls: [5, 25], origins: [1], load: ['--names', 'events', '--progress', 1000] },
  { name: 'merged list of 5 × 200 tools', calls: [20, 100], origins: [200, 200, 200, 200, 200], load: ['--tools', 1000] },
  { name: 'HTTP hop with the policies of an edge', calls: [1000, 5000], origins: [1], edge: true },
  { name: 'HTTP servers as one', calls: [1000, 5000], origins: [1, 1], load: ['--names', 's0__echo'] },
  { name: 'HTTP servers as one, two workers', calls: [1000, 5000], origins: [1, 1], load: ['--names', 's0__echo'], workers: 2 },
  { name: 'stdio servers as one', calls: [1000, 5000], servers: 2, load: ['--names', 's0__echo,s1__echo'], clients: 2 },
  { name: 'event to 100 listeners', calls: [10, 60], listeners: 100 },
];

async function listening(port) {
  for (let tries = 0; tries < 1200; ++tries) {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
    if (answer) return answer.body?.cancel();
    await sleep(100);
  }
  throw new Error(`nothing listens on ${port} after two minutes`);
}

/** The instructions of the gateway's own process for so many calls. */
async function instructions(of, road, calls) {
  const folder = mkdtempSync(join(tmpdir(), 'lineward-callgrind-'));
  const children = [];
  const start = (command, args) => {
    const child = spawn(command, args.map(String), { stdio: 'ignore' });
    children.push(child);
    return child;
  };
  try {
    const port = await freePort();
    const mcpServers = {};
    for (const tools of road.origins ?? []) {
      const origin = await freePort();
      start(program('bench-hop-origin'), tools > 1 ? [origin, tools] : [origin]);
      mcpServers[`s${Object.keys(mcpServers).length}`] = { url: `http://127.0.0.1:${origin}/mcp`, protocolEra: 'modern' };
    }
    for (let i = 0; i < (road.servers ?? 0); ++i) mcpServers[`s${i}`] = { command: program('bench-echo-server') };
    if (!road.origins && !road.servers) {
      mcpServers.echo = { command: program('bench-echo-server') };
      if (road.listeners) mcpServers.echo = { ...mcpServers.echo, env: { BENCH_LISTENS: '1' }, protocolEra: 'modern' };
    }
    const edge = road.edge ? policies(folder) : { config: {}, load: [] };
    const config = { listen: { address: `127.0.0.1:${port}` }, ops: 'off', log: { level: 'error' }, ...edge.config, workers: road.workers ?? 1, mcpServers };
    writeFileSync(join(folder, 'lineward.json'), JSON.stringify(config));
    const gateway = start('valgrind', [
      ...['--tool=callgrind', `--callgrind-out-file=${folder}/out.%p`, '--log-file=/dev/null'],
      ...[join(of, 'lineward'), 'run', '--config', join(folder, 'lineward.json')],
    ]);
    await listening(port);
    const common = ['--port', port, '--pid', gateway.pid, '--marker', 'bench-echo-server', '--seconds', 600];
    const own = road.listeners
      ? ['--streams', road.listeners, '--rounds', calls]
      : ['--clients', road.clients ?? 1, '--calls', calls, '--warmup', 0, ...(road.load ?? []), ...edge.load];
    const load = spawnSync(program(road.listeners ? 'bench-fanout' : 'bench-load'), [...common, ...own].map(String), { encoding: 'utf8' });
    const result = JSON.parse(load.stdout || '{}');
    if (!result.ok || (result.calls ?? result.rounds) !== calls) throw new Error(`${road.name}: ${load.stdout}${load.stderr}`);
    gateway.kill('SIGTERM');
    await once(gateway, 'exit');
    const mine = readdirSync(folder).find((name) => name === `out.${gateway.pid}`);
    return Number(/^(?:summary|totals): (\d+)/m.exec(readFileSync(join(folder, mine), 'utf8'))[1]);
  } finally {
    for (const child of children) child.kill('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  }
}

async function perCall(of, road) {
  const [few, many] = road.calls;
  return Math.round(((await instructions(of, road, many)) - (await instructions(of, road, few))) / (many - few));
}

const number = (value) => value.toLocaleString('en');
const kept = existsSync(BASELINE) ? JSON.parse(readFileSync(BASELINE, 'utf8')) : {};
const counted = { ...kept };
let worse = 0;
let better = 0;
for (const road of ROADS.filter(({ name }) => name.includes(only))) {
  const now = await perCall(build, road);
  const then = against ? await perCall(resolve(against), road) : kept[road.name];
  let line = `${road.name.padEnd(40)} ${number(now).padStart(13)}`;
  if (then) {
    const change = now / then - 1;
    if (change > BOUND) ++worse;
    if (change < -BOUND) ++better;
    line += `  before ${number(then).padStart(13)}  ${change >= 0 ? '+' : ''}${(change * 100).toFixed(2)} %${change > BOUND ? '  WORSE' : ''}`;
  }
  if (!then || write || (now < then * (1 - BOUND) && !process.env.CI)) counted[road.name] = now;
  console.log(line);
}
if (!against && (write || !process.env.CI)) {
  const rows = ROADS.filter(({ name }) => counted[name]).map(({ name }) => ` ${JSON.stringify(name)}: ${counted[name]}`);
  writeFileSync(BASELINE, `{\n${rows.join(',\n')}\n}\n`);
}
if (better) console.log(`${better} better by more than ${BOUND * 100} %${against || process.env.CI ? '' : ': written to benchmarks/instructions.json'}`);
if (worse) console.log(`${worse} worse by more than ${BOUND * 100} %`);
process.exit(worse ? 1 : 0);
