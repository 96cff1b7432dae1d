// The gateway under a fault: started in whatever surroundings a row wants, measured, and ended.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { openSync, closeSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { binary } from '../../e2e/lib/binary.mjs';
import { bounded } from '../../e2e/lib/events.mjs';
import { get } from '../../e2e/lib/operator.mjs';
import { describe, descendants, leftovers, tagged } from '../../e2e/lib/processes.mjs';
import { parseMetrics } from './metrics.mjs';
import { openFds, waitedMs, within } from './figures.mjs';

const TAG = 'LINEWARD_FAULT_TAG';
const START_MS = 20_000;
const STOP_MS = 40_000;
const SETTLE_MS = 5000;

const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

export class Gateway {
  /**
   * options: prefix (words before the binary, which must end in exec), env, stderr (a file descriptor instead of the
   * log file; then `address` must be a fixed one), hook
   */
  static async start(folder, config, { prefix = [], env = {}, stderr, hook, args = [], name = 'gateway' } = {}) {
    const gateway = new Gateway();
    gateway.logPath = join(folder, `${name}.log`);
    gateway.configPath = join(folder, `${name}.json`);
    gateway.config = { listen: { address: '127.0.0.1:0' }, ops: { address: '127.0.0.1:0' }, ...config };
    gateway.config.admin ??= { address: 'off' };
    gateway.writeConfig(gateway.config);
    gateway.tag = randomUUID();
    const log = stderr ?? openSync(gateway.logPath, 'w');
    const [command, ...words] = [...prefix, binary(), 'run', ...args, gateway.configPath];
    const began = performance.now();
    gateway.child = spawn(command, words, {
      env: { ...process.env, ...hook?.env, ...env, [TAG]: gateway.tag },
      stdio: ['ignore', 'ignore', log],
    });
    if (stderr === undefined) closeSync(log);
    running.add(gateway.child);
    gateway.pid = gateway.child.pid;
    gateway.ended = new Promise((resolve) =>
      gateway.child.once('exit', (code, signal) => {
        running.delete(gateway.child);
        gateway.end = signal ?? code;
        resolve(gateway.end);
      }),
    );
    hook?.set('pid', gateway.pid);
    if (stderr === undefined) await gateway.#listens();
    else await gateway.#answers(gateway.config.listen.address);
    gateway.startMs = performance.now() - began;
    gateway.ownStartMs = Math.max(0, gateway.startMs - waitedMs(gateway.pid)); // without what it waited for a processor
    return gateway;
  }

  async #listens() {
    const found = () => /http:\/\/([^/\s]+)\/mcp\b/.exec(this.log)?.[1];
    const there = await within(START_MS, () => this.end !== undefined || found(), 2);
    this.address = found();
    if (!there || this.address === undefined) {
      this.child.kill('SIGKILL');
      throw new Error(`the gateway did not listen (${this.end}): ${this.log.slice(-500)}`);
    }
    // Another line of the log, which may be on its way.
    const ops = () => /http:\/\/([^/\s]+)\/metrics/.exec(this.log)?.[1];
    if (this.config.ops.address !== 'off') await within(SETTLE_MS, () => this.end !== undefined || ops(), 2);
    this.ops = ops();
  }

  async #answers(address) {
    this.address = address;
    const asks = async () => this.end !== undefined || (await get(address, '/').catch(() => undefined)) !== undefined;
    if (!(await within(START_MS, asks))) throw new Error('the gateway did not listen');
  }

  get log() {
    return readFileSync(this.logPath, 'utf8');
  }
  get alive() {
    return this.end === undefined;
  }
  writeConfig(config) {
    writeFileSync(this.configPath, JSON.stringify(config));
  }
  /** Each server has its own path when there are several. */
  url(server) {
    const several = Object.keys(this.config.mcpServers).length > 1;
    return `http://${this.address}/mcp${several && server ? `/${server}` : ''}`;
  }
  async metrics() {
    return parseMetrics((await get(this.ops, '/metrics')).body);
  }
  kill(signal) {
    this.child.kill(signal);
  }

  children = () => descendants(this.pid);

  /** It must return to its present figures. */
  async takeBase() {
    this.base = { fds: openFds(this.pid), children: this.children().length };
  }

  /** Empty when fds and children are back; else what is not. */
  async settled(limitMs = SETTLE_MS) {
    let fds;
    let children;
    const back = () => {
      fds = openFds(this.pid);
      children = this.children().length;
      return fds <= this.base.fds && children <= this.base.children;
    };
    if (await within(limitMs, back, 50)) return '';
    return `fds ${this.base.fds}→${fds}, processes ${this.base.children}→${children}`;
  }

  /** Empty when nothing of it is left within the time; else the names of those. They are ended. */
  async leavesNothing(limitMs) {
    const left = await leftovers(() => tagged(TAG, this.tag), limitMs);
    const names = left.map(describe);
    for (const { pid } of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // it ended meanwhile
      }
    }
    return names.join(', ');
  }

  /** SIGTERM and the end; resolves with the exit code. */
  async stop() {
    if (this.alive) this.child.kill('SIGTERM');
    return bounded(this.ended, STOP_MS, 'the end after SIGTERM').catch((error) => {
      this.child.kill('SIGKILL');
      throw error;
    });
  }
}
