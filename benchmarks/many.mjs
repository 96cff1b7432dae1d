// Three comparisons. A list of five servers with 200 tools each at the aggregate, and of one server with 1,000 tools. A
// notification to many listening streams, and a bare libuv loop that writes as often. Two servers on one worker and on two.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './fronts.mjs';
import { flags, launcher, lineward, middle, share, turns } from './turns.mjs';

const TOOLS = 1000;
const SERVERS = 5;
const CLIENTS = 16;
const NOBODY = 'nothing-is-called-so'; // no stdio server is to be left out of what a front costs

const origin = (port) => ({ url: `http://127.0.0.1:${port}/mcp`, protocolEra: 'modern' });

/** The same list, made of one answer or of five. */
async function lists(bench, out) {
  const { launch, stop } = launcher();
  try {
    const fronts = [];
    for (const servers of [1, SERVERS]) {
      const mcpServers = {};
      for (let i = 0; i < servers; ++i) {
        const port = await freePort();
        await launch('an origin', [join(bench.build, 'benchmarks/bench-hop-origin'), port, TOOLS / servers], port);
        mcpServers[`s${i}`] = origin(port);
      }
      const port = await freePort();
      const pid = await launch('lineward', lineward(bench, port, { mcpServers }), port);
      const name = servers === 1 ? `one server, ${TOOLS} tools` : `${servers} servers, ${TOOLS / servers} tools each`;
      fronts.push({ name, port, pid });
    }
    const options = { marker: NOBODY, clients: CLIENTS, tools: TOOLS, calls: 1_000_000, warmup: 100 };
    await turns(fronts, { ...options, seconds: share(bench.seconds) }, { ...bench, errors: out.errors });
    out.lists.push(...fronts.filter(({ runs }) => runs.length).map(middle));
  } finally {
    await stop();
  }
}

/** The number of files that a process may have open. */
function mostDescriptors() {
  const [, hard] = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return hard === 'unlimited' ? Infinity : Number(hard ?? 1024);
}

/** Streams take turns: each front has all of them. */
async function fanouts(bench, out) {
  const streams = Math.min(bench.streams, mostDescriptors() - 512); // some for everything else
  if (streams < bench.streams)
    out.notes.push(`${streams} streams instead of ${bench.streams}: ulimit -Hn is ${mostDescriptors()}, which is for each process`);
  const server = { command: join(bench.build, 'benchmarks/bench-echo-server'), env: { BENCH_LISTENS: '1' }, protocolEra: 'modern' };
  const listen = { maxConnections: streams + 100, maxConnectionsPerAddress: streams + 100, maxInFlight: streams + 100 };
  const fronts = [
    { name: 'bare libuv loop', command: (port) => [join(bench.build, 'benchmarks/bench-bare-fanout'), port] },
    { name: 'lineward, one server', command: (port) => lineward(bench, port, { listen, mcpServers: { a: server } }) },
    {
      name: 'lineward, two servers as one',
      tool: 'a__change',
      command: (port) => lineward(bench, port, { listen, mcpServers: { a: server, b: server } }),
    },
  ];
  for (const front of fronts) {
    const { launch, stop } = launcher();
    try {
      const port = await freePort();
      const pid = await launch(front.name, front.command(port), port);
      const options = { port, pid, marker: 'bench-echo-server', streams, rounds: 20, seconds: bench.seconds, tool: front.tool ?? 'change' };
      const result = await bench.measure('bench-fanout', flags(options));
      if (!result.ok) throw new Error(result.error);
      out.fanout.push({ name: front.name, ...result, cpu_ms: (result.front_cpu / result.rounds) * 1000 });
    } catch (error) {
      out.errors.push(`${front.name}: ${error.message}`);
    } finally {
      await stop();
    }
  }
}

const knowsWorkers = (build) =>
  /^workers\b/m.test(execFileSync(join(build, 'lineward'), ['options'], { encoding: 'utf8' }));

/** 64 clients call one HTTP server, or take turns with two of them: at their own paths, or as one. */
async function workers(bench, out) {
  if (!knowsWorkers(bench.build)) return;
  const { launch, stop } = launcher();
  try {
    const mcpServers = {};
    for (const name of ['a', 'b']) {
      const port = await freePort();
      await launch('an origin', [join(bench.build, 'benchmarks/bench-hop-origin'), port], port);
      mcpServers[name] = origin(port);
    }
    const fronts = [];
    for (const [where, config, options] of [
      ['one server', { mcpServers: { a: mcpServers.a } }, {}],
      ['two servers, own paths', { aggregate: { enabled: false } }, { paths: '/mcp/a,/mcp/b' }],
      ['two servers, as one', {}, { names: 'a__echo,b__echo' }],
    ]) {
      for (const count of [1, 2]) {
        const port = await freePort();
        const pid = await launch('lineward', lineward(bench, port, { mcpServers, ...config, workers: count }), port);
        fronts.push({ name: `${where}, ${count === 1 ? 'one worker' : 'two workers'}`, port, pid, options });
      }
    }
    const options = { marker: NOBODY, clients: 64, calls: Math.ceil(bench.calls / 5), warmup: 1000 };
    await turns(fronts, { ...options, seconds: share(bench.seconds) }, { ...bench, errors: out.errors });
    out.workers.push(...fronts.filter(({ runs }) => runs.length).map(middle));
  } finally {
    await stop();
  }
}

/** `measure` runs one of our programs and gives its JSON. */
export async function many({ build, calls, seconds, streams, measure }) {
  const folder = mkdtempSync(join(tmpdir(), 'lineward-many-'));
  const out = { lists: [], fanout: [], workers: [], notes: [], errors: [] };
  try {
    for (const part of [lists, fanouts, workers]) {
      await part({ build, folder, calls, seconds, streams, measure }, out).catch((error) => out.errors.push(String(error.message)));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return out;
}

export function manyTable({ lists, fanout, workers, notes, errors }) {
  const lines = [];
  const line = (name, ...texts) => lines.push(name.padEnd(38) + texts.map((text) => String(text).padStart(13)).join(''));
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
    lines.push('', '== Workers: modern clients, HTTP servers, 64 clients');
    calls(workers, 'calls');
  }
  return [...lines, ...notes, ...errors].join('\n');
}
