// The ground of a row: a folder, a gateway with a second server for the control traffic, and the conditions after every
// fault (no other failure, no wrong answer, alive, fds and processes as before).
import { mkdtempSync, rmSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { bounded } from '../../e2e/lib/events.mjs';
import { Client } from './client.mjs';
import { isSanitized, ms, quantile, seeded, zombies } from './figures.mjs';
import { Gateway } from './gateway.mjs';
import { Hook } from './hook.mjs';
import { Journal } from './journal.mjs';
import { program } from './programs.mjs';

const CLEANUP_MS = 60_000;

export class Ground {
  constructor({ quick, seed }) {
    this.quick = quick;
    this.random = seeded(seed);
    this.sanitized = isSanitized();
    this.folder = mkdtempSync(join(tmpdir(), 'lineward-faults-'));
    chmodSync(this.folder, 0o755);
    this.parts = [];
    this.lacks = [];
    this.failed = false;
    this.cleanups = [];
    this.delays = monitorEventLoopDelay({ resolution: 5 });
    this.delays.enable();
    this.watched = [];
    this.clients = [];
  }

  /** How often, in the quick form and in the full one. */
  count = (quick, full) => (this.quick ? quick : full);
  after(cleanup) {
    this.cleanups.push(cleanup);
  }
  /** A part of the figure, and whether it is within the bar. */
  check(figure, holds) {
    this.parts.push(holds ? figure : `✗ ${figure}`);
    if (!holds) this.failed = true;
  }
  note(figure) {
    this.parts.push(figure);
  }
  /** How late this process itself was at most: what it measures cannot be better than that. */
  get late() {
    return Math.max(0, this.delays.max / 1e6 - 5);
  }
  /** The bar in ms for a time that nothing but the gateway has a part in (`own`), or another under a sanitizer. */
  bar(ms, sanitized = 10 * ms) {
    return this.sanitized ? sanitized : ms;
  }
  /** The bar in ms, and as much more as the machine was late. */
  allow(ms, sanitized = 10 * ms) {
    return this.bar(ms, sanitized) + this.late;
  }
  /** The parts of the row that cannot run yet, and their reason. */
  missing(what) {
    this.lacks.push(what);
  }

  /** The row cannot run: names the feature that is not there. */
  notYet(what) {
    this.notRun = what;
  }

  hook(options) {
    const hook = new Hook(this.folder, options);
    this.after(() => hook.close());
    return hook;
  }

  async journal(name) {
    const journal = await Journal.open(this.folder, name);
    this.after(() => journal.close());
    return journal;
  }

  /** A stdio server that misbehaves, for a configuration. */
  faulty(args = [], more = {}, journal) {
    return { command: program('fault-server'), args, protocolEra: 'modern', env: journal?.env ?? {}, ...more };
  }

  /**
   * Starts a gateway in front of these servers and of `control`; those named in `cold` are not called first.
   * `loose`: the row ends the gateway itself, and nothing is checked at the end.
   */
  async gateway(servers, { listen = {}, cold = [], loose = false, top = {}, ...options } = {}) {
    const control = this.faulty();
    // The rows about broken connections break hundreds in a row: an open circuit would hide what each call gets.
    const counted = Object.fromEntries(
      Object.entries(servers).map(([name, one]) => [name, one.url ? { circuitBreaker: { consecutiveFailures: 0 }, ...one } : one]),
    );
    const config = {
      listen: { address: '127.0.0.1:0', maxConnections: 30_000, ...listen },
      mcpServers: { ...counted, control },
      ...top,
    };
    const gateway = await Gateway.start(this.folder, config, options);
    this.after(async () => {
      const end = await gateway.stop();
      const left = await gateway.leavesNothing(5000);
      if (left) this.check(`left behind: ${left}`, false);
      if (!loose && end !== 0) this.check(`ended with ${end}: ${gateway.log.slice(-300)}`, false);
    });
    const warm = Object.keys(config.mcpServers).filter((name) => !cold.includes(name) && config.mcpServers[name].command);
    for (const name of warm) {
      const client = this.client(gateway, name);
      const { end, why } = await client.call('echo');
      client.close();
      if (end !== 'ok') throw new Error(`${name} does not answer before the fault: ${end} ${why}`);
    }
    await delay(20);
    await gateway.takeBase();
    if (!loose) this.watched.push(gateway);
    return gateway;
  }

  /** options: sockets; pids: more processes, and their waits for a processor do not count in `own`. */
  client(gateway, server, { pids = [], ...options } = {}) {
    const client = new Client(gateway.url(server), { pids: [gateway.pid, ...pids], ...options });
    this.clients.push(client);
    return client;
  }

  /** Starts steady calls to the other server; stop() tells how they went and checks that none failed. */
  control(gateway, { rps = this.quick ? 50 : 200, server = 'control', sockets = 32 } = {}) {
    const client = new Client(gateway.url(server), { sockets, pids: [gateway.pid] });
    const times = [];
    const bad = [];
    let running = true;
    const open = new Set();
    const one = async () => {
      const got = await client.call('echo', {}, { limitMs: 15_000 });
      if (got.end === 'ok') times.push(got.own);
      else bad.push(`${got.end} ${got.why ?? got.reason ?? ''}`.trim());
    };
    const loop = (async () => {
      for (let next = performance.now(); running; next = Math.max(next + 1000 / rps, performance.now() - 100)) {
        await delay(Math.max(0, next - performance.now()));
        const call = one().finally(() => open.delete(call));
        open.add(call);
      }
    })();
    return {
      stop: async ({ judge = true } = {}) => {
        running = false;
        await loop;
        await Promise.all(open);
        client.close();
        const p50 = quantile(times, 0.5);
        const p99 = quantile(times, 0.99);
        if (judge) this.check(`control ${times.length} calls, ${bad.length} failed${bad[0] ? ` (${bad[0]})` : ''}`, bad.length === 0 && times.length > 0);
        return { calls: times.length, bad, p50, p99 };
      },
    };
  }

  /** The control's p99 without a fault, for what may be at most twice as slow. */
  async calm(gateway, seconds = this.quick ? 0.5 : 2) {
    const control = this.control(gateway, { rps: 100 });
    await delay(seconds * 1000);
    return (await control.stop({ judge: false })).p99;
  }

  /** At most twice the base, with a floor below which a shared machine says nothing. */
  p99(control, base) {
    const most = Math.max(2 * base, this.sanitized ? 1000 : this.quick ? 100 : 50);
    this.check(`control p99 ${ms(control.p99)} (base ${ms(base)})`, control.p99 <= most);
  }

  async freePort() {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    server.close();
    await once(server, 'close');
    return port;
  }

  /** After the fault: alive, serving, fds and processes back, no zombie. */
  async finish() {
    for (const client of this.clients) client.close();
    for (const gateway of this.watched) {
      if (!gateway.alive) {
        this.check(`the gateway ended: ${gateway.end}: ${gateway.log.slice(-400)}`, false);
        continue;
      }
      const client = new Client(gateway.url('control'));
      const { end } = await client.call('echo');
      client.close();
      if (end !== 'ok') this.check(`control afterwards: ${end}`, false);
      const more = await gateway.settled(gateway.settleMs);
      if (more) this.check(`not back to base: ${more}`, false);
      const dead = zombies(gateway.pid);
      if (dead.length) this.check(`${dead.length} zombies`, false);
      if (/AddressSanitizer|runtime error:/.test(gateway.log)) this.check('a sanitizer reported', false);
    }
  }

  async clean() {
    this.delays.disable();
    if (this.late > 20) this.note(`this machine was up to ${ms(this.late)} late`);
    for (const client of this.clients) client.close();
    for (const cleanup of this.cleanups.reverse()) {
      await bounded((async () => cleanup())(), CLEANUP_MS, 'a clean-up').catch((error) =>
        this.check(`clean-up: ${error.message}`, false),
      );
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
