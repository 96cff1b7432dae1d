// Programs that a cell starts: bounded in time, in a process group of their own, with a tag in their environment.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { bounded, Inbox } from '../../e2e/lib/events.mjs';
import { describe, leftovers, tagged } from '../../e2e/lib/processes.mjs';

const TAG = 'LINEWARD_INTEROP_TAG';
const END_MS = 15_000;
const OUTPUT_BYTES = 8 << 20;
const groups = new Set();
process.on('exit', () => groups.forEach((pid) => kill(-pid, 'SIGKILL')));

function kill(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // it has ended
  }
}

/** Names the processes of one side of a cell, and ends those that are left. */
export class Family {
  constructor() {
    this.tag = randomUUID();
    this.env = { [TAG]: this.tag };
  }

  /** Ends what is left after `ms`; resolves with the names of those. */
  async sweep(ms) {
    const left = await leftovers(() => tagged(TAG, this.tag), ms);
    const names = left.map(describe);
    for (const { pid } of left) kill(pid, 'SIGKILL');
    return names;
  }
}

/** A program in a group of its own. */
export class Program {
  constructor([file, ...args], { env, cwd, stdin = 'ignore' }) {
    this.child = spawn(file, args, { env, cwd, detached: true, stdio: [stdin, 'pipe', 'pipe'] });
    this.stdout = this.stderr = '';
    const add = (name) => (text) => (this[name] = (this[name] + text).slice(-OUTPUT_BYTES));
    for (const name of ['stdout', 'stderr']) this.child[name].setEncoding('utf8').on('data', add(name));
    this.child.stdin?.on('error', () => {});
    if (this.child.pid) groups.add(this.child.pid);
    this.exited = new Promise((resolve) => {
      this.child.once('error', (error) => resolve(error.message));
      this.child.once('exit', (code, signal) => resolve(signal ?? code));
    });
    // A grandchild may hold the pipes for longer.
    this.closed = new Promise((resolve) => this.child.once('close', resolve));
  }

  signal(name) {
    if (this.child.pid) kill(-this.child.pid, name);
  }

  /** Ends it: its own way first, then by force. */
  async end(signal = 'SIGTERM') {
    this.child.stdin?.end();
    this.signal(signal);
    await bounded(this.exited, END_MS, 'the end').catch(() => this.signal('SIGKILL'));
    this.release();
  }

  release() {
    this.signal('SIGKILL');
    groups.delete(this.child.pid);
    for (const name of ['stdout', 'stderr']) this.child[name].destroy();
  }
}

/** Runs a program to its end, or to `ms`; { code, stdout, stderr }. */
export async function run(command, options, ms) {
  const program = new Program(command, options);
  const code = await bounded(program.exited, ms, 'the program').catch(() => `no end in ${ms / 1000} s`);
  await bounded(program.closed, 1000, 'its output').catch(() => {});
  program.release();
  return { code, stdout: program.stdout, stderr: program.stderr };
}

/** JSON-RPC in lines with a program: requests by id, everything else in an inbox. */
export class Lines {
  constructor(program, { answersPings = false } = {}) {
    Object.assign(this, { program, answersPings });
    this.answers = new Map();
    this.inbox = new Inbox();
    this.next = 0;
    createInterface({ input: program.child.stdout }).on('line', (line) => this.take(line));
    program.exited.then((code) => {
      this.ended = code;
      for (const answer of this.answers.values()) answer({ error: { code: 0, message: `the program ended with ${code}` } });
    });
  }

  take(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return; // words of a program that are no message
    }
    if (message.method === undefined && this.answers.has(message.id)) this.answers.get(message.id)(message);
    else {
      this.inbox.put(message);
      // A client without capabilities answers pings, and refuses all other requests.
      if (!this.answersPings || message.method === undefined || message.id === undefined) return;
      if (message.method === 'ping') this.send({ id: message.id, result: {} });
      else this.send({ id: message.id, error: { code: -32601, message: 'Method not found' } });
    }
  }

  send(message) {
    this.program.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** Resolves with the answer, an error too. */
  request(method, params, ms = 60_000) {
    const id = this.next++;
    if (this.ended !== undefined) return Promise.resolve({ error: { code: 0, message: `the program ended with ${this.ended}` } });
    const answer = new Promise((resolve) => this.answers.set(id, resolve));
    this.send({ id, method, params });
    return bounded(answer, ms, method).finally(() => this.answers.delete(id));
  }
}
