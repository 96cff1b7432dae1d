// A command that runs and ends, and what it costs: the whole process, from its first instruction to its last.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binary } from '../e2e/lib/binary.mjs';
import { bounded } from '../e2e/lib/events.mjs';
import { program } from './programs.mjs';
import { HttpServer } from './wire.mjs';

const LIMIT_MS = 60_000;
const MOST_TOLD = 2000; // of what a command says on stderr when it fails

export class CommandMeter {
  #spent = 0;

  static async start() {
    const meter = new CommandMeter();
    meter.folder = mkdtempSync(join(tmpdir(), 'growth-'));
    meter.server = await HttpServer.start({ era: 'modern' });
    await meter.run(['version']);
    return meter;
  }

  /** A file of the meter's folder, by its path. */
  file(name, text) {
    const path = join(this.folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }
  /** The address of a server that speaks for what `server.on` says. */
  get url() {
    return this.server.config.url;
  }

  /** Runs the command to its end; another exit code than `status` is an error of the row. */
  async run(args, { status = 0 } = {}) {
    const child = spawn(program('growth-once'), [binary(), ...args], { cwd: this.folder, stdio: ['ignore', 'ignore', 'pipe', 'pipe'] });
    let [said, told] = ['', ''];
    child.stderr.on('data', (bytes) => (said = `${said}${bytes}`.slice(0, MOST_TOLD)));
    child.stdio[3].on('data', (bytes) => (told += bytes));
    await bounded(new Promise((resolve, reject) => child.once('close', resolve).once('error', reject)), LIMIT_MS, `lineward ${args[0]}`);
    const [unit, cost, code] = told.trim().split(' ');
    if (Number(code) !== status) throw new Error(`lineward ${args.slice(0, 2).join(' ')} ended with ${code}: ${said}`);
    this.unit = unit;
    this.#spent += Number(cost);
  }

  async cost(work) {
    this.#spent = 0;
    await work();
    return this.#spent;
  }
  async clean() {
    this.server.restore();
  }
  async close() {
    this.server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
