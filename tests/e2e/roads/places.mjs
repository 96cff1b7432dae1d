// A place is what cells share: servers, Lineward in front of them on one road, and clients. `VARIANTS` says how the server
// that the cells are about is configured, `ROADS` how Lineward stands before it.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { get } from '../lib/operator.mjs';
import { HttpClient, SseClient, StdioClient } from './clients.mjs';
import { Gateway } from './gateway.mjs';

/** Limits in ms, used by what is expected too. All servers, clients and cells share one event loop: it may be late by a second. */
export const MS = { request: 1500, max: 3000, queue: 800, startup: 1500, slow: 2200, own: 600 };
export const BODY = 4096; // limits.maxRequestBytes
const ms = (n) => `${n}ms`;

/** name: of the server; `has`: its configuration; `flags`: the same for `lineward stdio`; `server`: of the fixture. */
export const VARIANTS = {
  main: {
    name: 'alpha',
    has: {
      methods: {
        'prompts/get': { timeouts: { request: ms(MS.own) } },
        'resources/read': { timeouts: { request: ms(MS.request), maxDuration: ms(MS.max) } },
      },
      tools: {
        deny: ['t_denied'],
        overrides: {
          t_request: { timeouts: { request: ms(MS.own) } },
          t_max: { timeouts: { request: ms(MS.request), maxDuration: ms(MS.max) } },
          t_progress: { timeouts: { request: ms(MS.request) } },
        },
      },
    },
    plugins: [{ rateLimit: { key: 'tool', requests: 2, per: '1h', tools: ['t_rate_*'] }, servers: ['alpha'] }],
    flags: [],
  },
  limited: {
    name: 'beta',
    has: { timeouts: { request: ms(MS.request), maxDuration: ms(MS.max) } },
    flags: ['--timeout', ms(MS.request), '--max-duration', ms(MS.max)],
  },
  queued: { name: 'gamma', has: { limits: { maxInFlight: 1, queueTimeout: ms(MS.queue) } } },
  silent: { name: 'delta', has: { timeouts: { startup: ms(MS.startup) } }, server: { silent: true } },
  slow: {
    name: 'epsilon',
    has: { timeouts: { startup: '60s', request: ms(MS.request) } },
    flags: ['--timeout', ms(MS.request)],
    server: { slowMs: MS.slow },
  },
  holding: { name: 'eta', has: { timeouts: { request: ms(MS.request) } }, flags: ['--timeout', ms(MS.request)], server: { holds: 'tools/list' } },
  changing: { name: 'theta', has: {} },
  small: { name: 'iota', has: { limits: { maxRequestBytes: `${BODY}` } } },
  never: { name: 'kappa', has: { cancel: 'never' } },
  mortal: { name: 'zeta', has: { restart: { backoff: '50ms' } }, flags: [] },
};

const SETTINGS = {
  listen: { address: '127.0.0.1:0', resumeWindow: '1s', legacySse: true },
  shutdown: { drain: '1s' },
  log: { format: 'logfmt' },
};
// All begin at once: before a server that is still starting, a listen would be acknowledged without it.
const DEFAULTS = { timeouts: { acknowledge: '15s' } };
const FRONT = ['--log-level', 'info', '--log-format', 'logfmt'];

let folders = 0;

export class Place {
  constructor(hub, base, road, kind, variant) {
    Object.assign(this, { hub, road, kind, variant, clients: {}, gateways: [], files: [], form: 0 });
    const [era, over] = kind.split('-');
    Object.assign(this, { era, over });
    this.folder = join(base, `p${(folders += 1)}`);
    mkdirSync(this.folder);
    this.socket = join(this.folder, 'admin.sock');
    this.what = VARIANTS[variant];
    this.upstream = this.what.name;
    this.has = this.what.has;
  }

  /** Whether clients see HTTP's statuses for their calls. */
  get http() {
    return !this.road.client;
  }

