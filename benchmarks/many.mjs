// Many: a list of five servers with 200 tools each at the aggregate, beside one server with 1,000 tools; one notification
// to many listening streams, beside a bare libuv loop that writes as often; one worker beside two.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answers, freePort } from './fronts.mjs';

const ROUNDS = 5;
const TOOLS = 1000;
const SERVERS = 5;
const CLIENTS = 16;
const NOBODY = 'nothing-is-called-so'; // no stdio server is to be left out of what a front costs

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const flags = (options) => Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);

/** Processes that are stopped together, each after it accepted a connection. */
function launcher() {
  const stops = [];
  const launch = async (name, command, port, env = {}) => {
    let said = '';
    const child = spawn(String(command[0]), command.slice(1).map(String), {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env },
    });
    child.stderr.setEncoding('utf8').on('data', (text) => (said = (said + text).slice(-2000)));
    let ended = false;
    child.once('exit', () => (ended = true)).once('error', () => (ended = true));
    stops.push(async () => {
      child.kill('SIGTERM');
      for (let i = 0; i < 100 && !ended; ++i) await sleep(100);
      if (!ended) child.kill('SIGKILL');
    });
    const latest = Date.now() + 20_000;
    while (!(await answers(port))) {
      if (ended || Date.now() > latest) throw new Error(`${name} did not start: ${said}`);
      await sleep(50);
    }
    return child.pid;
  };
  const stop = async () => {
    for (const one of stops.splice(0).toReversed()) await one();
  };
  return { launch, stop };
}

function gateway({ build, folder }, port, config) {
  const path = join(folder, `${port}.json`);
  const all = { listen: { address: `127.0.0.1:${port}`, ...config.listen }, log: { level: 'error' }, ...config.more };
  writeFileSync(path, JSON.stringify({ ...all, mcpServers: config.mcpServers }));
  return [join(build, 'lineward'), 'run', '--ops', 'off', '--admin', 'off', '--config', path];
}

const origin = (port) => ({ url: `http://127.0.0.1:${port}/mcp`, protocolEra: 'modern' });

/** The same list, made of one answer or of five. */
async function lists({ build, folder, seconds, measure }, out) {
  const { launch, stop } = launcher();
  const program = join(build, 'benchmarks/bench-hop-origin');
  try {
    const fronts = [];
    for (const servers of [1, SERVERS]) {
      const mcpServers = {};
      for (let i = 0; i < servers; ++i) {
        const port = await freePort();
        await launch('an origin', [program, port, TOOLS / servers], port);
        mcpServers[`s${i}`] = origin(port);
      }
      const port = await freePort();
      const pid = await launch('lineward', gateway({ build, folder }, port, { mcpServers }), port);
      const name = servers === 1 ? `one server, ${TOOLS} tools` : `${servers} servers, ${TOOLS / servers} tools each`;
      fronts.push({ name, port, pid, runs: [] });
    }
    for (let round = 0; round < ROUNDS; ++round) {
      for (const front of fronts) {
        const options = { port: front.port, pid: front.pid, marker: NOBODY, clients: CLIENTS, tools: TOOLS, calls: 1_000_000 };
        const result = await measure('bench-load', flags({ ...options, seconds: Math.max(2, Math.ceil(seconds / ROUNDS)), warmup: 100 }));
        if (result.ok && result.calls) front.runs.push(result);
        else out.errors.push(`${front.name}: ${result.error}`);
      }
    }
    for (const { name, runs } of fronts.filter(({ runs }) => runs.length))
      out.lists.push({
        name,
        calls: runs.reduce((sum, run) => sum + run.calls, 0),
        per_second: median(runs.map((run) => run.calls / run.seconds)),
        cpu_us: median(runs.map((run) => (run.front_cpu / run.calls) * 1e6)),
        p50_us: median(runs.map((run) => run.p50_us)),
      });
  } finally {
    await stop();
  }
}

