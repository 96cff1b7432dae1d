// Lineward itself, as the roads start it: many at once, so with little ceremony; its end is still looked at.
import { spawn } from 'node:child_process';
import { binary } from '../lib/binary.mjs';
import { bounded, Inbox } from '../lib/events.mjs';
import { lines } from './raw.mjs';

const START_MS = 60_000;
const STOP_MS = 40_000;
const alive = new Set();
process.on('exit', () => alive.forEach((child) => child.kill('SIGKILL')));

export class Gateway {
  constructor(args, { stdio = false, env } = {}) {
    this.log = new Inbox();
    const pipe = stdio ? 'pipe' : 'ignore';
    this.child = spawn(binary(), args, { stdio: [pipe, pipe, 'pipe'], env: { ...process.env, ...env } });
    alive.add(this.child);
    lines(this.child.stderr, (line) => this.log.put(line));
    this.exited = new Promise((resolve) =>
      this.child.once('close', (code, signal) => {
        alive.delete(this.child);
        this.code = signal ?? code;
        this.log.put(`exit ${this.code}`);
        resolve(this.code);
      }),
    );
  }

  /** The first line of the log that fits; a Gateway that ended before says so. */
  line(pattern, what = `${pattern} in the log`, ms = START_MS) {
    const find = (all) => all.map((line) => pattern.exec(line)).find(Boolean);
    const found = this.log.when(find, what, ms);
    const over = this.exited.then((code) => {
      const late = find(this.log.items);
      if (late) return late;
      throw new Error(`${what}: Lineward ended with ${code}: ${this.log.items.slice(-5).join('\n')}`);
    });
    found.catch(() => {});
    over.catch(() => {});
    return Promise.race([found, over]);
  }

  async listening() {
    this.url = (await this.line(/http:\/\/127\.0\.0\.1:\d+\/mcp\b/, 'the URL'))[0];
    return this.url;
  }

  terminate() {
    this.told = true; // a second signal would stop it at once
    this.child.kill('SIGTERM');
    return this.exited;
  }

  /** Throws unless it ends with 0 and no sanitizer said anything. */
  async stop() {
    if (this.code === undefined && !this.told) this.terminate();
    await bounded(this.exited, STOP_MS, 'the end of Lineward').catch((error) => {
      this.child.kill('SIGKILL');
      throw error;
    });
    const complaint = this.log.items.find((line) => /Sanitizer|runtime error/.test(line));
    if (complaint) throw new Error(this.log.items.slice(this.log.items.indexOf(complaint)).slice(0, 40).join('\n'));
    if (this.code !== 0) throw new Error(`Lineward ended with ${this.code}:\n${this.log.items.slice(-10).join('\n')}`);
  }
}
