// Lineward in front of relays: the test itself is the server, byte by byte.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { legacyHeaders, modernHeaders } from '../datasets/bench.mjs';
import { send } from '../datasets/http.mjs';
import { raw } from '../datasets/raw-json.mjs';
import { startGateway } from '../lib/gateway.mjs';

const INFO = '{"name":"relay","version":"1"}';
const CAPABILITIES = '{"tools":{"listChanged":true},"prompts":{},"resources":{},"completions":{},"logging":{}}';

const HANDSHAKE = {
  modern: {
    'server/discover': `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":${CAPABILITIES},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":${INFO}}}`,
    'tools/list': '{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}',
  },
  legacy: {
    initialize: `{"protocolVersion":"2025-11-25","capabilities":${CAPABILITIES},"serverInfo":${INFO}}`,
    'tools/list': '{"tools":[]}',
  },
};

/** A process behind Lineward: its lines come in, bytes go out. */
class Process {
  constructor(served, socket) {
    Object.assign(this, { served, socket, parts: [] });
    socket.on('data', (chunk) => this.take(chunk.toString('latin1')));
    socket.on('end', () => socket.end());
    socket.on('error', () => {});
  }

  take(text) {
    for (let end; (end = text.indexOf('\n')) >= 0; text = text.slice(end + 1)) {
      const line = this.parts.join('') + text.slice(0, end);
      this.parts = [];
      this.line(line);
    }
    if (text) this.parts.push(text);
  }

  line(line) {
    const method = JSON.parse(raw(line, 'method') ?? 'null');
    const id = raw(line, 'id');
    if (method === 'notifications/initialized') return;
    const known = HANDSHAKE[this.served.era];
    if (method === 'ping') return this.write(`{"jsonrpc":"2.0","id":${id},"result":{}}\n`);
    if (known[method]) return this.write(`{"jsonrpc":"2.0","id":${id},"result":${known[method]}}\n`);
    if (method === 'server/discover') {
      return this.write(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"unknown"}}\n`);
    }
    this.served.onLine(line, this);
  }

  write(text) {
    this.socket.write(Buffer.from(text, 'latin1'));
  }
}

/**
 * A server of that era behind Lineward.
 *
 * @returns {{url, pid, stderr, onLine, session, modern, legacy, listen}} set onLine(line, process) before the first call
 */
export async function serve(t, era, { args = [], env = {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'lineward-relay-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const served = { era, onLine: () => {} };
  const sockets = new Set();
  const listener = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    new Process(served, socket);
  });
  const path = join(folder, 'relay');
  await new Promise((resolve) => listener.listen(path, resolve));
  t.after(() => {
    sockets.forEach((socket) => socket.destroy());
    listener.close();
  });
  const relay = fileURLToPath(new URL('./relay.mjs', import.meta.url));
  const gateway = await startGateway({ args, env, command: [process.execPath, relay, path] });
  t.after(() => gateway.stop());
  const { url } = gateway;

  async function session(capabilities = '{}') {
    const body = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":${capabilities},"clientInfo":{"name":"c","version":"1"}}}`;
    const opened = await send(url, 'POST', legacyHeaders(), body).done();
    const id = opened.headers.get('mcp-session-id');
    if (!id) throw new Error(`initialize got ${opened.status}: ${opened.body}`);
    await send(url, 'POST', legacyHeaders(id), '{"jsonrpc":"2.0","method":"notifications/initialized"}').done();
    return id;
  }

  return Object.assign(served, {
    url,
    pid: gateway.pid,
    stderr: gateway.stderr,
    session,
    modern: (method, target, body, more) => send(url, 'POST', modernHeaders(method, target, more), body),
    listen: (id) => send(url, 'GET', legacyHeaders(id, { Accept: 'text/event-stream' })),
    legacy: (id, body, more) => send(url, 'POST', legacyHeaders(id, more), body),
  });
}
