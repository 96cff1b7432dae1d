// The memory of a laptop with many client sessions of the same servers, before and after `lineward stdio --share`:
//
//   node benchmarks/share.mjs BUILD [SESSIONS] [--json]
//
// Each session is `lineward stdio FILE` with five official servers (everything, filesystem, memory, and twice
// everything again), of which it calls one tool each. `private` has a gateway for each session; `--share` one for all,
// with each server's process for all sessions (isolation: shared) or for each (auto). Memory is the sum of PSS of
// /proc/PID/smaps_rollup over every process, so that shared pages count once. It also times another session, from its start to the
// answer to its first call. Then it kills the gateway and times the next answer. The server of both needs no time to start
// (build/demo-server). It ends by itself, with 1 if a step took longer than its limit or left a process. Bounds of times
// are those of a release build on a machine at rest: the table says whether they are kept.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const [build, ...rest] = process.argv.slice(2).filter((word) => !word.startsWith('--'));
if (!build) throw new Error('usage: share.mjs BUILD [SESSIONS] [--json]');
const sessions = Number(rest[0] ?? 8);
const STEP_MS = 60_000;
const WHOLE_MS = 600_000;
const MOST_SAID = 8192;
const BOUNDS = { first_call_ms: 50, call_after_kill_ms: 1000 };
const binary = resolve(build, 'lineward');
const require = createRequire(fileURLToPath(new URL('../tests/e2e/package.json', import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'lineward-share-'));
const mark = `${process.pid}-${Date.now()}`;
const children = new Set();
let said = ''; // the end of what the clients wrote to stderr, shown after a failure
process.on('exit', () => {
  for (const { pid } of processes()) if (pid !== process.pid) kill(pid);
  rmSync(folder, { recursive: true, force: true });
});
const kill = (pid) => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended
  }
};
const stop = (why) => {
  console.error(`${said}share.mjs: ${why}`);
  for (const child of children) child.kill('SIGKILL');
  process.exit(1);
};
setTimeout(() => stop(`not done within ${WHOLE_MS / 1000} s`), WHOLE_MS).unref();
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => stop(name));

