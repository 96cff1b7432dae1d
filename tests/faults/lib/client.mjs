// A fast modern client: calls over keep-alive connections, each answer checked for its caller's nonce.
import http from 'node:http';
import { watchWaits } from './figures.mjs';

let minted = 0;
const PREFIX = 'io.modelcontextprotocol/';

export const headersOf = (method, name) => ({
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': method,
  ...(name === undefined ? {} : { 'Mcp-Name': name }),
});

export const bodyOf = (id, method, params = {}) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method,
    params: {
      ...params,
      _meta: {
        [`${PREFIX}protocolVersion`]: '2026-07-28',
        [`${PREFIX}clientInfo`]: { name: 'faults', version: '1' },
        [`${PREFIX}clientCapabilities`]: {},
        ...params._meta,
      },
    },
  });

/** The bytes of a whole request, for clients that leave in the middle of it. */
export function requestBytes(url, id, method, params) {
  const { host, pathname } = new URL(url);
  const body = bodyOf(id, method, params);
  const fields = { Host: host, ...headersOf(method, params?.name), 'Content-Length': Buffer.byteLength(body) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

export const newNonce = () => `n${process.pid.toString(36)}-${(++minted).toString(36)}`;

/** The last message of an answer, JSON or event stream; undefined when there is none. */
export function lastMessage(text) {
  const json = text.startsWith('{') ? text : text.split('\n').findLast((line) => line.startsWith('data: {'))?.slice(6);
  try {
    return json && JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * How a call ended: {end, status, code, reason, text, ms, own, nonce}. `ms` is how long it took; `own` is that without what
 * this process or one in `pids` waited for a processor (figures.mjs). end is ok | wrong (another's answer) | error (JSON-RPC)
 * | http (another status) | closed (no whole answer) | late (nothing within limitMs).
 */
export class Client {
  constructor(url, { sockets = 64, pids } = {}) {
    this.url = new URL(url);
    this.pids = pids;
    this.agent = new http.Agent({ keepAlive: true, maxSockets: sockets, maxFreeSockets: sockets });
    this.id = 0;
  }

  close() {
    this.agent.destroy();
  }

  /** options: limitMs, nonce, meta, signal, agent, onData(text) */
  call(tool, args = {}, options = {}) {
    const nonce = options.nonce ?? newNonce();
    const id = ++this.id;
    return this.request('tools/call', { name: tool, arguments: { nonce, ...args }, _meta: options.meta }, { ...options, id }).then(
      (got) => ({ ...got, nonce, ...judge(got, id, nonce) }),
    );
  }

  /** {status, text, message, broken, ms} */
  request(method, params, { id = ++this.id, limitMs = 20_000, signal, agent = this.agent, onData } = {}) {
    const body = bodyOf(id, method, params);
    const waits = this.pids && watchWaits(this.pids);
    const began = performance.now();
    return new Promise((resolve) => {
      let text = '';
      let status;
      let timer;
      const end = (more) => {
        clearTimeout(timer);
        const ms = performance.now() - began;
        const own = waits ? Math.max(0, ms - waits()) : ms;
        resolve({ status, text, message: lastMessage(text), ms, own, ...more });
      };
      const sent = http.request(
        this.url,
        { method: 'POST', agent, signal, headers: { ...headersOf(method, params.name), 'Content-Length': Buffer.byteLength(body) } },
        (response) => {
          status = response.statusCode;
          response.setEncoding('utf8');
          response.on('data', (piece) => {
            text += piece;
            onData?.(text);
          });
          response.on('end', () => end({ headers: response.headers }));
          response.on('error', (error) => end({ broken: error.code ?? error.message }));
        },
      );
      sent.on('error', (error) => end({ broken: error.code ?? error.message }));
      timer = setTimeout(() => {
        end({ broken: 'late' });
        sent.destroy();
      }, limitMs);
      sent.end(body);
    });
  }
}

function judge({ status, message, broken }, id, nonce) {
  if (broken === 'late') return { end: 'late' };
  if (message?.result && message.id === id)
    return { end: message.result.content?.[0]?.text === nonce ? 'ok' : 'wrong' };
  if (message?.error) {
    if (message.id !== undefined && message.id !== id) return { end: 'wrong' };
    const gateway = message.error.data?.['io.lineward/gateway'] ?? {};
    return { end: 'error', code: message.error.code, reason: gateway.reason, why: message.error.message };
  }
  if (message) return { end: 'wrong' };
  if (broken || status === undefined) return { end: 'closed', why: broken };
  return { end: status === 200 ? 'closed' : 'http', why: String(status) };
}
