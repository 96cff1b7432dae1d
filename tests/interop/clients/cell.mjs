// A cell is one client, one server and one road. It does each operation once, then ends everything that it started.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { binary } from '../../e2e/lib/binary.mjs';
import { bounded } from '../../e2e/lib/events.mjs';
import { processOf } from '../../e2e/lib/processes.mjs';
import { normal } from './compare.mjs';
import { Family } from './programs.mjs';

const START_MS = 120_000;
const OPERATION_MS = 120_000;
const STARTED_MS = 60_000;
const SEEN_MS = 10_000;
const FRONT_MS = 5_000;
const LEFTOVER_MS = 10_000;

const LISTS = ['tools', 'prompts', 'resources', 'resourceTemplates'];

const isMine = (item, prefix) => {
  const uri = item?.uri ?? item?.uriTemplate;
  return uri === undefined ? String(item?.name ?? item).startsWith(`${prefix}__`) : uri.startsWith(`${prefix}+`);
};

/** An answer of an aggregate without the other server's items. */
function own(value, prefix) {
  if (Array.isArray(value)) return value.filter((item) => isMine(item, prefix));
  if (!value || typeof value !== 'object') return value;
  const found = {};
  for (const [key, one] of Object.entries(value)) {
    if (LISTS.includes(key)) {
      const isMap = one && !Array.isArray(one);
      found[key] = isMap ? Object.fromEntries(Object.entries(one).filter(([name]) => isMine({ name }, prefix))) : own(one, prefix);
    } else found[key] = key === 'result' ? own(one, prefix) : one;
  }
  return found;
}

class Cell {
  constructor({ base, cache, Client, server, road }) {
    Object.assign(this, { cache, Client, server, road });
    this.home = mkdtempSync(join(base, 'cell-'));
    this.record = join(this.home, 'record');
    this.clients = new Family();
    this.servers = new Family();
    this.cleanups = [];
    this.values = {};
  }

  after(cleanup) {
    this.cleanups.push(cleanup);
  }

  /** A server's command with its own environment, which no client and no gateway changes. */
  asServer(command) {
    const variables = { HOME: this.home, FIXTURE_LOG: this.record, ...this.servers.env, ...this.server.env };
    return ['/usr/bin/env', ...Object.entries(variables).map(([name, value]) => `${name}=${value}`), ...command];
  }

  clientEnv() {
    const temporary = join(this.home, 'tmp');
    mkdirSync(temporary, { recursive: true });
    return {
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      HOME: this.home,
      TMPDIR: temporary,
      LANG: 'C.UTF-8',
      NO_COLOR: '1',
      CI: 'true',
      DISABLE_TELEMETRY: '1',
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      ...(process.env.ASAN_OPTIONS && { ASAN_OPTIONS: process.env.ASAN_OPTIONS }),
      ...this.clients.env,
    };
  }

  async run() {
    writeFileSync(this.record, '');
    try {
      const target = await bounded(this.road.start(this), START_MS, 'the start of the road');
      this.client = new this.Client({ cache: this.cache, home: this.home, env: this.clientEnv(), target, waits: this.server.waits });
      await bounded(this.client.start(), START_MS, "the client's start");
      for (const [name, operate] of this.operations()) await this.operation(name, operate);
    } catch (error) {
      this.values.start = { failed: error.message.slice(0, 500) };
    }
    await this.end();
    return this.values;
  }

  async operation(name, operate) {
    const { prefix } = this.road;
    let value;
    try {
      value = await bounded(operate(), OPERATION_MS, name);
    } catch (error) {
      value = { failed: error.message };
    }
    this.values[name] = normal(prefix ? own(value, prefix) : value, { home: this.home, prefix });
  }

  operations() {
    const { client, server } = this;
    const { prefix } = this.road;
    const named = (name) => (prefix ? `${prefix}__${name}` : name);
    const found = [];
    const add = (name, can, operate) => can && found.push([name, operate]);
    add('connect', client.connect, () => client.connect());
    add('list', client.list, () => client.list());
    if (client.call) {
      for (const [name, { tool, args }] of Object.entries(server.calls(this.home))) {
        add(name, true, () => client.call({ tool: named(tool), args }));
      }
    }
    add('prompts', client.prompts && server.prompt, () => client.prompts());
    add('prompt', client.prompt && server.prompt, () => client.prompt({ ...server.prompt, name: named(server.prompt?.name) }));
    add('resources', client.resources && server.resource, () => client.resources());
    add('resource', client.resource && server.resource, () => client.resource(prefix ? `${prefix}+${server.resource}` : server.resource));
    add('task', client.task && server.task, () => client.task({ ...server.task, tool: named(server.task.tool) }));
    if (server.waits) add('interrupt', client.interrupt, () => this.interrupt({ ...server.waits, tool: named(server.waits.tool) }));
    return found;
  }

  seen() {
    return readFileSync(this.record, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
  }

  async started() {
    for (const deadline = Date.now() + STARTED_MS; Date.now() < deadline; await delay(20)) {
      const one = this.seen().find(({ event }) => event === 'started');
      if (one) return one;
    }
    throw new Error('the call did not reach the server');
  }

  /** The client ends a call that would run for ever: what it says, and the end that the server saw. */
  async interrupt(call) {
    const said = await this.client.interrupt(call, () => this.started());
    const { pid } = await this.started();
    for (const deadline = Date.now() + SEEN_MS; ; await delay(20)) {
      if (this.seen().some(({ event }) => event === 'aborted')) return { end: 'cancelled', said };
      if (!processOf(pid)) return { end: 'ended', said };
      if (Date.now() > deadline) return { end: 'runs on', said };
    }
  }

  async end() {
    const trouble = [];
    const step = (promise) => promise.catch((error) => trouble.push(error.message.slice(0, 500)));
    if (this.client) await step(bounded(this.client.end(), OPERATION_MS, "the client's end"));
    const fronts = (await this.clients.sweep(FRONT_MS)).filter((name) => name.includes(binary()));
    if (fronts.length) trouble.push(`left behind by the client: ${fronts.length} of Lineward`);
    for (const cleanup of this.cleanups.reverse()) await step(cleanup());
    const left = await this.servers.sweep(LEFTOVER_MS);
    if (left.length) trouble.push(`left behind: ${left.map((name) => name.replaceAll(this.home, 'HOME').replace(/^\d+ /, '')).join(', ')}`);
    if (trouble.length) this.values['the end'] = { failed: trouble.join('; ') };
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The values of a cell, operation by operation. */
export const runCell = (what) => new Cell(what).run();
