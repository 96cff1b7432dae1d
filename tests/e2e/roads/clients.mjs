// The clients of the roads, of both eras, down to their bytes: over HTTP, over HTTP+SSE, and on the stdin of `lineward stdio`.
import { Agent, request as httpRequest } from 'node:http';
import { deferred, Inbox } from '../lib/events.mjs';
import { events, idKey, lines, Raw, write } from './raw.mjs';
import { LEGACY, META, MODERN } from './servers.mjs';

const INFO = { name: 'roads', version: '1' };
const SSE = '2024-11-05';

/** A request of a client: `inbox` has what came on its stream, `answer` the answer; {gone: true} where none came. */
class Sent {
  constructor(client, id, token) {
    Object.assign(this, { client, id, token, inbox: new Inbox(), at: Date.now() });
    this.answered = deferred();
    this.finished = deferred();
    this.answer = this.answered.promise;
    this.end = this.finished.promise;
  }

  get idText() {
    return write(this.id);
  }

  take(text) {
    const message = JSON.parse(text);
    if (message.method === undefined) {
      this.answered.resolve({ message, text, status: this.status, headers: this.headers, ms: Date.now() - this.at });
      return;
    }
    if (message.id !== undefined) this.client.asked(message, this);
    this.inbox.put({ message, text });
  }

  ended(how) {
    this.answered.resolve({ gone: true, how, status: this.status, headers: this.headers });
    this.finished.resolve(how);
  }

  /** Closes its stream. */
  leave() {
    this.request.destroy();
  }

  cancel(reason = 'the user left') {
    return this.client.notify('notifications/cancelled', { requestId: this.id, reason });
  }
}

class Client {
  constructor(place, { capabilities = {}, form } = {}) {
    Object.assign(this, { place, capabilities, form, next: 100, news: new Inbox(), questions: new Inbox() });
  }

  /** Its answers to the server's questions; a cell may replace them. */
  reply() {
    return { action: 'accept', content: { name: 'Ada' } };
  }

  asked(message) {
    this.questions.put(message);
    const result = this.reply(message);
    if (result) this.respond({ jsonrpc: '2.0', id: message.id, result });
  }

  params(params, { token, meta, capabilities = this.capabilities } = {}) {
    const modern = this.era === 'modern' && {
      [`${META}protocolVersion`]: MODERN,
      [`${META}clientInfo`]: INFO,
      [`${META}clientCapabilities`]: capabilities,
    };
    const _meta = { ...params._meta, ...modern, ...(token !== undefined && { progressToken: token }), ...meta };
    return Object.keys(_meta).length ? { ...params, _meta } : params;
  }

  request(method, params = {}, { id = (this.next += 1), token, ...options } = {}) {
    const sent = new Sent(this, id, token);
    const text = write({ jsonrpc: '2.0', id, method, params: this.params(params, { token, ...options }) });
    this.send(sent, text, method, params, options);
    return sent;
  }

  /** A tool of the server that the cell is about, by the server's own name. */
  call(tool, args = {}, options = {}) {
    return this.request('tools/call', { name: this.place.nameOf(tool, options.server), arguments: args }, options);
  }

  /** Over as many rounds as it takes: each of a server's questions is answered by reply(). */
  async callAnswering(tool, args, options = {}) {
    let sent = this.call(tool, args, options);
    for (let round = 0; round < 10; ++round) {
      const answer = await sent.answer;
      const { inputRequests, requestState, resultType } = answer.message?.result ?? {};
      if (resultType !== 'input_required') return { ...answer, sent };
      const inputResponses = {};
      for (const [key, question] of Object.entries(inputRequests)) {
        this.questions.put(question);
        inputResponses[key] = this.reply(question);
      }
      await options.between?.();
      const params = { name: this.place.nameOf(tool, options.server), arguments: args, inputResponses, requestState };
      sent = this.request('tools/call', params, options);
    }
    throw new Error('asked ten times');
  }

  notify(method, params) {
    return this.post(write({ jsonrpc: '2.0', method, params: this.params(params) }), method, params);
  }

  respond(message) {
    return this.post(write(message));
  }
}

const TYPE = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

