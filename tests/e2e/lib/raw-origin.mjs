// A bare HTTP server that plays an MCP server word by word, and a bare client: for what no SDK does.
import { createServer } from 'node:http';
import { createSecureServer as createTlsServer2, createServer as createServer2 } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import { once } from 'node:events';
import { connect } from 'node:net';
import { LIMIT_MS, bounded } from './events.mjs';
import { META, MODERN, lastMessage, modernPost } from './modern.mjs';
import { ours } from './reason.mjs';

export const answer = (id, result) => JSON.stringify({ jsonrpc: '2.0', id, result });
export const json = (response, status, text, headers = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
export const beginEvents = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' });
export const event = (message) => `data: ${typeof message === 'string' ? message : JSON.stringify(message)}\n\n`;

const discovered = {
  resultType: 'complete',
  supportedVersions: [MODERN],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
  _meta: { [`${META}serverInfo`]: { name: 'origin', version: '1' } },
};
const initialized = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'origin', version: '1' },
};

/**
 * Starts an origin. `serve(request, response, message)` plays what the era's handshake does not answer; the request has
 * the number of its connection as `request.connection_number`.
 *
 * @param {object} options era: 'modern' (default), 'legacy', or 'none' for a serve() that does everything itself;
 *   tls: options of node:https. With http2, options of node:http2, it speaks HTTP/2 (with `allowHTTP1`: HTTP/1.1 too).
 */
export async function startOrigin(t, serve, { era = 'modern', tls, http2, name = '127.0.0.1' } = {}) {
  let connections = 0;
  const sessions = new Set();
  const requests = [];
  const handle = async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const message = text.startsWith('{') ? JSON.parse(text) : undefined;
    request.number = request.socket.number;
    requests.push({ connection: request.number, method: request.method, url: request.url, message, headers: request.headers, version: request.httpVersion });
    const method = message?.method;
    if (era === 'modern' && method === 'server/discover') return json(response, 200, answer(message.id, discovered));
    if (era === 'legacy' && method === 'server/discover')
      return json(response, 200, JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no' } }));
    if (era === 'legacy' && method === 'initialize') return json(response, 200, answer(message.id, initialized));
    if (era === 'legacy' && method === 'notifications/initialized') return response.writeHead(202).end();
    if (era === 'legacy' && request.method === 'GET') return response.writeHead(405).end();
    return serve(request, response, message);
  };
  const make = () => {
    if (http2) return tls ? createTlsServer2({ ...tls, ...http2 }, handle) : createServer2(http2, handle);
    return tls ? createTlsServer(tls, handle) : createServer(handle);
  };
  const server = make();
  server.on('session', (session) => {
    sessions.add(session.on('error', () => {}).once('close', () => sessions.delete(session)));
  });
  server.keepAliveTimeout = 30_000;
  server.on(tls ? 'secureConnection' : 'connection', (socket) => {
    socket.number = ++connections;
    socket.on('error', () => {});
  });
  server.on('tlsClientError', () => {});
  server.on('clientError', (_, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections?.();
    for (const session of sessions) session.destroy();
    server.close();
  });
  const { port } = server.address();
  return { url: `${tls ? 'https' : 'http'}://${name}:${port}/mcp`, port, requests, server, sessions, connections: () => connections };
}

/** The bytes of a modern request. */
export function modernRequest(url, id, method, params = {}, { headers = {}, host = new URL(url).host } = {}) {
  const { headers: fields, body } = modernPost(method, params, { id, headers });
  const all = { Host: host, 'Content-Length': Buffer.byteLength(body), ...fields };
  const head = Object.entries(all).map(([key, value]) => `${key}: ${value}\r\n`);
  return `POST ${new URL(url).pathname} HTTP/1.1\r\n${head.join('')}\r\n${body}`;
}

/** A client's socket with the request on its way. */
export async function rawCall(t, url, id, method, params, options) {
  const socket = connect(new URL(url).port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  await bounded(once(socket, 'connect'), LIMIT_MS, 'a connection');
  socket.write(modernRequest(url, id, method, params, options));
  return socket;
}

/** A modern request by fetch: {status, message, headers}. */
export async function call(url, method, params = {}, { id = 1, headers = {} } = {}) {
  const response = await fetch(url, modernPost(method, params, { id, headers }));
  return { status: response.status, headers: response.headers, message: lastMessage(await response.text()) };
}

/** Lineward's data of its own error. */
export const gatewayError = ({ message }) => ({
  code: message.error?.code,
  text: message.error?.message,
  ...ours(message.error?.data),
});