/** Streams take turns: two fronts with 10,000 connections each would need twice as many descriptors. */
async function fanouts({ build, folder, streams, measure }, out) {
  const server = { command: join(build, 'benchmarks/bench-echo-server'), env: { BENCH_LISTENS: '1' }, protocolEra: 'modern' };
  const listen = { maxConnections: streams + 100, maxInFlight: streams + 100 };
  const fronts = [
    { name: 'bare libuv loop', command: (port) => [join(build, 'benchmarks/bench-bare-fanout'), port] },
    { name: 'lineward, one server', command: (port) => gateway({ build, folder }, port, { listen, mcpServers: { a: server } }) },
    {
      name: 'lineward, two servers as one',
      tool: 'a__change',
      command: (port) => gateway({ build, folder }, port, { listen, mcpServers: { a: server, b: server } }),
    },
  ];
  for (const front of fronts) {
    const { launch, stop } = launcher();
    try {
      const port = await freePort();
      const pid = await launch(front.name, front.command(port), port);
      const options = { port, pid, marker: 'bench-echo-server', streams, rounds: 20, tool: front.tool ?? 'change' };
      const result = await measure('bench-fanout', flags(options));
      if (!result.ok) throw new Error(result.error);
      out.fanout.push({ name: front.name, ...result, cpu_ms: (result.front_cpu / result.rounds) * 1000 });
    } catch (error) {
      out.errors.push(`${front.name}: ${error.message}`);
    } finally {
      await stop();
    }
  }
}

const knowsWorkers = (build) => {
  try {
    return /^workers\b/m.test(execFileSync(join(build, 'lineward'), ['options'], { encoding: 'utf8' }));
  } catch {
    return false;
  }
};

/** Calls of 64 clients at one HTTP server; only where this Lineward has workers. */
async function workers({ build, folder, calls, seconds, measure }, out) {
  if (!knowsWorkers(build)) return;
  const { launch, stop } = launcher();
  try {
    const port = await freePort();
    await launch('the origin', [join(build, 'benchmarks/bench-hop-origin'), port], port);
    const fronts = [];
    for (const count of [1, 2]) {
      const own = await freePort();
      const config = { more: { workers: count }, mcpServers: { origin: origin(port) } };
      const pid = await launch('lineward', gateway({ build, folder }, own, config), own);
      fronts.push({ name: count === 1 ? 'one worker' : `${count} workers`, port: own, pid, runs: [] });
    }
    for (let round = 0; round < ROUNDS; ++round) {
      for (const front of fronts) {
        const options = { port: front.port, pid: front.pid, marker: NOBODY, clients: 64, calls: Math.ceil(calls / ROUNDS) };
        const result = await measure('bench-load', flags({ ...options, seconds: Math.max(2, Math.ceil(seconds / ROUNDS)), warmup: 1000 }));
        if (result.ok && result.calls) front.runs.push(result);
        else out.errors.push(`${front.name}: ${result.error}`);
      }
    }
    for (const { name, runs } of fronts.filter(({ runs }) => runs.length))
      out.workers.push({
        name,
        calls: runs.reduce((sum, run) => sum + run.calls, 0),
        per_second: median(runs.map((run) => run.calls / run.seconds)),
        cpu_us: median(runs.map((run) => (run.front_cpu / run.calls) * 1e6)),
        p50_us: median(runs.map((run) => run.p50_us)),
      });
  } finally {
    await stop();
  }
}

/** `measure` runs one of our programs and gives its JSON. */
export async function many({ build, calls, seconds, streams, measure }) {
  const folder = mkdtempSync(join(tmpdir(), 'lineward-many-'));
  const out = { lists: [], fanout: [], workers: [], errors: [] };
  const all = { build, folder, calls, seconds, streams, measure };
  try {
    for (const part of [lists, fanouts, workers]) {
      await part(all, out).catch((error) => out.errors.push(String(error.message)));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return out;
}

export function manyTable({ lists, fanout, workers, errors }) {
  const lines = [];
  const line = (name, ...texts) => lines.push(name.padEnd(34) + texts.map((text) => String(text).padStart(13)).join(''));
  const calls = (rows, what) => {
    line('', what, `${what}/s`, 'CPU each us', 'p50 us');
    for (const row of rows) line(row.name, row.calls, row.per_second.toFixed(0), row.cpu_us.toFixed(1), row.p50_us.toFixed(0));
  };
  if (lists.length) {
    lines.push('', `== A list of ${TOOLS} tools, ${CLIENTS} clients`);
    calls(lists, 'lists');
  }
  if (fanout.length) {
    lines.push('', `== One notification to ${fanout[0].streams} listening streams`);
    line('', 'rounds', 'p50 ms', 'p99 ms', 'CPU each ms', 'PSS MiB');
    for (const row of fanout)
      line(row.name, row.rounds, row.p50_ms.toFixed(1), row.p99_ms.toFixed(1), row.cpu_ms.toFixed(1), (row.pss_kib / 1024).toFixed(0));
  }
  if (workers.length) {
    lines.push('', '== Workers: modern clients, HTTP server, 64 clients');
    calls(workers, 'calls');
  }
  return [...lines, ...errors].join('\n');
}
