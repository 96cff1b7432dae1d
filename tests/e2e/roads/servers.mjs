// The servers behind the roads: of either era, over stdio (a process that relays to here) or HTTP. They keep everything they
// get, and play what a cell wants of the calls with its tag.
import { createServer } from 'node:http';
import { createServer as createHub } from 'node:net';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { deferred, Inbox } from '../lib/events.mjs';
import { idKey, lines, write } from './raw.mjs';

export const MODERN = '2026-07-28';
export const LEGACY = '2025-11-25';
export const META = 'io.modelcontextprotocol/';
const ID = `${META}subscriptionId`;
const OLD = ['2024-11-05', '2025-03-26', '2025-06-18', LEGACY];
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  logging: {},
  completions: {},
};
export const TOOLS = ['t', 't_request', 't_max', 't_progress', 't_denied', 't_rate_legacy', 't_rate_modern'];
const RELAY = fileURLToPath(new URL('./relay.mjs', import.meta.url));
const CALLS = new Set(['tools/call', 'prompts/get', 'resources/read', 'completion/complete']);

/** A call that the server got. A cell's play answers it. */
export class Call {
  constructor(server, peer, channel, message, text, headers) {
    Object.assign(this, { server, peer, channel, message, text, headers, ended: false, cancels: [], at: Date.now() });
    this.id = message.id;
    this.params = message.params ?? {};
    this.tag = this.params.arguments?.tag ?? this.params._meta?.tag ?? /tag=([\w.-]+)/.exec(this.params.uri ?? '')?.[1];
    this.token = this.params._meta?.progressToken;
    this.gone = deferred();
  }

  toJSON() {
    return `${this.message.method} ${this.tag}`; // where an error says what there was
  }

  notify(method, params) {
    this.channel.send(write({ jsonrpc: '2.0', method, params }));
  }

  progress(progress, more = {}) {
    this.notify('notifications/progress', { progressToken: this.token, progress, ...more });
  }

  /** `result` may hold Raws, or be one. */
  answer(result = { content: [{ type: 'text', text: 'done' }] }) {
    if (this.ended) return;
    this.ended = true;
    const modern = this.server.era === 'modern' && result.constructor === Object && !result.resultType;
    const whole = modern ? { resultType: 'complete', ...result } : result;
    this.channel.finish(`{"jsonrpc":"2.0","id":${JSON.stringify(this.id)},"result":${write(whole)}}`);
  }

  /** The client's answers, or undefined where they come with another call (2026-07-28). */
  async ask(questions) {
    if (this.server.era === 'modern') {
      if (this.params.inputResponses) return this.params.inputResponses;
      this.answer({ resultType: 'input_required', inputRequests: questions, requestState: `state of ${this.tag}` });
      return undefined;
    }
    const answers = Object.entries(questions).map(async ([key, { method, params }]) => {
      const id = `${key}-${(this.server.asked += 1)}`;
      const answered = deferred();
      this.peer.questions.set(id, answered);
      this.channel.send(write({ jsonrpc: '2.0', id, method, params }));
      return [key, await answered.promise];
    });
    return Object.fromEntries(await Promise.all(answers));
  }

  cancelled(how, params) {
    this.cancels.push({ how, params });
    this.gone.resolve({ how, params });
  }
}

/** A process, or a session or client over HTTP. */
class Peer {
  constructor(more) {
    Object.assign(this, { calls: new Map(), questions: new Map(), watched: new Set(), ...more });
  }

  toJSON() {
    return this.number;
  }
}

export class Server {
  /** silent: no handshake is ever answered; slowMs: … is answered so late; holds: a method that is not answered. */
  constructor(name, era, over, { silent = false, slowMs = 0, holds } = {}) {
    Object.assign(this, { name, era, over, silent, slowMs, holds, asked: 0, sessions: 0 });
    this.calls = new Inbox();
    this.got = new Inbox(); // every message and every request without one
    this.plays = new Map();
    this.peers = new Set();
    this.listens = new Set();
    this.wishes = new Inbox(); // listens, as they come
    this.ends = []; // of peers, as they were seen here
  }

  /** The script of calls with this tag; a call without one waits. */
  play(tag, how) {
    this.plays.set(tag, how);
  }

  callOf(tag, nth = 0) {
    return this.calls.when((all) => all.filter((call) => call.tag === tag)[nth], `a call of ${tag} at the server ${this.name}`);
  }

  /** The listen to this URI, other than `since`. */
  watcher(uri, since) {
    const listens = () => [...this.listens.values()].find((one) => one !== since && one.wish.resourceSubscriptions?.includes(uri));
    const peers = () => [...this.peers].find(({ watched, tell }) => tell && watched.has(uri));
    return this.wishes.when(this.era === 'modern' ? listens : peers, `a listen for ${uri} at the server ${this.name}`);
  }

