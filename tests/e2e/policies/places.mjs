// The places of the policies: Lineward with the rules, a server of an official SDK behind it, and clients on every road to
// it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HttpClient, SseClient, StdioClient } from '../roads/clients.mjs';
import { Gateway } from '../roads/gateway.mjs';

const SETTINGS = { listen: { address: '127.0.0.1:0', legacySse: true }, shutdown: { drain: '200ms' }, admin: 'off', ops: 'off' };
const RULES = [
  { toolFilter: { deny: ['secret_*'], prompts: { deny: ['secret_*'] }, resources: { deny: ['file:///secret/*'] } } },
  { rateLimit: { key: 'principal+tool', requests: 1, per: '1h', tools: ['rate_*'] } },
  { redact: { patterns: ['SECRET-[0-9]+'], where: 'wire' } },
];
// The hashes of "low-0123456789abcdef" and "high-0123456789abcdef" are made by `lineward hash-key`.
export const KEYS = { low: 'low-0123456789abcdef', high: 'high-0123456789abcdef' };
const auth = (hashes, anonymous) => ({
  anonymous,
  apiKey: { keys: [`low sha256:${hashes.low} use`, `high sha256:${hashes.high} use admin`], toolScopes: { 'secret_*': 'admin' } },
});

/** The rules of a place, and the roads on which it is asked. */
export const POLICIES = [
  { name: 'rules', config: () => ({ plugins: RULES }), kinds: /./, roads: /./, methods: /./ },
  { name: 'scopes', config: (hashes) => ({ auth: auth(hashes, false) }), key: KEYS.low, kinds: /legacy-stdio|modern-http/, roads: /^(one|named|aggregate)$/, methods: /^tools/, tasks: true },
  { name: 'anonymous', config: (hashes) => ({ auth: auth(hashes, true) }), kinds: /legacy-http|modern-stdio/, roads: /^(one|named|aggregate|sse)$/, methods: /^tools/ },
];

/** many: beside another server. Checks of one place share a Lineward. */
export const ROADS = [
  { name: 'one', path: '/mcp' },
  { name: 'sse', path: '/sse', client: SseClient, eras: /legacy/ },
  { name: 'named', many: true, path: '/mcp/alpha' },
  { name: 'aggregate', many: true, prefixed: true, path: '/mcp' },
  { name: 'stdio', client: StdioClient },
  { name: 'stdio of many', many: true, prefixed: true, client: StdioClient },
];

let places = 0;

export class Place {
  constructor(judge, base, policy, kind, many, shared) {
    Object.assign(this, { judge, policy, kind, many, shared, gateways: [], clients: [], heard: [], granted: new Set() });
    this.name = `${policy.name}-${kind}-${many ? 'many' : 'one'}`;
    [this.era, this.over] = kind.split('-');
    this.folder = join(base, `p${(places += 1)}`);
    mkdirSync(this.folder);
    this.roads = ROADS.filter((road) => Boolean(road.many) === many && policy.roads.test(road.name));
  }

  async start() {
    const own = this.policy.config(this.shared.hashes);
    let alpha = { ...this.judge.command(this.era), env: this.judge.env(this.name) };
    if (this.over === 'http') {
      this.server = await this.judge.http(this.era, this.name);
      alpha = { url: this.server.url };
    }
    const mcpServers = { alpha: { ...alpha, limits: { maxInFlight: 64, maxQueue: 4096 } }, ...(this.many && { other: { url: this.shared.other.url } }) };
    this.config = { ...SETTINGS, ...own, mcpServers };
    this.file = join(this.folder, 'lineward.json');
    writeFileSync(this.file, JSON.stringify(this.config));
    if (this.roads.some(({ path }) => path)) {
      this.gateway = new Gateway(['run', this.file, '--log-level', 'info']);
      this.gateways.push(this.gateway);
      await this.gateway.listening();
    }
    return this;
  }

  front() {
    const file = join(this.folder, 'front.json');
    writeFileSync(file, JSON.stringify({ ...this.config, listen: undefined }));
    const gateway = new Gateway(['stdio', file], { stdio: true });
    this.gateways.push(gateway);
    return gateway;
  }

  /** A client on a road; everything that it hears is kept. */
  async client(road, era, { capabilities = {}, key = this.policy.key } = {}) {
    const Kind = road.client ?? HttpClient;
    const url = road.path && new URL(road.path, this.gateway.url).href;
    const place = { url, sseUrl: url, road, front: () => this.front(), nameOf: (name) => (road.prefixed ? `alpha__${name}` : name) };
    const client = new Kind(place, era, { capabilities });
    client.more = key ? { 'X-API-Key': key } : {};
    client.oneStream = Kind !== HttpClient;
    this.tap(client);
    this.clients.push(client);
    await client.start();
    return client;
  }

  tap(client) {
    const { exchange, heard, headers } = client;
    if (headers) client.headers = (...all) => ({ ...headers.apply(client, all), ...client.more });
    if (exchange)
      client.exchange = (method, fields, body, onResponse, onError) =>
        exchange.call(client, method, fields, body, (response) => {
          response.on('data', (piece) => this.heard.push(String(piece)));
          onResponse(response);
        }, onError);
    client.heard = (text) => {
      this.heard.push(text);
      return heard.call(client, text);
    };
  }

  async end() {
    const trouble = [];
    const attempt = (what) => Promise.resolve().then(what).catch((error) => trouble.push(error));
    await Promise.all(this.clients.map((client) => attempt(() => client.close())));
    await Promise.all(this.gateways.filter(({ told }) => !told).map((gateway) => attempt(() => gateway.stop())));
    await this.server?.end();
    if (trouble.length) throw trouble[0];
  }
}
