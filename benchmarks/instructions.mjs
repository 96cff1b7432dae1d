// Instructions per call, counted by valgrind's callgrind: what a change costs where times are too noisy to tell. Two runs of
// each road with different numbers of calls, so that what starts and ends a gateway drops out.
//
//   instructions.mjs BUILD [BEFORE]     builds with bench-programs; BEFORE: the one to compare with
//
// A single client with one call at a time: the number of calls in a turn of the loop depends on the machine.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './fronts.mjs';

const [FEW, MANY] = [1000, 5000];
const BOUND = 0.02;
const [build, before] = process.argv.slice(2).map((path) => resolve(path));
if (!build) {
  console.error('usage: instructions.mjs BUILD [BEFORE]');
  process.exit(2);
}
if (spawnSync('valgrind', ['--version']).error) {
  console.error('instructions.mjs needs valgrind: apt-get install valgrind');
  process.exit(69);
}
const program = (name) => join(build, 'benchmarks', name); // of the newer build, at both gateways

const ROADS = [
  { name: 'modern client, stdio server', era: 'modern' },
  { name: 'legacy client, stdio server', era: 'legacy' },
  { name: 'modern client, HTTP server', era: 'modern', http: true },
];

async function listening(port) {
  for (let tries = 0; tries < 600; ++tries) {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
    if (answer) return answer.body?.cancel();
    await sleep(100);
  }
  throw new Error(`nothing listens on ${port} after a minute`);
}

/** The instructions of the gateway's own process for so many calls. */
async function instructions(of, road, calls) {
  const folder = mkdtempSync(join(tmpdir(), 'lineward-callgrind-'));
  const children = [];
  const start = (command, args) => {
    const child = spawn(command, args, { stdio: 'ignore' });
    children.push(child);
    return child;
  };
  try {
    const port = await freePort();
    let server = { command: program('bench-echo-server') };
    if (road.http) {
      const origin = await freePort();
      start(program('bench-hop-origin'), [String(origin)]);
      server = { url: `http://127.0.0.1:${origin}/mcp` };
    }
    const config = { listen: { address: `127.0.0.1:${port}` }, ops: 'off', log: { level: 'error' }, mcpServers: { echo: server } };
    writeFileSync(join(folder, 'lineward.json'), JSON.stringify(config));
    const gateway = start('valgrind', [
      ...['--tool=callgrind', `--callgrind-out-file=${folder}/out.%p`, '--log-file=/dev/null'],
      ...[join(of, 'lineward'), 'run', '--config', join(folder, 'lineward.json')],
    ]);
    await listening(port);
    const load = spawnSync(
      program('bench-load'),
      ['--port', port, '--pid', gateway.pid, '--marker', 'bench-echo-server', '--era', road.era, '--clients', 1, '--calls', calls]
        .concat('--warmup', 0, '--seconds', 600)
        .map(String),
      { encoding: 'utf8' },
    );
    const result = JSON.parse(load.stdout);
    if (!result.ok || result.calls !== calls) throw new Error(`${road.name}: ${load.stdout}`);
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
  const [few, many] = [await instructions(of, road, FEW), await instructions(of, road, MANY)];
  return (many - few) / (MANY - FEW);
}

let failed = false;
for (const road of ROADS) {
  const now = await perCall(build, road);
  let line = `${road.name.padEnd(30)} ${Math.round(now).toLocaleString('en')} instructions a call`;
  if (before) {
    const then = await perCall(before, road);
    const change = now / then - 1;
    failed ||= change > BOUND;
    line += `, before ${Math.round(then).toLocaleString('en')}: ${change >= 0 ? '+' : ''}${(change * 100).toFixed(2)} %`;
  }
  console.log(line);
}
if (failed) console.log(`more than ${BOUND * 100} % more than before`);
process.exit(failed ? 1 : 0);