  /** Notifies the listens to it that the tools changed. */
  toolsChanged() {
    this.tell('notifications/tools/list_changed', {}, (wish) => wish.toolsListChanged, () => true);
  }

  /** `of`: a listen to another URI gets this one. */
  updated(uri, { of = uri } = {}) {
    this.tell(
      'notifications/resources/updated',
      { uri },
      (wish) => wish.resourceSubscriptions?.includes(of),
      (peer) => peer.watched.has(of),
    );
  }

  tell(method, params, wished, watches) {
    if (this.era === 'modern')
      for (const { id, wish, channel } of this.listens.values())
        if (wished(wish)) channel.send(write({ jsonrpc: '2.0', method, params: { ...params, _meta: { [ID]: id } } }));
    if (this.era === 'legacy')
      for (const peer of this.peers) if (watches(peer)) peer.tell?.(write({ jsonrpc: '2.0', method, params }));
  }

  take(peer, text, channel, headers = {}) {
    const message = JSON.parse(text);
    this.got.put({ peer, message, text, headers });
    const { id, method, params } = message;
    if (method !== undefined && method === this.holds) return undefined;
    const result = (value) => channel.finish(write({ jsonrpc: '2.0', id, result: value }));
    if (method === undefined) return peer.questions.get(id)?.resolve(message.result ?? { error: message.error });
    if (id === undefined) return this.note(peer, method, params);
    const begin = (value) => this.silent || (this.slowMs ? setTimeout(() => result(value), this.slowMs) : result(value));
    const refuse = () => channel.finish(write({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }), 404);
    const unknown = () => this.silent || (this.slowMs ? setTimeout(refuse, this.slowMs) : refuse());
    if (CALLS.has(method)) return this.called(new Call(this, peer, channel, message, text, headers));
    const more = this.era === 'modern' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {};
    if (method === 'tools/list') return result({ tools: TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } })), ...more });
    if (method === 'prompts/list') return result({ prompts: [{ name: 'p' }], ...more });
    if (method === 'resources/list') return result({ resources: [{ uri: 'file:///a', name: 'a' }], ...more });
    if (method === 'resources/templates/list') return result({ resourceTemplates: [], ...more });
    if (this.era === 'modern') {
      if (method === 'subscriptions/listen') return this.listened(peer, id, params, channel);
      if (method !== 'server/discover') return unknown();
      const _meta = { [`${META}serverInfo`]: { name: 'roads', version: '1' } };
      return begin({ ...more, supportedVersions: [MODERN], capabilities: CAPABILITIES, _meta });
    }
    if (method === 'initialize') {
      const protocolVersion = OLD.includes(params.protocolVersion) ? params.protocolVersion : LEGACY;
      peer.capabilities = params.capabilities;
      return begin({ protocolVersion, capabilities: CAPABILITIES, serverInfo: { name: 'roads', version: '1' } });
    }
    if (method === 'resources/subscribe') {
      peer.watched.add(params.uri);
      this.wishes.put(params.uri);
    }
    if (method === 'resources/unsubscribe') peer.watched.delete(params.uri);
    if (['ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'].includes(method)) return result({});
    return unknown();
  }

  note(peer, method, params) {
    if (method !== 'notifications/cancelled') return;
    const key = idKey(params?.requestId);
    peer.calls.get(key)?.cancelled('message', params);
    this.forget((listen) => listen.peer === peer && idKey(listen.id) === key);
  }

  forget(fits) {
    for (const listen of [...this.listens].filter(fits)) this.listens.delete(listen);
  }

  called(call) {
    call.peer.calls.set(idKey(call.id), call);
    call.channel.call = call;
    this.calls.put(call);
    const how = this.plays.get(call.tag);
    if (how) Promise.resolve(how(call)).catch((error) => call.answer({ content: [], playFailed: error.message }));
    else if (call.tag === undefined) call.answer(call.message.method === 'prompts/get' ? { messages: [] } : undefined);
  }

  listened(peer, id, params, channel) {
    const wish = params.notifications ?? {};
    const listen = { id, wish, channel, peer };
    this.listens.add(listen);
    channel.gone = () => this.listens.delete(listen);
    const acknowledged = { notifications: wish, _meta: { [ID]: id } };
    channel.send(write({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: acknowledged }));
    this.wishes.put(wish);
  }

  /** Ends a listen as servers do, gracefully. */
  endListen(listen) {
    this.listens.delete(listen);
    const { id, channel } = listen;
    channel.finish(write({ jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: { [ID]: id } } }));
  }

  // ---- stdio

  joined(socket, { pid, form }) {
    const send = (text) => socket.writable && socket.write(`${text}\n`);
    const peer = new Peer({ number: (this.sessions += 1), pid, form, tell: send, die: () => socket.end() });
    this.peers.add(peer);
    const channel = { send, finish: send };
    return {
      line: (text) => this.take(peer, text, channel),
      end: () => {
        this.peers.delete(peer);
        this.ends.push(peer);
        this.forget((listen) => listen.peer === peer);
      },
    };
  }

  /** Its entry of a configuration. */
  config(more = {}, form = 0) {
    if (this.over === 'http') return { url: this.url, headers: { 'X-Form': `${form}` }, ...more };
    return { command: process.execPath, args: [RELAY, this.key], env: { ROADS_HUB: this.hub, ROADS_FORM: `${form}` }, ...more };
  }

  // ---- HTTP

  async listen(port = 0) {
    this.http = createServer((request, response) => this.serve(request, response).catch(() => response.destroy()));
    this.http.keepAliveTimeout = 60_000;
    this.http.listen(port, '127.0.0.1');
    await once(this.http, 'listening');
    this.port = this.http.address().port;
    this.url = `http://127.0.0.1:${this.port}/mcp`;
    this.alone = new Peer({ number: 0 });
    this.known = new Map();
  }

  async serve(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const session = request.headers['mcp-session-id'];
    let peer = this.era === 'legacy' && session ? this.known.get(session) : this.alone;
    if (!peer) return response.writeHead(404).end();
    if (request.method !== 'POST') {
      this.got.put({ peer, http: request.method, headers: request.headers });
      if (this.era === 'modern') return response.writeHead(405).end();
      if (request.method === 'DELETE') {
        this.known.delete(session);
        this.peers.delete(peer);
        this.ends.push(peer);
        return response.writeHead(200).end();
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      peer.tell = (text) => response.write(`data: ${text}\n\n`);
      this.wishes.put('GET');
      return;
    }
    const text = Buffer.concat(chunks).toString();
    const message = JSON.parse(text);
    if (message.method === undefined || message.id === undefined) {
      response.writeHead(202).end();
      return this.take(peer, text, undefined, request.headers);
    }
    const head = {};
    if (this.era === 'legacy' && message.method === 'initialize' && !this.silent) {
      const id = `s-${this.name}-${(this.sessions += 1)}`;
      peer = new Peer({ number: this.sessions });
      this.known.set(id, peer);
      this.peers.add(peer);
      head['mcp-session-id'] = id;
    }
    const channel = this.channelOf(response, head);
    response.on('close', () => {
      const { call } = channel; // not by its id: several Linewards may be there
      if (this.era === 'modern' && call && !response.writableFinished) call.cancelled('closed');
      if (call) call.closed = true;
      channel.gone?.();
    });
    return this.take(peer, text, channel, request.headers);
  }

  channelOf(response, head) {
    const { era } = this;
    const event = (text) => response.write(`data: ${text}\n\n`);
    return {
      send(text) {
        if (!response.headersSent) response.writeHead(200, { ...head, 'content-type': 'text/event-stream' });
        return event(text);
      },
      finish(text, status = 200) {
        if (response.headersSent) {
          event(text);
          return response.end();
        }
        // Only 2026-07-28 has statuses of its own for errors.
        response.writeHead(era === 'modern' ? status : 200, { ...head, 'content-type': 'application/json' });
        return response.end(text);
      },
      drained: () => (response.writableNeedDrain ? once(response, 'drain') : undefined),
      die: () => response.destroy(),
    };
  }

  /** Ends all connections, and with them whatever is under way; it can be reached again at once. */
  die() {
    if (this.over === 'stdio') for (const peer of this.peers) peer.die();
    else {
      this.known.clear();
      this.peers.clear();
      this.http.closeAllConnections();
    }
  }

  async end() {
    this.http?.closeAllConnections();
    this.http?.close();
  }
}

/** The entry of the processes of all stdio servers. */
export async function startHub(path) {
  const servers = new Map();
  const hub = createHub((socket) => {
    let seat;
    socket.on('error', () => {});
    socket.on('close', () => seat?.end());
    lines(socket, (line) => {
      if (seat) return seat.line(line);
      const hello = JSON.parse(line);
      const server = servers.get(hello.server);
      if (!server) return socket.destroy();
      seat = server.joined(socket, hello);
    });
  });
  hub.listen(path);
  await once(hub, 'listening');
  return {
    async server(name, kind, more) {
      const [era, over] = kind.split('-');
      const server = new Server(name, era, over, more);
      if (over === 'http') await server.listen();
      server.hub = path;
      server.key = `${name}.${servers.size}`;
      servers.set(server.key, server);
      return server;
    },
    end: () => hub.close(),
  };
}
