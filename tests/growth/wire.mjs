// Bare ends of a connection: a client and servers over HTTP, HTTP+SSE and stdio that send any bytes. They read only the id
// and the method of a message, so that a message of any size costs the test little.
import { createServer, connect } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { bounded } from '../e2e/lib/events.mjs';

const LIMIT_MS = 30_000;
const HEAD_LOOKED_AT = 4096;
const META = 'io.modelcontextprotocol/';
export const MODERN = '2026-07-28';

/** Reads HTTP/1.1 messages: heads, and bodies by length or in chunks. `on(part)` gets {head} at once and {head, body} at the end. */
class Reader {
  #pieces = [];
  #size = 0;
  #head;
  #left = 0; // of a body with a length
  #chunks; // bodies' parts while there are chunks
  constructor(isRequest, { onHead, onBody, onPart }) {
    Object.assign(this, { isRequest, onHead, onBody, onPart });
  }

  #bytes() {
    if (this.#pieces.length > 1) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0] ?? Buffer.alloc(0);
  }
  #take(count) {
    const all = this.#bytes();
    this.#pieces = [all.subarray(count)];
    this.#size -= count;
    return all.subarray(0, count);
  }

  feed(bytes) {
    this.#pieces.push(bytes);
    this.#size += bytes.length;
    while (this.#step());
  }

  #step() {
    if (this.#head === undefined) {
      const end = this.#bytes().indexOf('\r\n\r\n');
      if (end < 0) return false;
      this.#head = this.#take(end + 4).toString('latin1');
      this.#chunks = /\r\ntransfer-encoding:[^\r]*chunked/i.test(this.#head) ? [] : undefined;
      this.#left = this.#chunks ? 0 : Number(/\r\ncontent-length: *(\d+)/i.exec(this.#head)?.[1] ?? 0);
      this.onHead?.(this.#head);
      return true;
    }
    if (!this.#chunks) {
      if (this.#size < this.#left) return false; // pieces stay apart until all are there
      this.#done(this.#take(this.#left));
      return true;
    }
    if (this.#left > 0) {
      if (this.#size < this.#left + 2) return false;
      const part = this.#take(this.#left + 2).subarray(0, -2);
      this.#left = 0;
      this.onPart?.(part);
      this.#chunks.push(part);
      return true;
    }
    const all = this.#bytes();
    const end = all.indexOf('\r\n');
    if (end < 0) return false;
    const size = parseInt(all.subarray(0, end).toString('latin1'), 16);
    if (size === 0) {
      if (this.#size < end + 4) return false;
      this.#take(end + 4);
      this.#done(Buffer.concat(this.#chunks));
      return true;
    }
    this.#take(end + 2);
    this.#left = size;
    return true;
  }

  #done(body) {
    const head = this.#head;
    this.#head = this.#chunks = undefined;
    this.onBody(head, body);
  }
}

/** A client's connection. Answers come in order; `next()` is the next whole one, `seen()` waits within one that goes on. */
export class Wire {
  #answers = [];
  #waiting = [];
  #text = '';
  #watch;
  /** `where`: {port, host} or {path}. */
  static async connect(where) {
    const wire = new Wire();
    wire.socket = connect({ ...where, noDelay: true });
    wire.closed = false;
    wire.reader = new Reader(false, {
      onHead: (head) => (wire.head = head),
      onPart: (part) => wire.#part(part),
      onBody: (head, body) => wire.#whole({ status: Number(head.slice(9, 12)), head, body }),
    });
    wire.socket.on('data', (bytes) => wire.reader.feed(bytes));
    wire.socket.on('error', () => {});
    wire.socket.on('close', () => {
      wire.closed = true;
      for (const { reject } of wire.#waiting) reject(new Error('the connection was closed'));
      wire.#watch?.reject(new Error('the connection was closed'));
    });
    await bounded(once(wire.socket, 'connect'), LIMIT_MS, 'a connection');
    return wire;
  }

  #whole(answer) {
    const first = this.#waiting.shift();
    if (first) first.resolve(answer);
    else this.#answers.push(answer);
  }

  #part(part) {
    if (!this.#watch) return;
    this.#text += part.toString('latin1');
    for (let at; (at = this.#text.indexOf(this.#watch.needle)) >= 0; ) {
      this.#text = this.#text.slice(at + this.#watch.needle.length);
      if (--this.#watch.times > 0) continue;
      this.#watch.resolve();
      this.#watch = undefined;
      return;
    }
    this.#text = this.#text.slice(-this.#watch.needle.length);
  }

  send(bytes) {
    this.socket.write(bytes);
  }
  next() {
    if (this.#answers.length) return Promise.resolve(this.#answers.shift());
    if (this.closed) return Promise.reject(new Error('the connection was closed'));
    const answer = new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    return bounded(answer, LIMIT_MS, 'an answer');
  }
  /** Until `needle` has come so many times in an answer in chunks, from now on. */
  seen(needle, times = 1) {
    this.#text = '';
    const there = new Promise((resolve, reject) => (this.#watch = { needle, times, resolve, reject }));
    return bounded(there, LIMIT_MS, `${times} × ${needle}`);
  }
  async ask(bytes) {
    this.send(bytes);
    return this.next();
  }
  close() {
    this.socket.destroy();
  }
}

const fields = (headers) => Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('');

/** The bytes of a POST. `head` are more header lines, each with its line end. */
export function post(path, body, { headers = {}, head = '', chunk } = {}) {
  const bytes = Buffer.from(body);
  const length = chunk ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes.length}`;
  const start = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n${fields(headers)}${head}${length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(start, 'latin1'), chunk ? chunked(bytes, chunk) : bytes]);
}

export function chunked(bytes, size) {
  const parts = [];
  for (let at = 0; at < bytes.length; at += size) {
    const part = bytes.subarray(at, at + size);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

/** A message on an event stream that has begun. */
export const event = (text) => chunkOf(`data: ${text}\n\n`);
/** The text of a message; params is the inside of its object. Modern ones have the members of _meta that they must have. */
export const message = (method, params = '', { id = '1' } = {}) =>
  `{"jsonrpc":"2.0",${id === undefined || id === null ? '' : `"id":${id},`}"method":"${method}","params":{${params}}}`;
export const meta = (more = '', capabilities = '{}') =>
  `"_meta":{"${META}protocolVersion":"${MODERN}","${META}clientInfo":{"name":"growth","version":"1"},"${META}clientCapabilities":${capabilities}${more && ','}${more}}`;

/** A request of 2026-07-28 with the headers that repeat it. `rest` is what params have beside _meta. */
export function modern(path, method, rest = '', { id, more = '', capabilities, headers = {}, ...others } = {}) {
  const name = /^"(?:name|uri)":"((?:[^"\\]|\\.)*)"/.exec(rest)?.[1];
  const named = name !== undefined && /^(tools\/call|prompts\/get|resources\/read)$/.test(method);
  return post(path, message(method, `${rest}${rest && ','}${meta(more, capabilities)}`, { id }), {
    headers: { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': method, ...(named && { 'Mcp-Name': name }), ...headers },
    ...others,
  });
}

export const DISCOVERED = `{"resultType":"complete","supportedVersions":["${MODERN}"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}},"ttlMs":0,"cacheScope":"private","_meta":{"${META}serverInfo":{"name":"growth","version":"1"}}}`;
const initialized = (revision) =>
  `{"protocolVersion":"${revision}","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}},"serverInfo":{"name":"growth","version":"1"}}`;
export const content = (text = 'done') => `{"content":[{"type":"text","text":"${text}"}],"resultType":"complete"}`;
export const listed = (name, items) => `{"${name}":[${items}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`;

/**
 * The messages of a server, over any transport. `on[method](message, say)` answers a method; message has text, id and method,
 * say has result(text), error(text) and message(text) for whatever comes before or beside the answer.
 */
class Server {
  constructor({ era = 'modern' } = {}) {
    this.era = era;
    this.restore();
  }

  /** Everything as it was before a row changed it. */
  restore() {
    const legacy = this.era !== 'modern';
    const refused = (_, say) => say.error('{"code":-32601,"message":"Method not found"}');
    this.on = {
      'server/discover': legacy ? refused : (_, say) => say.result(DISCOVERED),
      initialize: legacy ? (_, say) => say.result(initialized(this.era === 'legacy' ? '2025-11-25' : this.era)) : refused,
      ping: (_, say) => say.result('{}'),
      'tools/list': (_, say) => say.result(listed('tools', '{"name":"t","inputSchema":{"type":"object"}}')),
      'prompts/list': (_, say) => say.result(listed('prompts', '')),
      'resources/list': (_, say) => say.result(listed('resources', '')),
      'resources/templates/list': (_, say) => say.result(listed('resourceTemplates', '')),
      'tools/call': (_, say) => say.result(content()),
      'prompts/get': (_, say) => say.result('{"messages":[],"resultType":"complete"}'),
      'resources/read': (_, say) => say.result('{"contents":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}'),
      'resources/subscribe': (_, say) => say.result('{}'),
      'resources/unsubscribe': (_, say) => say.result('{}'),
      'logging/setLevel': (_, say) => say.result('{}'),
      'completion/complete': (_, say) => say.result('{"completion":{"values":[]},"resultType":"complete"}'),
      'subscriptions/listen': (message, say) => {
        this.listens.push({ message, say });
        say.message(
          `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":${asked(message.text)},"_meta":{"${META}subscriptionId":${message.id}}}}`,
        );
      },
    };
    this.listens = [];
    this.answered = undefined; // called for an answer to a question, over stdio
  }

  handle(text, sayOf) {
    const head = text.subarray(0, HEAD_LOOKED_AT).toString('latin1');
    const tail = text.length > HEAD_LOOKED_AT ? text.subarray(-HEAD_LOOKED_AT).toString('latin1') : '';
    const find = (pattern) => (pattern.exec(head) ?? pattern.exec(tail))?.[1];
    const method = find(/"method":"([^"]+)"/);
    const id = find(/"id":("[^"]*"|-?\d+)/);
    this.heard = (this.heard ?? 0) + 1;
    if (id === undefined || method === undefined) return sayOf.none(method === undefined);
    const say = sayOf(id, method);
    const play = this.on[method];
    if (play) play({ text, id, method }, say);
    else say.error('{"code":-32601,"message":"Method not found"}');
  }
}

const asked = (text) => JSON.stringify(JSON.parse(text.toString()).params?.notifications ?? {});
const resultOf = (id, text) => `{"jsonrpc":"2.0","id":${id},"result":${text}}`;
const errorOf = (id, text) => `{"jsonrpc":"2.0","id":${id},"error":${text}}`;
const JSON_HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const EVENTS_HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n';
const chunkOf = (text) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const eventOf = event;

/** Streamable HTTP, and HTTP+SSE with `sse`. */
export class HttpServer extends Server {
  static async start(options) {
    const server = new HttpServer(options);
    server.sse = options?.sse ?? false;
    server.sockets = new Set();
    server.extraHead = '';
    server.sessions = 0;
    server.keepsSessions = true;
    server.listener = createServer({ noDelay: true }, (socket) => server.#accept(socket));
    server.listener.listen(0, '127.0.0.1');
    await once(server.listener, 'listening');
    server.port = server.listener.address().port;
    // Not /mcp, by which the gateway's own address is known in what it prints.
    server.config = { url: `http://127.0.0.1:${server.port}/${server.sse ? 'sse' : 'origin'}`, ...(server.sse && { type: 'sse' }) };
    return server;
  }

  #accept(socket) {
    this.sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.sockets.delete(socket));
    const reader = new Reader(true, { onBody: (head, body) => this.#request(socket, head, body) });
    socket.on('data', (bytes) => reader.feed(bytes));
  }

  #request(socket, head, body) {
    if (head.startsWith('GET') && this.sse) {
      this.stream = socket;
      return socket.write(`${EVENTS_HEAD}\r\n${chunkOf('event: endpoint\ndata: /messages\n\n')}`);
    }
    if (head.startsWith('GET')) {
      if (!this.streams) return socket.write('HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n');
      this.streams.push(socket);
      return socket.write(`${EVENTS_HEAD}\r\n`);
    }
    if (head.startsWith('DELETE')) return socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    const accepted = 'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n';
    const sayOf = this.sse ? this.#sayOnStream(socket, accepted) : this.#sayOnSocket(socket);
    sayOf.none = () => socket.write(accepted);
    this.handle(body, sayOf);
  }

  #sayOnSocket(socket) {
    return (id, method) => {
      // A server without it is taken for one that keeps no sessions, and its clients have none.
      const session = method === 'initialize' && this.keepsSessions ? `Mcp-Session-Id: s${++this.sessions}\r\n` : '';
      let isStream = false;
      const begin = () => {
        if (!isStream) socket.write(`${EVENTS_HEAD}${this.extraHead}\r\n`);
        isStream = true;
      };
      const end = (text) => {
        if (isStream) return socket.write(`${eventOf(text)}0\r\n\r\n`);
        const bytes = Buffer.from(text);
        socket.write(`${JSON_HEAD}${this.extraHead}${session}Content-Length: ${bytes.length}\r\n\r\n`);
        socket.write(bytes);
      };
      return {
        result: (text) => end(resultOf(id, text)),
        error: (text) => end(errorOf(id, text)),
        whole: end,
        message: (text) => (begin(), socket.write(eventOf(text))),
        bytes: (bytes) => (begin(), socket.write(chunkOf(bytes))),
        raw: (bytes) => socket.write(bytes),
      };
    };
  }

  #sayOnStream(socket, accepted) {
    return (id) => {
      socket.write(accepted);
      const event = (text) => this.stream.write(chunkOf(`event: message\ndata: ${text}\n\n`));
      const bytes = (text) => this.stream.write(chunkOf(text));
      return { result: (text) => event(resultOf(id, text)), error: (text) => event(errorOf(id, text)), whole: event, message: event, bytes };
    };
  }

  close() {
    this.listener.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

/** Processes of a stdio server; each is growth-pipe, which speaks what is said here. */
export class StdioServer extends Server {
  static async start(options) {
    const server = new StdioServer(options);
    server.sockets = new Set();
    server.folder = mkdtempSync(join(tmpdir(), 'growth-'));
    const path = join(server.folder, 's');
    server.listener = createServer((socket) => server.#accept(socket));
    server.listener.listen(path);
    await once(server.listener, 'listening');
    server.config = { command: options.pipe, args: [path] };
    return server;
  }

  #accept(socket) {
    this.sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.sockets.delete(socket));
    const line = (text) => socket.write(`${text}\n`);
    const sayOf = (id) => ({
      result: (text) => line(resultOf(id, text)),
      error: (text) => line(errorOf(id, text)),
      whole: line,
      message: line,
      bytes: (text) => socket.write(text),
    });
    sayOf.none = (isAnswer) => isAnswer && this.answered?.();
    let pieces = [];
    socket.on('data', (bytes) => {
      for (let from = 0; ; ) {
        const end = bytes.indexOf(10, from);
        if (end < 0) {
          if (from < bytes.length) pieces.push(bytes.subarray(from));
          return;
        }
        pieces.push(bytes.subarray(from, end));
        from = end + 1;
        const whole = pieces.length > 1 ? Buffer.concat(pieces) : pieces[0];
        pieces = [];
        this.handle(whole, sayOf);
      }
    });
  }

  close() {
    this.listener.close();
    for (const socket of this.sockets) socket.destroy();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
