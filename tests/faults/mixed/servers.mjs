// HTTP MCP servers for the mixed load, one for each era, in this process: they do what a call's tool says.
//
//   echo {nonce, bytes?}         answers with the nonce, and so many bytes more
//   sleep {nonce, ms}            answers after that
//   hang {nonce}                 never answers
//   stream {nonce, n, bytes}     so many notifications of progress, then the answer
//   kill {nonce}                 breaks the connection without an answer; a legacy server forgets all sessions too
import { createServer } from 'node:http';
import { once } from 'node:events';

const META = 'io.modelcontextprotocol/';
const TOOLS = ['echo', 'sleep', 'hang', 'stream', 'kill'].map((name) => ({ name, inputSchema: { type: 'object' } }));

export class HttpServer {
  /** era: legacy | modern */
  static async start(era) {
    const one = new HttpServer();
    one.era = era;
    one.sessions = new Set();
    one.minted = 0;
    one.open = new Set(); // responses without an end yet
    one.calls = new Map(); // nonce → how often it came
    one.server = createServer((request, response) => one.#take(request, response));
    one.server.keepAliveTimeout = 30_000;
    one.server.listen(0, '127.0.0.1');
    await once(one.server, 'listening');
    one.url = `http://127.0.0.1:${one.server.address().port}/mcp`;
    return one;
  }

  async #take(request, response) {
    response.on('error', () => {});
    this.open.add(response);
    response.on('close', () => this.open.delete(response));
    const chunks = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return;
    }
    const session = request.headers['mcp-session-id'];
    const message = chunks.length ? JSON.parse(Buffer.concat(chunks).toString()) : {};
    const legacy = this.era === 'legacy';
    if (legacy && message.method === 'server/discover') return this.#json(response, 400, this.#error(message.id, -32600, 'no session'));
    if (legacy && message.method === 'initialize') return this.#initialize(message, response);
    if (legacy && !this.sessions.has(session)) return this.#json(response, 404, this.#error(message.id ?? null, -32001, 'no such session'));
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.flushHeaders();
    }
    if (request.method === 'DELETE') {
      this.sessions.delete(session);
      return response.writeHead(200).end();
    }
    if (message.id === undefined) return response.writeHead(202).end();
    this.#request(message, request, response);
  }

  #initialize(message, response) {
    const session = `mixed-${++this.minted}`;
    this.sessions.add(session);
    const result = {
      protocolVersion: message.params.protocolVersion,
      capabilities: { tools: { listChanged: true }, logging: {} },
      serverInfo: { name: 'mixed', version: '1' },
    };
    this.#json(response, 200, { jsonrpc: '2.0', id: message.id, result }, { 'mcp-session-id': session });
  }

  #request(message, request, response) {
    const { id, method, params } = message;
    if (method === 'tools/call') return this.#call(message, request, response);
    if (method === 'subscriptions/listen') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const _meta = { [`${META}subscriptionId`]: id };
      const acknowledged = { notifications: params.notifications, _meta };
      return response.write(event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: acknowledged }));
    }
    const results = {
      'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: true } }, ...hints },
      'tools/list': { tools: TOOLS, ...hints },
    };
    if (results[method]) return this.#json(response, 200, { jsonrpc: '2.0', id, result: this.#result(results[method]) });
    if (['ping', 'logging/setLevel'].includes(method)) return this.#json(response, 200, { jsonrpc: '2.0', id, result: {} });
    this.#json(response, this.era === 'legacy' ? 200 : 404, this.#error(id, -32601, 'Method not found'));
  }

  #call({ id, params }, request, response) {
    const { nonce, ms = 0, bytes = 0, n = 0 } = params.arguments;
    this.calls.set(nonce, (this.calls.get(nonce) ?? 0) + 1);
    const content = [{ type: 'text', text: nonce }];
    if (params.name === 'echo' && bytes) content.push({ type: 'text', text: 'x'.repeat(bytes) });
    const answer = { jsonrpc: '2.0', id, result: this.#result({ content }) };
    switch (params.name) {
      case 'hang': return;
      case 'sleep': return void setTimeout(() => this.#json(response, 200, answer), ms);
      case 'kill':
        if (this.era === 'legacy') this.sessions.clear();
        return request.socket.destroy();
      case 'stream': return this.#stream(response, params, answer, n, bytes);
      default: return this.#json(response, 200, answer);
    }
  }

  async #stream(response, params, answer, n, bytes) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const progressToken = params._meta?.progressToken;
    for (let progress = 1; progress <= n && !response.destroyed; ++progress) {
      const message = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress, message: 'p'.repeat(bytes) } };
      if (progressToken !== undefined && !response.write(event(message))) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
    response.end(event(answer));
  }

  #result = (members) => (this.era === 'legacy' ? strip(members) : { resultType: 'complete', ...members });
  #error = (id, code, message) => ({ jsonrpc: '2.0', id, error: { code, message } });
  #json(response, status, message, headers = {}) {
    if (!response.destroyed) response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(message));
  }

  /** Calls that came twice: Lineward never repeats one that may have been taken. */
  get repeated() {
    return [...this.calls.values()].filter((times) => times > 1).length;
  }
  forgetCalls() {
    this.calls.clear();
  }

  close() {
    this.server.close();
    this.server.closeAllConnections();
  }
}

const hints = { ttlMs: 0, cacheScope: 'private' };
const strip = ({ ttlMs, cacheScope, ...rest }) => rest;
const event = (message) => `data: ${JSON.stringify(message)}\n\n`;