/** Over Streamable HTTP, of both eras. */
export class HttpClient extends Client {
  constructor(place, era, options = {}) {
    super(place, options);
    Object.assign(this, { era, agent: new Agent({ keepAlive: true, keepAliveMsecs: 60_000 }), open: new Set() });
    this.url = options.url ?? place.url;
  }

  async start() {
    if (this.era === 'modern') return this;
    const params = { protocolVersion: LEGACY, capabilities: this.capabilities, clientInfo: INFO };
    const first = this.request('initialize', params);
    const { message, headers, gone } = await first.answer;
    if (gone || message.error) throw Object.assign(new Error(`initialize: ${JSON.stringify(message ?? 'gone')}`), { message_: message });
    this.session = headers['mcp-session-id'];
    this.initialized = message.result;
    this.url = this.place.laterUrl ?? this.url;
    const { status } = await this.notify('notifications/initialized', {});
    if (status !== 202) throw new Error(`notifications/initialized: ${status}`);
    await this.openNews();
    return this;
  }

  headers(method, params, { prefer, capabilities, ...rest } = {}) {
    const name = params?.name ?? params?.uri;
    return {
      ...TYPE,
      ...(this.era === 'modern' && { 'MCP-Protocol-Version': MODERN, ...(method && { 'Mcp-Method': method }) }),
      ...(this.era === 'modern' && typeof name === 'string' && { 'Mcp-Name': name }),
      ...(this.session && { 'Mcp-Session-Id': this.session, 'MCP-Protocol-Version': LEGACY }),
      ...(prefer && { Prefer: prefer }),
      ...rest.headers,
    };
  }

  exchange(method, headers, body, onResponse, onError) {
    const { url } = this;
    const request = httpRequest(url, { method, headers, agent: this.agent }, onResponse);
    this.open.add(request);
    request.on('close', () => this.open.delete(request));
    request.on('error', onError);
    request.end(body);
    return request;
  }

  send(sent, text, method, params, options) {
    const headers = { ...this.headers(method, params, options), 'Content-Length': Buffer.byteLength(text) };
    sent.request = this.exchange(
      'POST',
      headers,
      text,
      (response) => {
        Object.assign(sent, { status: response.statusCode, headers: response.headers, response });
        options.onResponse?.(response);
        if (/event-stream/.test(response.headers['content-type'])) events(response, ({ data }) => sent.take(data));
        else {
          let body = '';
          response.setEncoding('utf8').on('data', (chunk) => (body += chunk));
          response.on('end', () => body && sent.take(body));
        }
        response.on('error', () => {});
        response.on('end', () => sent.ended('end'));
        response.on('close', () => sent.ended('cut'));
      },
      () => sent.ended('cut'),
    );
  }

  post(text, method, params) {
    return new Promise((resolve, reject) => {
      const headers = { ...this.headers(method, params), 'Content-Length': Buffer.byteLength(text) };
      this.exchange('POST', headers, text, (response) => {
        response.resume();
        response.on('end', () => resolve({ status: response.statusCode }));
      }, reject);
    });
  }

  /** The GET stream of a session. */
  openNews() {
    return new Promise((resolve, reject) => {
      const headers = { ...this.headers(), Accept: 'text/event-stream' };
      this.newsStream = this.exchange('GET', headers, undefined, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`GET: ${response.statusCode}`));
        response.on('error', () => {});
        events(response, ({ data }) => this.heard(data));
        return resolve();
      }, (error) => (this.closing ? resolve() : reject(error)));
    });
  }

  heard(text) {
    const message = JSON.parse(text);
    if (message.id !== undefined && message.method) this.asked(message);
    this.news.put({ message, text });
  }

  remove() {
    return new Promise((resolve, reject) => {
      this.exchange('DELETE', this.headers(), undefined, (response) => {
        response.resume();
        resolve(response.statusCode);
      }, reject);
    });
  }

  async close() {
    this.closing = true;
    if (this.session && !this.removed) await this.remove().catch(() => {});
    for (const request of this.open) request.destroy();
    this.agent.destroy();
  }
}

/** Common parts of clients with one stream for everything: answers are told apart by their ids. */
class OneStream extends Client {
  constructor(place, options) {
    super(place, options);
    this.waiting = new Map();
  }

