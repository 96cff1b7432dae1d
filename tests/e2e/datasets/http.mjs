// An HTTP/1.1 client that sends exactly the headers it is told, and reads answers strictly. Bodies are latin1 strings.
import { connect } from 'node:net';
import { bounded, Inbox, LIMIT_MS } from '../lib/events.mjs';

/** Event streams as the WHATWG reads them: put in text, get the data of each event. */
class Events {
  constructor(onData) {
    Object.assign(this, { onData, rest: '', data: [] });
  }

  feed(text) {
    this.rest += text;
    // A CR at the very end may be half of a line end.
    for (let end; (end = /\r\n|\n|\r(?!$)/.exec(this.rest));) {
      this.line(this.rest.slice(0, end.index));
      this.rest = this.rest.slice(end.index + end[0].length);
    }
  }

  line(line) {
    if (line === '') {
      if (this.data.length) this.onData(this.data.join('\n'));
      this.data = [];
      return;
    }
    const [, field, value] = /^([^:]*)(?:: ?([^]*))?$/.exec(line);
    if (field === 'data') this.data.push(value ?? '');
    else if (!['', 'id', 'event', 'retry'].includes(field)) throw new Error(`an event stream with the field ${field}`);
  }

  get unfinished() {
    return this.data.length > 0 || this.rest !== '';
  }
}

/** A request and its answer on a connection of its own. */
class Exchange {
  constructor(url, bytes) {
    this.messages = new Inbox(); // the JSON-RPC messages of the answer, in order
    this.body = '';
    this.input = '';
    const { hostname, port } = new URL(url);
    this.socket = connect({ host: hostname, port: Number(port) });
    this.head = new Promise((resolve) => (this.gotHead = resolve));
    this.ended = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    this.ended.catch(() => {}); // waiters are told
    this.socket.on('data', (chunk) => this.take(chunk.toString('latin1')));
    this.socket.on('error', (error) => this.complete || this.reject(error));
    this.socket.on('close', () => {
      if (this.complete) this.resolve(this);
      else this.reject(new Error(`the connection closed before the end of the answer; there was ${this.input}`));
    });
    this.socket.write(Buffer.from(bytes, 'latin1'));
  }

  /** Resolves when the whole answer is there and nothing follows it. */
  done(ms = LIMIT_MS, what = 'the end of an answer') {
    return bounded(this.ended, ms, what).catch((error) => {
      this.socket.destroy();
      throw error;
    });
  }

  close() {
    this.socket.destroy();
  }

  take(text) {
    this.input += text;
    try {
      if (this.complete) throw new Error(`bytes after the end of the answer: ${this.input}`);
      if (this.status === undefined && !this.readHead()) return;
      this.readBody();
    } catch (error) {
      this.reject(error);
      this.socket.destroy();
    }
  }

  readHead() {
    const end = this.input.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const [first, ...fields] = this.input.slice(0, end).split('\r\n');
    const status = /^HTTP\/1\.1 (\d{3}) [ -~]*$/.exec(first);
    if (!status) throw new Error(`not the first line of an answer: ${first}`);
    this.input = this.input.slice(end + 4);
    this.status = Number(status[1]);
    this.headers = new Map();
    for (const field of fields) {
      const [, name, value] = /^([A-Za-z0-9-]+): ?([ -~]*)$/.exec(field) ?? [];
      if (!name) throw new Error(`not a header: ${field}`);
      if (this.headers.has(name.toLowerCase())) throw new Error(`the header ${name} twice`);
      this.headers.set(name.toLowerCase(), value);
    }
    if (this.headers.get('content-type')?.startsWith('text/event-stream')) {
      this.events = new Events((data) => this.messages.put(data));
    }
    this.gotHead(this);
    return true;
  }

  readBody() {
    if (this.headers.get('transfer-encoding') === 'chunked') return this.readChunks();
    const length = this.status === 204 ? 0 : Number(this.headers.get('content-length') ?? NaN);
    if (!(length >= 0)) throw new Error('an answer without Content-Length and Transfer-Encoding');
    if (this.input.length < length) return;
    this.body = this.input.slice(0, length);
    this.input = this.input.slice(length);
    this.finish();
  }

  readChunks() {
    for (;;) {
      const line = /^([0-9a-f]+)\r\n/i.exec(this.input);
      if (!line) {
        if (this.input.length > 20) throw new Error(`not a chunk: ${this.input}`);
        return;
      }
      const size = parseInt(line[1], 16);
      const end = line[0].length + size;
      if (this.input.length < end + 2) return;
      if (this.input.slice(end, end + 2) !== '\r\n') throw new Error(`a chunk without its end: ${this.input}`);
      const chunk = this.input.slice(line[0].length, end);
      this.input = this.input.slice(end + 2);
      if (size === 0) return this.finish();
      this.body += chunk;
      this.events?.feed(chunk);
    }
  }

  finish() {
    if (this.input) throw new Error(`bytes after the end of the answer: ${this.input}`);
    if (this.events?.unfinished) throw new Error(`an event stream that ends within an event: ${this.body}`);
    if (!this.events && this.body) this.messages.put(this.body);
    this.complete = true;
    this.socket.end();
  }
}

/**
 * Sends a request with exactly these headers: [name, value] pairs, or an object. Its values may be lists (the header
 * repeated) or null (left out). Host and Content-Length are added where they are not given.
 */
export function send(url, method, headers, body = '') {
  const { host, pathname } = new URL(url);
  const all = { Host: host, ...headers };
  if (!('Content-Length' in all) && method === 'POST') all['Content-Length'] = String(body.length);
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === null ? [] : [value].flat().map((one) => `${name}: ${one}\r\n`),
  );
  return new Exchange(url, `${method} ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}
