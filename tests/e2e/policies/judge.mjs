// Reports of official SDK servers about the requests that they understood, and the forbidden ones
// among them.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { bounded, Inbox } from '../lib/events.mjs';
import { lines } from '../roads/raw.mjs';

const PROGRAM = fileURLToPath(new URL('../fixtures/policy-server.mjs', import.meta.url));

const decoded = (path) => path.replace(/%[0-9a-f]{2}/gi, (one) => String.fromCharCode(parseInt(one.slice(1), 16)));

/** The server works on a request that only permitted callers may make: by its name, or by where its URI leads. */
export function isForbidden({ target, href }) {
  if (String(target).startsWith('secret_') || String(target).startsWith('task-secret_')) return true;
  if (href === undefined || !href.startsWith('file:')) return false;
  const path = decoded(new URL(href).pathname).replaceAll('\\', '/').replace(/\/+/g, '/');
  return path.startsWith('/secret/');
}

/** Collects the reports of all servers. */
export class Judge {
  constructor() {
    this.reports = new Inbox();
    this.open = new Set();
  }

  async start(path) {
    this.path = path;
    this.server = createServer((socket) => {
      this.open.add(socket);
      socket.on('close', () => this.open.delete(socket));
      socket.on('error', () => {});
      lines(socket, (line) => this.reports.put(JSON.parse(line)));
    });
    await new Promise((resolve) => this.server.listen(path, resolve));
    return this;
  }

  of(name) {
    return this.reports.items.filter(({ server }) => server === name);
  }

  end() {
    this.server.close();
    for (const socket of this.open) socket.destroy();
  }

  env(name) {
    return { REPORTS: this.path, NAME: name };
  }

  command(era) {
    return { command: process.execPath, args: [PROGRAM, era] };
  }

  /** A listening client, until end(). */
  async http(era, name) {
    const child = spawn(process.execPath, [PROGRAM, era, '--http', '0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...this.env(name) },
    });
    const url = new Promise((resolve, reject) => {
      lines(child.stderr, (line) => {
        const found = /listening on (\S+)/.exec(line);
        if (found) resolve(found[1]);
      });
      child.once('close', () => reject(new Error(`the server ${name} ended`)));
    });
    const end = () => new Promise((resolve) => (child.exitCode !== null ? resolve() : child.once('close', resolve).kill('SIGKILL')));
    return { url: await bounded(url, 30_000, `the start of ${name}`), end };
  }
}
