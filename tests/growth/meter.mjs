// A gateway in front of scripted servers, and what its work costs.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { binary } from '../e2e/lib/binary.mjs';
import { bounded } from '../e2e/lib/events.mjs';
import { startListener } from '../e2e/lib/gateway.mjs';
import { program } from './programs.mjs';
import { HttpServer, StdioServer, Wire } from './wire.mjs';

const LIMIT_MS = 60_000;
const LOOK_MS = 1; // between two readings that must be equal
const STILL = { instructions: 20_000, nanoseconds: 15_000 }; // the watching thread's looks are no work

// The C library may return memory to the kernel and take it again for every large message. Then most of their processor time
// is the kernel's, and begins at a size that depends on earlier messages.
const KEEPS_MEMORY = { GLIBC_TUNABLES: 'glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824:glibc.malloc.top_pad=67108864' };

const CONTROL_NAME = 'control';
export const CONTROL = { address: `unix:$FOLDER/${CONTROL_NAME}` };

/** The counter of one process. */
class Counter {
  constructor(pid, { cpuTime }) {
    const env = { ...process.env, ...(cpuTime && { GROWTH_CPU_TIME: '1' }) };
    this.child = spawn(program('growth-counter'), [String(pid)], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.child.once('error', (error) => this.waiting?.(`failed: ${error.message}`));
    createInterface({ input: this.child.stdout }).on('line', (line) => this.waiting?.(line));
  }
  ask(command) {
    const answer = new Promise((resolve) => (this.waiting = resolve));
    this.child.stdin.write(`${command}\n`);
    return bounded(answer, LIMIT_MS, 'the counter');
  }
  async start() {
    this.unit = await this.ask('start');
    if (!STILL[this.unit]) throw new Error(`the counter says: ${this.unit}`);
  }
  async read() {
    const [value, state] = (await this.ask('read')).split(' ');
    return { value: Number(value), busy: state === 'busy' };
  }
  close() {
    this.child.stdin.end();
  }
}

/** The gateway as the stdio server of this process. */
class StdioFront {
  static async start(path, env) {
    const front = new StdioFront();
    front.child = spawn(binary(), ['stdio', path], { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'ignore'] });
    front.pid = front.child.pid;
    front.left = 0;
    front.ended = new Promise((resolve) => front.child.once('exit', resolve));
    front.child.stdin.on('error', () => {});
    front.child.stdout.on('data', (bytes) => {
      for (const byte of bytes) if (byte === 10 && --front.left === 0) front.there?.();
    });
    process.on('exit', () => front.child.kill('SIGKILL'));
    return front;
  }
  send(bytes) {
    this.child.stdin.write(bytes);
  }
  /** Until so many lines have come, from now on. */
  lines(count) {
    this.left = count;
    return bounded(new Promise((resolve) => (this.there = resolve)), LIMIT_MS, `${count} lines`);
  }
  async stop() {
    this.child.stdin.end();
    await bounded(this.ended, LIMIT_MS, 'the end of the gateway');
  }
}

export class Meter {
  /** `world`: {servers: {name: {road, era, streams, …of mcpServers}}, config, files: {name: text}, args}. $FOLDER in texts is where files are. */
  static async start(world, { cpuTime = false, env = KEEPS_MEMORY } = {}) {
    const meter = new Meter();
    meter.folder = mkdtempSync(join(tmpdir(), 'growth-'));
    meter.servers = {};
    meter.wires = [];
    const mcpServers = {};
    for (const [name, { road = 'http', era, streams, ...more }] of Object.entries(world.servers)) {
      const server =
        road === 'stdio'
          ? await StdioServer.start({ era, pipe: program('growth-pipe') })
          : await HttpServer.start({ era, sse: road === 'sse' });
      if (streams) server.streams = []; // it has a GET stream for each session
      meter.servers[name] = server;
      mcpServers[name] = { ...server.config, ...more };
    }
    for (const [name, text] of Object.entries(world.files ?? {})) writeFileSync(join(meter.folder, name), text, { mode: 0o600 });
    const { listen, ops, admin, ...rest } = world.config ?? {};
    const config = {
      listen: { address: '127.0.0.1:0', ...listen },
      ops: { address: 'off', ...ops },
      admin: { address: 'off', ...admin },
      log: { level: 'error' },
      watchdog: { warn: '10s', abort: '0s' },
      ...rest,
      mcpServers,
    };
    const path = join(meter.folder, 'lineward.json');
    writeFileSync(path, JSON.stringify(config).replaceAll('$FOLDER', meter.folder));
    if (world.front === 'stdio') {
      meter.gateway = meter.front = await StdioFront.start(path, env);
    } else {
      meter.gateway = await startListener(binary(), ['run', path], { env, strict: false });
      meter.port = Number(new URL(meter.gateway.url).port);
    }
    meter.counter = new Counter(meter.gateway.pid, { cpuTime });
    await meter.counter.start();
    return meter;
  }

  get unit() {
    return this.counter.unit;
  }
  /** The only server, or the first. */
  get server() {
    return Object.values(this.servers)[0];
  }
  /** A client's connection that is closed with the row. */
  async connect() {
    return this.#connected({ port: this.port, host: '127.0.0.1' });
  }
  /** Likewise to the control socket, where the world's configuration has `admin: CONTROL`. */
  async control() {
    return this.#connected({ path: join(this.folder, CONTROL_NAME) });
  }
  async #connected(where) {
    const wire = await Wire.connect(where);
    this.wires.push(wire);
    return wire;
  }

  /** The reading at rest: two equal ones, with no thread running. */
  async settled() {
    const until = performance.now() + LIMIT_MS;
    for (let before = await this.counter.read(); ; ) {
      await pause(LOOK_MS);
      const now = await this.counter.read();
      if (!now.busy && now.value - before.value <= STILL[this.unit]) return now.value;
      if (performance.now() > until) throw new Error('the gateway does not come to rest');
      before = now;
    }
  }

  async cost(work) {
    const before = await this.settled();
    await work();
    return (await this.settled()) - before;
  }

  /** The effects of a row are undone before the next one. */
  async clean() {
    for (const wire of this.wires) wire.close();
    this.wires = [];
    for (const server of Object.values(this.servers)) server.restore();
    await this.settled();
  }

  async close() {
    for (const wire of this.wires) wire.close();
    this.counter.close();
    const stopped = this.gateway.stop();
    for (const server of Object.values(this.servers)) server.close();
    await stopped;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
