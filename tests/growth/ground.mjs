// The parts of rows: worlds (a gateway and its servers), requests of every kind of client, checked answers.
import { DISCOVERED, content, message, modern, post } from './wire.mjs';

/** Limits are out of the way: what is measured is growth up to them and beyond what they are by default. */
export const WIDE = {
  listen: { maxFields: 10000, maxHeadBytes: '1MiB', maxDepth: 1024, maxBodyBytes: '64MiB', headTimeout: '1m', maxBufferedBytes: '2GiB' },
};

/** A world with one server, of the given road and era, or what `more` says of the server and `config` of the rest. */
export const world = (server, config = {}, files) => ({
  servers: { up: { protocolEra: server.era === 'modern' || !server.era ? 'modern' : 'legacy', ...server } },
  config: { ...WIDE, ...config, listen: { ...WIDE.listen, ...config.listen } },
  files,
});

/** A world with many servers, by a function from their number's index to what they are. */
export const worldOf = (count, server, config = {}, files) => ({
  servers: Object.fromEntries(Array.from({ length: count }, (_, i) => [`s${i}`, { protocolEra: 'modern', ...server(i) }])),
  config: { ...WIDE, ...config, listen: { ...WIDE.listen, ...config.listen } },
  files,
});

export const repeat = (count, of) => Array.from({ length: count }, (_, i) => of(i));
export const joined = (count, of) => repeat(count, of).join(',');

/** An answer that is not what the row is about must not be measured as if it were. */
export function isResult({ status, head, body }) {
  const ends = `${body.subarray(0, 2000)}${body.subarray(-2000)}`;
  if (status !== 200 || !ends.includes('"result":')) throw new Error(`${status}: ${ends.slice(0, 300) || head}`);
}
export const isStatus = (...wanted) => ({ status, body }) => {
  if (!wanted.includes(status)) throw new Error(`${status}: ${body.subarray(0, 300)}`);
};
export const isError = ({ body }) => {
  if (!body.subarray(0, 4000).includes('"error":')) throw new Error(`no error: ${body.subarray(0, 300)}`);
};

/** Work: these bytes are sent over a connection of its own, and the answer is looked at. */
export async function asking(meter, bytes, judge = isResult) {
  const wire = await meter.connect();
  return async () => judge(await wire.ask(bytes));
}

/** Likewise with two heads in turns: one like the last is not read again (protocol/http/head_memo.h), and its cost would be hidden. */
export async function askingAnew(meter, path, head, judge = isResult) {
  const wire = await meter.connect();
  const both = ['a', 'b'].map((turn) => modern(path, 'tools/call', '"name":"t","arguments":{}', { head: `X-Turn: ${turn}\r\n${head}` }));
  let at = 0;
  return async () => judge(await wire.ask(both[(at ^= 1)]));
}

/** Likewise, the server answering `method` by `play`. */
export async function answering(meter, method, play, bytes, judge = isResult) {
  const ask = await asking(meter, bytes, judge);
  return () => {
    meter.server.on[method] = play;
    return ask();
  };
}

/** Work: messages over this connection, `of(i)` each, without waiting for one another's answers. */
export function inOneGo(wire, count, of, judge) {
  const bytes = Buffer.concat(repeat(count, of));
  return async () => {
    wire.send(bytes);
    for (let i = 0; i < count; ++i) judge(await wire.next());
  };
}

/** The same bytes over each of these connections at once. */
export async function allAsk(wires, bytes) {
  for (const wire of wires) wire.send(bytes);
  for (const wire of wires) isResult(await wire.next());
}

/** Whatever is listened to: the connection of a modern client on which the listen stands. */
export async function listening(meter, wishes) {
  const wire = await meter.connect();
  const there = wire.seen('subscriptions/acknowledged');
  wire.send(modern('/mcp', 'subscriptions/listen', `"notifications":{${wishes}}`, { id: '"l"' }));
  await there;
  return wire;
}
export const forUris = (list) => `"resourceSubscriptions":[${list}]`;

/** Work: the server says to its latest listen, which stands on `wire`, so often that `uri(i)` was updated. */
export function telling(meter, wire, count, uri) {
  const { message, say } = meter.server.listens.at(-1);
  const meta = `"_meta":{"io.modelcontextprotocol/subscriptionId":${message.id}}`;
  return async () => {
    const heard = wire.seen('resources/updated', count);
    for (let i = 0; i < count; ++i)
      say.message(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${uri(i)}",${meta}}}`);
    await heard;
  };
}

/** A client that speaks a legacy revision in a session of its own. */
export class LegacyClient {
  static async open(meter, { path = '/mcp', revision = '2025-11-25', capabilities = '{}', wire, headers = {} } = {}) {
    const client = new LegacyClient();
    client.path = path;
    client.revision = revision;
    client.wire = wire ?? (await meter.connect());
    client.extra = headers;
    const hello = `"protocolVersion":"${revision}","capabilities":${capabilities},"clientInfo":{"name":"growth","version":"1"}`;
    const answer = await client.wire.ask(post(path, message('initialize', hello, { id: '0' }), { headers }));
    isResult(answer);
    client.session = /\r\nmcp-session-id: *([^\r]+)/i.exec(answer.head)?.[1];
    isStatus(202)(await client.wire.ask(client.bytes('notifications/initialized', '', { id: null })));
    return client;
  }
  get headers() {
    return { 'MCP-Protocol-Version': this.revision, ...(this.session && { 'Mcp-Session-Id': this.session }), ...this.extra };
  }
  bytes(method, params, { id, ...more } = {}) {
    return post(this.path, message(method, params, { id }), { headers: this.headers, ...more });
  }
  raw(body, more = {}) {
    return post(this.path, body, { headers: this.headers, ...more });
  }
  async ask(method, params, options) {
    return this.wire.ask(this.bytes(method, params, options));
  }
}

/**
 * The roads that a message can take: the client's era, the server's, and how the server is reached. `open(meter)` gives
 * {bytes(method, params), ask}, alike for both eras of clients.
 */
export const ROADS = {
  'modern → HTTP': { world: world({ era: 'modern' }), client: 'modern' },
  'modern → stdio': { world: world({ road: 'stdio', era: 'modern' }), client: 'modern' },
  'modern → legacy HTTP': { world: world({ era: 'legacy' }), client: 'modern' },
  'modern → legacy stdio': { world: world({ road: 'stdio', era: 'legacy' }), client: 'modern' },
  'modern → HTTP+SSE': { world: world({ road: 'sse', era: '2024-11-05' }), client: 'modern' },
  'legacy → HTTP': { world: world({ era: 'modern' }), client: 'legacy' },
  'legacy → legacy HTTP': { world: world({ era: 'legacy' }), client: 'legacy' },
  'legacy → legacy stdio': { world: world({ road: 'stdio', era: 'legacy' }), client: 'legacy' },
};

export async function clientOf(meter, era) {
  if (era === 'legacy') {
    const client = await LegacyClient.open(meter);
    return { wire: client.wire, bytes: (method, params, more) => client.bytes(method, params, more) };
  }
  return { wire: await meter.connect(), bytes: (method, params, more) => modern('/mcp', method, params, more) };
}

/** Work on one of the roads: a request, answered by `play` where there is one. */
export async function along(meter, road, method, params, play, judge = isResult) {
  const client = await clientOf(meter, road.client);
  const bytes = client.bytes(method, params);
  return async () => {
    if (play) meter.server.on[method] = play;
    judge(await client.wire.ask(bytes));
  };
}

export { DISCOVERED, content, message, modern, post };