const bounded = (promise, what) => {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${STEP_MS / 1000} s`)), STEP_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

function program(name) {
  const manifest = require.resolve(`${name}/package.json`);
  const { bin } = require(manifest);
  return join(dirname(manifest), typeof bin === 'string' ? bin : Object.values(bin)[0]);
}
const node = process.execPath;
const everything = [program('@modelcontextprotocol/server-everything')];
const SERVERS = {
  everything: { args: everything, call: ['echo', { message: 'hi' }] },
  files: { args: [program('@modelcontextprotocol/server-filesystem'), folder], call: ['list_allowed_directories', {}] },
  memory: { args: [program('@modelcontextprotocol/server-memory')], call: ['read_graph', {}] },
  second: { args: everything, call: ['echo', { message: 'hi' }] },
  third: { args: everything, call: ['echo', { message: 'hi' }] },
};

function configuration(isolation) {
  const mcpServers = Object.fromEntries(
    Object.entries(SERVERS).map(([name, { args }]) => [name, { command: node, args, isolation, env: { SHARE_BENCH: mark } }]),
  );
  const path = join(folder, `${isolation}.json`);
  writeFileSync(path, JSON.stringify({ mcpServers }));
  return path;
}

const read = (path) => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
};

/** Every process with our mark: {pid, comm, pss}, in KiB. */
function processes() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && read(`/proc/${name}/environ`).includes(`SHARE_BENCH=${mark}`))
    .map((pid) => ({
      pid: Number(pid),
      comm: read(`/proc/${pid}/comm`).trim(),
      pss: Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0),
    }));
}

class Session {
  constructor(words) {
    this.child = spawn(binary, ['stdio', ...words], {
      env: { ...process.env, XDG_RUNTIME_DIR: folder, SHARE_BENCH: mark },
      stdio: 'pipe',
    });
    this.child.stderr.on('data', (bytes) => (said = (said + bytes).slice(-MOST_SAID)));
    children.add(this.child);
    this.child.stdin.on('error', () => {});
    this.waiting = new Map();
    this.next = 1;
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      const message = JSON.parse(line);
      if (!message.method) this.waiting.get(message.id)?.(message);
    });
    this.over = new Promise((done) => this.child.once('close', done));
    this.over.then((code) => {
      children.delete(this.child);
      for (const answered of this.waiting.values()) answered({ error: `the client ended with ${code}` });
    });
  }
  ask(method, params) {
    const id = this.next++;
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    const answer = new Promise((done) => this.waiting.set(id, done));
    return bounded(answer, method).finally(() => this.waiting.delete(id));
  }
  async open() {
    const answer = await this.ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'share-bench', version: '1' },
    });
    if (answer.error) throw new Error(JSON.stringify(answer.error));
    this.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }
  async call(name, args) {
    const answer = await this.ask('tools/call', { name, arguments: args });
    if (!answer.result) throw new Error(JSON.stringify(answer));
  }
  close() {
    this.child.stdin.end();
    return bounded(this.over, 'the end of a client');
  }
}

const MiB = (kib) => Math.round((kib / 1024) * 10) / 10;

async function memory(name, words) {
  const all = Array.from({ length: sessions }, () => new Session(words));
  for (const one of all) {
    await one.open();
    for (const [server, { call }] of Object.entries(SERVERS)) await one.call(`${server}__${call[0]}`, call[1]);
  }
  const found = processes();
  const ours = found.filter(({ comm }) => comm.startsWith('lineward'));
  const servers = found.filter(({ comm }) => !comm.startsWith('lineward'));
  const sum = (list) => list.reduce((total, { pss }) => total + pss, 0);
  const row = {
    name,
    server_processes: servers.length,
    lineward_processes: ours.length,
    servers_mib: MiB(sum(servers)),
    lineward_mib: MiB(sum(ours)),
    all_mib: MiB(sum(found)),
  };
  await Promise.all(all.map((one) => one.close()));
  row.left = await left();
  return row;
}

/** How many processes are there still, 20 s after the last client has ended. */
async function left() {
  const end = Date.now() + 20_000;
  while (processes().length && Date.now() < end) await new Promise((next) => setTimeout(next, 50));
  return processes().length;
}

const clock = async (work) => {
  const began = performance.now();
  await work();
  return Math.round((performance.now() - began) * 10) / 10;
};

const hi = (session) => session.call('echo', { message: 'hi' });
const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];

async function calls(session, count) {
  const each = [];
  for (let n = 0; n < count; ++n) each.push(await clock(() => hi(session)));
  return median(each);
}

/** From the death of the gateway to the next answer. A new client each time: gateways that die one after the other start later. */
async function afterKill(words) {
  const one = new Session(words);
  await one.open();
  await hi(one);
  const gateway = processes().find(({ comm }) => comm === 'lineward-shared');
  const limit = Date.now() + STEP_MS;
  // A call that was on its way to the killed gateway fails once.
  const answered = () => hi(one).then(() => true, () => false);
  const ms = await clock(async () => {
    process.kill(gateway.pid, 'SIGKILL');
    while (!(await answered())) if (Date.now() > limit) throw new Error('no answer after the end of the gateway');
  });
  await one.close();
  return ms;
}

async function times() {
  const words = ['--share', '--', resolve(build, 'demo-server')];
  let first;
  const started = await clock(async () => {
    first = new Session(words);
    await first.open();
  });
  const out = { first_session_ms: started };
  const starts = [];
  const shared = [];
  for (let i = 0; i < 10; ++i) {
    let other;
    starts.push(
      await clock(async () => {
        other = new Session(words);
        await other.open();
        await hi(other);
      }),
    );
    shared.push(await calls(other, 200));
    await other.close();
  }
  await first.close();
  out.first_call_ms = median(starts);
  out.call_ms = median(shared);
  const alone = new Session(words.slice(1));
  await alone.open();
  out.call_private_ms = await calls(alone, 500);
  await alone.close();
  const again = [];
  for (let i = 0; i < 5; ++i) again.push(await afterKill(words));
  out.call_after_kill_ms = median(again);
  out.left = await left();
  return out;
}

/** A row for each figure, with its bound. */
const withBounds = (figures) =>
  Object.fromEntries(
    Object.entries(figures).map(([name, value]) => {
      const bound = BOUNDS[name];
      return [name, bound === undefined ? { value } : { value, bound, kept: value <= bound }];
    }),
  );

try {
  const results = { sessions, servers: Object.keys(SERVERS).length, memory: [], times: {} };
  const auto = configuration('auto');
  const shared = configuration('shared');
  results.memory.push(await memory('private gateways', [auto]));
  results.memory.push(await memory('--share, isolation auto', ['--share', auto]));
  results.memory.push(await memory('--share, isolation shared', ['--share', shared]));
  results.times = await times();
  if (process.argv.includes('--json')) console.log(JSON.stringify(results, null, 2));
  else {
    console.table(results.memory);
    console.table(withBounds(results.times));
  }
  const remaining = [...results.memory, results.times].reduce((sum, row) => sum + row.left, 0);
  if (remaining > 0) stop(`${remaining} processes were left`);
  process.exit(0);
} catch (error) {
  stop(error.message);
}
