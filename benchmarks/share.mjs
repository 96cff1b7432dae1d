// The memory of a laptop with many client sessions of the same servers, before and after `lineward stdio --share`:
//
//   node benchmarks/share.mjs BUILD [SESSIONS] [--json]
//
// Each session is `lineward stdio FILE` with five official servers (everything, filesystem, memory, and twice
// everything again), of which it calls one tool each. `private` has a gateway for each session; `--share` one for all,
// with each server's process for all sessions (isolation: shared) or for each (auto). Memory is the sum of PSS of
// /proc/PID/smaps_rollup over every process, so that shared pages count once. It also times the first call of another session.
// Then it kills the gateway and times the next answer. The server of both needs no time to start (build/demo-server).
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
const binary = resolve(build, 'lineward');
const require = createRequire(fileURLToPath(new URL('../tests/e2e/package.json', import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'lineward-share-'));
const mark = `${process.pid}-${Date.now()}`;
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

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
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.waiting = new Map();
    this.next = 1;
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      const message = JSON.parse(line);
      if (!message.method) this.waiting.get(message.id)?.(message);
    });
    this.over = new Promise((done) => this.child.once('close', done));
  }
  ask(method, params) {
    const id = this.next++;
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return new Promise((done) => this.waiting.set(id, done));
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
    return this.over;
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
  const end = Date.now() + 20_000;
  while (processes().length && Date.now() < end) await new Promise((next) => setTimeout(next, 50));
  row.left = processes().length;
  return row;
}

const clock = async (work) => {
  const began = performance.now();
  await work();
  return Math.round((performance.now() - began) * 10) / 10;
};

async function times() {
  const words = ['--share', '--', resolve(build, 'demo-server')];
  const first = new Session(words);
  const out = { first_session_ms: await clock(() => first.open()) };
  const starts = [];
  const calls = [];
  for (let i = 0; i < 10; ++i) {
    const other = new Session(words);
    starts.push(
      await clock(async () => {
        await other.open();
        await other.call('echo', { message: 'hi' });
      }),
    );
    for (let n = 0; n < 200; ++n) calls.push(await clock(() => other.call('echo', { message: 'hi' })));
    await other.close();
  }
  const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
  out.later_session_first_call_ms = median(starts);
  out.call_ms = median(calls);
  const again = [];
  for (let i = 0; i < 5; ++i) {
    await first.call('echo', { message: 'hi' });
    process.kill(processes().find(({ comm }) => comm === 'lineward-shared').pid, 'SIGKILL');
    // A call that was on its way to the killed gateway fails once.
    const answered = () => first.call('echo', { message: 'hi' }).then(() => true, () => false);
    again.push(
      await clock(async () => {
        while (!(await answered()));
      }),
    );
  }
  out.call_after_kill_ms = median(again);
  await first.close();
  const alone = new Session(words.slice(1));
  await alone.open();
  const plain = [];
  for (let n = 0; n < 500; ++n) plain.push(await clock(() => alone.call('echo', { message: 'hi' })));
  out.call_private_ms = median(plain);
  await alone.close();
  return out;
}

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
  console.table(results.times);
}