  heard(text) {
    const message = JSON.parse(text);
    const { id, method, params } = message;
    if (method === undefined) {
      const sent = this.waiting.get(idKey(id));
      if (!sent) return this.news.put({ message, text });
      sent.take(text);
      this.waiting.delete(idKey(id));
      return sent.ended('end');
    }
    const token = params?.progressToken;
    const listen = params?._meta?.[`${META}subscriptionId`];
    const owner = [...this.waiting.values()].find(
      (sent) =>
        (token !== undefined && sent.token !== undefined && idKey(JSON.parse(write(sent.token))) === idKey(token)) ||
        (listen !== undefined && idKey(JSON.parse(sent.idText)) === idKey(listen)),
    );
    if (owner) return owner.take(text);
    if (id !== undefined) this.asked(message);
    return this.news.put({ message, text });
  }

  send(sent, text, method, params, options) {
    this.waiting.set(idKey(JSON.parse(sent.idText)), sent);
    this.post(text, method, params, options)?.catch?.(() => sent.ended('cut'));
  }

  async initialize(protocolVersion) {
    const params = { protocolVersion, capabilities: this.capabilities, clientInfo: INFO };
    const { message } = await this.request('initialize', params).answer;
    if (!message || message.error)
      throw Object.assign(new Error(`initialize: ${JSON.stringify(message ?? 'gone')}`), { message_: message });
    this.initialized = message.result;
    await this.notify('notifications/initialized', {});
    return this;
  }

  gone() {
    for (const sent of this.waiting.values()) sent.ended('cut');
    this.waiting.clear();
  }
}

/** HTTP+SSE of 2024-11-05. */
export class SseClient extends OneStream {
  constructor(place, era, options = {}) {
    super(place, options);
    Object.assign(this, { era: 'legacy', agent: new Agent({ keepAlive: true }) });
  }

  async start() {
    const endpoint = deferred();
    this.stream = httpRequest(this.place.sseUrl, { headers: { Accept: 'text/event-stream' } }, (response) => {
      this.response = response;
      response.on('error', () => {});
      response.on('close', () => this.gone());
      events(response, ({ event, data }) => (event === 'endpoint' ? endpoint.resolve(data) : this.heard(data)));
    });
    this.stream.on('error', endpoint.reject);
    this.stream.end();
    this.to = new URL(await endpoint.promise, this.place.sseUrl);
    return this.initialize(SSE);
  }

  post(text, method, params, { prefer } = {}) {
    return new Promise((resolve, reject) => {
      const headers = { ...TYPE, 'Content-Length': Buffer.byteLength(text), ...(prefer && { Prefer: prefer }) };
      const request = httpRequest(this.to, { method: 'POST', headers, agent: this.agent }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (piece) => (body += piece));
        response.on('end', () => {
          if (response.statusCode === 202) return resolve({ status: 202 });
          // A refusal is the answer: nothing will come on the stream.
          const key = idKey(JSON.parse(text).id);
          const sent = this.waiting.get(key);
          if (!sent || !body.startsWith('{')) return reject(new Error(`POST: ${response.statusCode}`));
          this.waiting.delete(key);
          sent.status = response.statusCode;
          sent.take(body);
          sent.ended('end');
          return resolve({ status: response.statusCode });
        });
      });
      request.on('error', reject);
      request.end(text);
    });
  }

  leave() {
    this.stream.destroy();
  }

  async close() {
    this.stream?.destroy();
    this.agent.destroy();
  }
}

/** The client that started `lineward stdio`. */
export class StdioClient extends OneStream {
  constructor(place, era, options = {}) {
    super(place, options);
    this.era = era;
  }

  async start() {
    const { child } = (this.process = this.place.front(this.form));
    lines(child.stdout, (line) => this.heard(line));
    child.stdout.on('close', () => this.gone());
    child.stdin.on('error', () => {});
    if (this.era === 'legacy') await this.initialize(LEGACY);
    return this;
  }

  async post(text) {
    this.process.child.stdin.write(`${text}\n`);
  }

  /** As at the end of a client: no writes, and no reads. The end of stdin alone cancels nothing. */
  leave() {
    this.process.child.stdin.end();
    this.process.child.stdout.destroy();
  }

  async close() {
    this.process.child.stdin.end();
    await this.process.stop();
  }
}

export { Raw };
