// An HTTP origin in raw bytes: it plays server/discover and hands every other request to the row.
import { createServer } from 'node:net';
import { once } from 'node:events';

const discover = (id) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    result: {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'origin', version: '1' } },
    },
  });

export const answerTo = (message) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: message.id,
    result: { resultType: 'complete', content: [{ type: 'text', text: message.params?.arguments?.nonce }] },
  });
export const whole = (text, more = '') =>
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${more}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
export const EVENTS = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
export const chunk = (text) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
export const progress = (message) =>
  chunk(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: message.params._meta.progressToken ?? 0, progress: 1 } })}\n\n`);

export class Origin {
  /** serve(socket, message): socket.number is that of its connection; socket.before how many requests came before. */
  static async start(serve, { port = 0, host = '127.0.0.1' } = {}) {
    const origin = new Origin();
    origin.serve = serve;
    origin.server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => origin.#accept(socket));
    origin.server.listen(port, host);
    await once(origin.server, 'listening');
    origin.port = origin.server.address().port;
    origin.url = `http://${host}:${origin.port}/mcp`;
    return origin;
  }

  sockets = new Set();
  connections = 0;
  executed = new Map(); // nonce → how often

  #accept(socket) {
    socket.number = ++this.connections;
    socket.before = 0;
    this.sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('end', () => socket.end());
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      for (;;) {
        const head = text.indexOf('\r\n\r\n');
        if (head < 0) return;
        const length = Number(/content-length: *(\d+)/i.exec(text.slice(0, head))?.[1] ?? 0);
        if (text.length < head + 4 + length) return;
        const body = text.slice(head + 4, head + 4 + length);
        text = text.slice(head + 4 + length);
        this.#request(socket, body ? JSON.parse(Buffer.from(body, 'latin1').toString('utf8')) : {});
      }
    });
  }

  #request(socket, message) {
    if (message.method === 'server/discover') return socket.write(whole(discover(message.id)));
    if (message.method === 'tools/list')
      return socket.write(whole(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' } })));
    const nonce = message.params?.arguments?.nonce;
    if (nonce) this.executed.set(nonce, (this.executed.get(nonce) ?? 0) + 1);
    this.serve(socket, message);
    ++socket.before;
  }

  get repeated() {
    return [...this.executed.values()].filter((times) => times > 1).length;
  }

  close() {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}