  async start() {
    const { name, server } = this.what;
    this.server = await this.hub.server(name, this.kind, server);
    this.servers = [this.server];
    if (this.road.many) {
      this.other = await this.hub.server('other', 'modern-http');
      this.servers.push(this.other);
    }
    await this.road.stand(this);
    return this;
  }

  nameOf(tool) {
    return this.road.prefixed ? `${this.upstream}__${tool}` : tool;
  }

  uriOf(uri) {
    return this.road.prefixed ? `${this.upstream}+${uri}` : uri;
  }

  /** The configuration file: the server that the cells are about comes first, so with two workers it lives on the second. */
  text(more = {}) {
    const mcpServers = { [this.upstream]: this.server.config(this.has, this.form) };
    if (this.other) mcpServers.other = this.other.config();
    return JSON.stringify({ defaults: DEFAULTS, ...(this.what.plugins && { plugins: this.what.plugins }), ...more, mcpServers });
  }

  write(more, file = 'lineward.json') {
    const path = join(this.folder, file);
    writeFileSync(`${path}.new`, this.text(more));
    renameSync(`${path}.new`, path);
    return path;
  }

  async run(more = {}, file) {
    this.more = { ...SETTINGS, ops: { address: `unix:${this.socket}.ops` }, admin: { address: `unix:${this.socket}` }, ...more };
    this.files.push({ more: this.more, file });
    const gateway = new Gateway(['run', this.write(this.more, file)]);
    gateway.socket = this.more.admin.address.slice('unix:'.length);
    this.gateways.push(gateway);
    await gateway.listening();
    return gateway;
  }

  /** `lineward stdio`, one for each client. */
  front() {
    const socket = join(this.folder, `s${this.gateways.length}.sock`);
    const target = this.road.target(this);
    const options = ['--admin', `unix:${socket}`, '--ops', `unix:${socket}.ops`, ...FRONT];
    const gateway = new Gateway(['stdio', ...options, ...target], { stdio: true, env: { LINEWARD_SHUTDOWN_DRAIN: '1s' } });
    gateway.socket = socket;
    this.gateways.push(gateway);
    return gateway;
  }

  fileOfFront() {
    return this.write();
  }

  async newClient(era, options = {}) {
    const Kind = this.road.client ?? HttpClient;
    const client = new Kind(this, era, options);
    try {
      return await client.start();
    } catch (error) {
      await client.close().catch(() => {});
      throw error;
    }
  }

  /** A client of an era, for cells that do not end it. */
  client(era) {
    this.clients[era] ??= this.newClient(era);
    return this.clients[era];
  }

  /** The gateways that may serve this client: its own, or all. */
  gatewaysOf(client) {
    return client.process ? [client.process] : this.gateways;
  }

  /** The row of `lineward ps` for the call of a tool, and cancel() for it. */
  async shown(client, tool) {
    for (const { socket } of this.gatewaysOf(client).toReversed()) {
      const { calls } = JSON.parse((await get(socket, '/api/v1/calls')).body);
      const call = calls.find(({ target }) => target.endsWith(tool));
      const path = `/api/v1/calls/${call?.id}/cancel`;
      const body = JSON.stringify({ reason: 'wrong repo' });
      const how = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
      if (call) return { ...call, cancel: () => get(socket, path, how) };
    }
    throw new Error('ps does not show the call');
  }

  logged(client, pattern) {
    return Promise.any(this.gatewaysOf(client).map((gateway) => gateway.line(pattern))).then(
      ([line]) => line,
      ({ errors }) => Promise.reject(errors[0]),
    );
  }

  async metrics(client) {
    const texts = this.gatewaysOf(client).map(async ({ socket }) => (await get(`${socket}.ops`, '/metrics')).body);
    return (await Promise.all(texts)).join('\n');
  }

  watched(uri, since) {
    return this.server.watcher(uri, since);
  }

  /** Events during a call, on the roads that have any. */
  async during() {
    if (this.road.during) await this.road.during(this);
  }

