// Measures what a hostile HTTP/2 connection costs. A client sends a flood for some seconds, and connects anew when it is
// cut. Meanwhile the calls of another client are timed. CPU and memory are the gateway's.
//
//   node benchmarks/floods.mjs BUILD [--seconds N]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as session } from 'node:http2';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { call, FLOODS, frame, PREFACE, SETTINGS } from '../tests/e2e/lib/http2.mjs';
import { freePort } from './fronts.mjs';
import { inFolder, launcher, lineward } from './turns.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string', default: '4' }, hostile: { type: 'string' }, port: { type: 'string' } },
});
const SECONDS = Number(values.seconds);
const STEPS = 200_000; // of one connection; more than any that is not cut in time

/** Floods until the time is over: connections and bytes of the client. */
async function flood(port, { frames }) {
  const until = performance.now() + SECONDS * 1000;
  const pieces = [];
  for (let n = 0; n < STEPS && pieces.length < 400; n += 50) pieces.push(Buffer.concat(Array.from({ length: 50 }, (_, i) => frames(n + i)).flat()));
  let connections = 0;
  let bytes = 0;
  while (performance.now() < until) {
    const socket = connect(port, '127.0.0.1');
    const closed = once(socket, 'close').catch(() => {});
    socket.on('error', () => {}).resume();
    let open = true;
    closed.then(() => (open = false));
    socket.write(Buffer.concat([PREFACE, frame(SETTINGS, 0, 0)]));
    for (let at = 0; open && performance.now() < until; at = Math.min(at + 1, pieces.length - 1))
      await new Promise((done) => (socket.writable ? socket.write(pieces[at], done) : setImmediate(done)));
    bytes += socket.bytesWritten;
    ++connections;
    socket.destroy();
    await closed;
  }
  return { connections, bytes };
}

if (values.hostile) {
  console.log(JSON.stringify(await flood(Number(values.port), FLOODS[values.hostile])));
  process.exit();
}

const build = resolve(positionals[0] ?? 'build');
const cpu = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const of = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(of[11]) + Number(of[12])) / 100;
};
const resident = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
const percentile = (list, part) => list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * part))];

/** An innocent client's calls, 100 in a second, while `work` runs: their times in milliseconds. */
async function timed(url, work) {
  const client = session(new URL(url).origin);
  client.on('error', () => {});
  const times = [];
  let over = false;
  const running = work().finally(() => (over = true));
  while (!over) {
    const begun = performance.now();
    const { status } = await call(client, url, 'echo');
    if (status !== 200) throw new Error(`an innocent call was answered with ${status}`);
    times.push(performance.now() - begun);
    await sleep(Math.max(0, 10 - (performance.now() - begun)));
  }
  client.close();
  return { result: await running, times };
}

async function hostile(name, port) {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), '--hostile', name, '--port', String(port), '--seconds', values.seconds], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (text) => (said += text));
  await once(child, 'close');
  return JSON.parse(said);
}

const programs = launcher({ silent: true });
const out = { errors: [] };
await inFolder('floods', programs, out, async (folder) => {
  const origin = await freePort();
  await programs.launch('the origin', [join(build, 'benchmarks/bench-hop-origin'), origin], origin);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const pid = await programs.launch('lineward', lineward({ build, folder }, port, { mcpServers: { origin: { url: `http://127.0.0.1:${origin}/mcp`, protocolEra: 'modern' } } }), port);
  const told = (name, { times }, more = '') =>
    console.log(`${name.padEnd(42)} calls p50 ${percentile(times, 0.5).toFixed(1).padStart(5)} p99 ${percentile(times, 0.99).toFixed(1).padStart(5)} ms ${more}`);
  await sleep(1000);
  told('quiet', await timed(url, () => sleep(SECONDS * 1000)));
  for (const name of Object.keys(FLOODS)) {
    const before = { cpu: cpu(pid), resident: resident(pid) };
    const begun = performance.now();
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, resident(pid))), 50);
    const seen = await timed(url, () => hostile(name, port));
    clearInterval(watch);
    const { connections, bytes } = seen.result;
    const used = cpu(pid) - before.cpu;
    told(
      name,
      seen,
      `  ${String(connections).padStart(6)} connections, each ${((used / connections) * 1e6).toFixed(0).padStart(6)} us of CPU and ${(bytes / connections / 1024).toFixed(1).padStart(6)} KiB sent; ` +
        `CPU ${((used / (performance.now() - begun)) * 1e5).toFixed(0)} %, memory +${((most - before.resident) / 1024).toFixed(1)} MiB`,
    );
  }
});
for (const error of out.errors) console.error(error);
process.exitCode = out.errors.length ? 1 : 0;
