// An HTTP server under a test's full control, which records every request it gets.
import http from 'node:http';
import { META, modernPost } from './modern.mjs';

/**
 * `answer(request, response, body)` answers each request; `body` is the parsed JSON, or undefined.
 *
 * @returns {{url: string, origin: string, requests: {method: string, path: string, headers: object,
 *   rawHeaders: string[], body: any}[], stop: () => Promise<void>}}
 */
export async function startOrigin(answer, path = '/mcp') {
  const requests = [];
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const body = text ? JSON.parse(text) : undefined;
      const { method, url, headers, rawHeaders } = request;
      requests.push({ method, path: url, headers, rawHeaders, body });
      answer(request, response, body);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const stop = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  return { url: origin + path, origin, requests, stop };
}

export function json(response, body, status = 200, headers = {}) {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

export const result = (response, id, value, headers) =>
  json(response, { jsonrpc: '2.0', id, result: value }, 200, headers);

/** Sends a request with exactly these headers (and Host), raw. */
export function send(url, { method = 'POST', headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers, agent: false }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = /json/.test(response.headers['content-type'] ?? '');
        resolve({ status: response.statusCode, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined });
      });
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** A modern request with all it needs; `headers` are added. */
export function modern(url, id, method, params = {}, headers = {}) {
  const _meta = { [`${META}clientInfo`]: { name: 'test', version: '1' }, ...params._meta };
  return send(url, modernPost(method, { ...params, _meta }, { id, headers }));
}

/** A request in a legacy session (none: an `initialize`). */
export function legacy(url, session, id, method, params = {}, headers = {}) {
  return send(url, {
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...(session ? { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' } : {}),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
  });
}

export const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
};
export const DISCOVER = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
};