  /** Another form of the server itself: the old one finishes its calls. */
  reload() {
    this.form += 1;
    this.write(this.more);
    return this.readAgain(this.gateways);
  }

  /** Other options of the server, which count at once. */
  change(client, has) {
    this.has = has;
    if (client.process) this.write();
    else for (const { file, more } of this.files) this.write(more, file);
    return this.readAgain(this.gatewaysOf(client));
  }

  async readAgain(gateways) {
    const how = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
    for (const { socket } of gateways) {
      const { status, body } = await get(socket, '/api/v1/reload', how);
      if (status !== 200) throw new Error(`reload: ${status} ${body}`);
    }
  }

  async end() {
    const errors = [];
    const attempt = (what) => Promise.resolve().then(what).catch((error) => errors.push(error));
    await Promise.all(Object.values(this.clients).map((client) => attempt(async () => (await client.catch(() => {}))?.close())));
    await Promise.all(this.gateways.map((gateway) => attempt(() => gateway.stop())));
    for (const server of this.servers ?? []) await attempt(() => server.end());
    if (errors.length) throw errors[0];
  }
}

const passes = () => true;
const at = (path) => async (place) => {
  const gateway = await place.run();
  place.url = new URL(path.replace('NAME', place.upstream), gateway.url).href;
  place.sseUrl = new URL('/sse', gateway.url).href;
};

/** A Lineward that passes what is another's: clients begin at the first, and go on at the second. */
async function replicas(place) {
  const keys = join(place.folder, 'keys');
  writeFileSync(keys, 'wuWnmEBfyR6N8Vv3eEtcwVVl1vJ9tO+Tq0xVnDk0cX4=\n', { mode: 0o600 });
  const first = await place.run({ replicas: { keyFile: keys, name: 'a' } });
  const peers = { a: new URL(first.url).origin };
  const socket = join(place.folder, 'second.sock');
  const [admin, ops] = [{ address: `unix:${socket}` }, { address: `unix:${socket}.ops` }];
  const second = await place.run({ replicas: { keyFile: keys, name: 'b', peers }, admin, ops }, 'second.json');
  place.url = first.url;
  place.laterUrl = second.url;
}

/**
 * many: beside another server; prefixed: names are the aggregate's; route: what `call.end` says beside the server;
 * eras, kinds: which of them there are, else all.
 */
export const ROADS = [
  { name: 'one', stand: at('/mcp') },
  { name: 'named', many: true, stand: at('/mcp/NAME') },
  { name: 'aggregate', many: true, prefixed: true, route: '/mcp', stand: at('/mcp') },
  {
    name: 'aggregate-worker',
    many: true,
    prefixed: true,
    route: '/mcp',
    stand: async (place) => {
      place.url = (await place.run({ workers: 2 })).url;
    },
  },
  {
    name: 'stdio-command',
    front: true,
    flags: true,
    client: StdioClient,
    kinds: /stdio$/,
    stand: passes,
    target: ({ server, what, upstream }) => {
      const { command, args, env } = server.config();
      const words = Object.entries(env).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
      return ['--name', upstream, ...what.flags, ...words, '--', command, ...args];
    },
  },
  {
    name: 'stdio-url',
    front: true,
    flags: true,
    client: StdioClient,
    kinds: /http$/,
    stand: passes,
    target: ({ server, what, upstream }) => ['--name', upstream, ...what.flags, server.url],
  },
  {
    name: 'stdio-file',
    front: true,
    many: true,
    prefixed: true,
    route: '/mcp',
    client: StdioClient,
    stand: passes,
    target: (place) => [place.fileOfFront()],
  },
  { name: 'sse', client: SseClient, eras: /legacy/, stand: at('/mcp') },
  { name: 'replica', stand: replicas },
  { name: 'reload', reloads: true, stand: at('/mcp'), during: (place) => place.reload() },
];
