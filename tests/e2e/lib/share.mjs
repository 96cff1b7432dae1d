// `lineward stdio --share`: clients with a directory for sockets of their own, and the processes behind them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { binary } from './binary.mjs';
import { Inbox, temporaryFolder } from './events.mjs';
import { META } from './modern.mjs';
import { describe as described, leftovers, tagged } from './processes.mjs';
import { LEGACY, MODERN } from './target.mjs';

const INFO = { name: 'lineward-e2e', version: '1.0.0' };
const OURS = 'SHARE_TEST';
const SERVERS = 'SHARE_SERVER';

const comm = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
};

/** A test's own runtime directory and configuration; `servers` as in a file, each with the variable that marks it. */
export class Sharing {
  constructor(t, servers = {}) {
    this.t = t;
    this.folder = temporaryFolder(t);
    this.runtime = join(this.folder, 'run');
    mkdirSync(this.runtime);
    chmodSync(this.runtime, 0o700);
    this.mark = `${process.pid}-${this.folder.slice(-6)}`;
    this.file = join(this.folder, 'lineward.json');
    this.env = { ...process.env, XDG_RUNTIME_DIR: this.runtime, [OURS]: this.mark };
    this.write(servers);
    t.after(async () => {
      const left = await leftovers(() => this.all(), 10_000);
      for (const { pid } of left) process.kill(pid, 'SIGKILL');
      if (left.length) throw new Error(`left: ${left.map(described).join(', ')}`);
    });
  }

  write(servers, rest = {}) {
    const mcpServers = Object.fromEntries(
      Object.entries(servers).map(([name, { command, ...more }]) => [
        name,
        { command: command[0], args: command.slice(1), ...more, env: { ...more.env, [SERVERS]: this.mark } },
      ]),
    );
    writeFileSync(this.file, JSON.stringify({ mcpServers, ...rest }));
  }

  /** Every process of Lineward and below it. */
  all() {
    const pids = new Map();
    for (const one of [...tagged(OURS, this.mark), ...this.servers()]) pids.set(one.pid, one);
    return [...pids.values()];
  }
  servers = () => tagged(SERVERS, this.mark);
  /** The shared gateways, keepers … by the names of their processes. */
  named = (name) => tagged(OURS, this.mark).filter(({ pid }) => comm(pid) === name);
  gateways = () => this.named('lineward-shared');

  parameters(args, env) {
    return { command: binary(), args: ['stdio', '--share', ...args], env: { ...this.env, ...env }, stderr: 'pipe' };
  }

  async legacy({ args = [this.file], env = {}, cwd, capabilities = {}, requests = [] } = {}) {
    const client = new LegacyClient(INFO, { capabilities });
    for (const [schema, handler] of requests) client.setRequestHandler(schema, handler);
    const transport = new LegacyStdio({ ...this.parameters(args, env), cwd });
    return this.connect(client, transport);
  }

  async modern({ args = [this.file], env = {}, capabilities = {}, requests = {} } = {}) {
    const client = new ModernClient(INFO, { capabilities, versionNegotiation: { mode: { pin: MODERN } } });
    for (const [method, handler] of Object.entries(requests)) client.setRequestHandler(method, handler);
    return this.connect(client, new ModernStdio(this.parameters(args, env)));
  }

  async connect(client, transport) {
    const texts = { err: '' };
    transport.stderr.on('data', (bytes) => (texts.err += bytes));
    this.t.after(() => client.close());
    await client.connect(transport);
    return { client, pid: transport.pid, texts, close: () => client.close() };
  }

  /** A client by hand: send(), and lines that came. */
  raw(args = [this.file], env = {}) {
    const child = spawn(binary(), ['stdio', '--share', ...args], { env: { ...this.env, ...env }, stdio: 'pipe' });
    const inbox = new Inbox();
    createInterface({ input: child.stdout }).on('line', (line) => inbox.put(JSON.parse(line)));
    const texts = { err: '' };
    child.stderr.on('data', (bytes) => (texts.err += bytes));
    child.stdin.on('error', () => {});
    const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }));
    this.t.after(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    let next = 1;
    const raw = {
      child,
      inbox,
      texts,
      ended,
      pid: child.pid,
      send: (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
      answer: (id) => inbox.until((one) => one.id === id && !one.method, `the answer to ${id}`),
      ask(method, params = {}) {
        const id = next++;
        raw.send({ id, method, params });
        return raw.answer(id);
      },
      call: (name, args_ = {}) => raw.ask('tools/call', { name, arguments: args_ }),
      askModern: (method, params = {}, capabilities = {}) =>
        raw.ask(method, {
          ...params,
          _meta: { [`${META}protocolVersion`]: MODERN, [`${META}clientInfo`]: INFO, [`${META}clientCapabilities`]: capabilities },
        }),
      async initialize(capabilities = {}) {
        const answer = await raw.ask('initialize', { protocolVersion: LEGACY, capabilities, clientInfo: INFO });
        raw.send({ method: 'notifications/initialized' });
        return answer;
      },
    };
    return raw;
  }
}
