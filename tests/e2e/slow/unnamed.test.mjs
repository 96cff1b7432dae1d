// Clients of old revisions that name no session, name it sometimes, leave in the middle of anything, before servers
// that keep sessions now and then: everything comes back to zero.
import assert from 'node:assert/strict';
import http from 'node:http';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { binary } from '../lib/binary.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { get, opsOf } from '../lib/operator.mjs';
import { descendants } from '../lib/processes.mjs';
import { running } from '../lib/reloading.mjs';
import { test } from '../lib/test.mjs';

const SECONDS = Number(process.env.SECONDS ?? 30);
const KEYED = process.env.KEYED === '1'; // else all are anonymous
const CLIENTS = Number(process.env.CLIENTS ?? 16);
const KEYS = { alice: 'alice-0123456789abcdef', bob: 'bob-0123456789abcdef00' };

let seed = Number(process.env.SEED ?? Date.now() % 1e6);
function random() {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed / 2147483648;
}
const chance = (part) => random() < part;
const pick = (list) => list[Math.floor(random() * list.length)];

const SERVER = `
  const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined || method === undefined) return;
    if (method === 'initialize')
      return say({ id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } });
    if (Math.random() < 0.02) process.exit(3);
    if (Math.random() < 0.1) say({ id: 'q' + id, method: 'roots/list' });
    setTimeout(() => say({ id, result: { content: [] } }), Math.random() * 30);
  });`;

/** Over HTTP; `mood()` says whether it keeps sessions just now. */
async function moody(t, mood) {
  const known = new Set();
  let count = 0;
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('error', () => {});
    response.on('error', () => {});
    request.on('end', async () => {
      const text = Buffer.concat(chunks).toString();
      const body = text ? JSON.parse(text) : undefined;
      await delay(random() * 20);
      if (chance(0.02)) return request.socket.destroy();
      const session = request.headers['mcp-session-id'];
      if (session && (!known.has(session) || chance(0.03))) {
        known.delete(session);
        return response.writeHead(404, { 'Content-Type': 'application/json' }).end(
          JSON.stringify({ jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null }));
      }
      if (request.method === 'DELETE') {
        known.delete(session);
        return response.writeHead(session ? 200 : pick([200, 204, 405])).end();
      }
      if (request.method === 'GET') {
        if (chance(0.5)) return response.writeHead(405, { Allow: 'POST' }).end();
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n');
        await delay(random() * 100);
        return response.end();
      }
      const { id, method } = body;
      if (method === undefined || id === undefined) return response.writeHead(202).end();
      if (chance(0.03)) return response.writeHead(pick([400, 401, 405, 500, 503])).end('no');
      const headers = { 'Content-Type': 'application/json' };
      if (method === 'initialize' && mood()) {
        known.add(`s-${++count}`);
        headers['Mcp-Session-Id'] = `s-${count}`;
      }
      const result = method === 'initialize'
        ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
        : { content: [] };
      const answer = JSON.stringify({ jsonrpc: '2.0', id, result });
      if (chance(0.7)) return response.writeHead(200, headers).end(answer);
      response.writeHead(200, { ...headers, 'Content-Type': 'text/event-stream' });
      response.write('data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n\n');
      await delay(random() * 30);
      response.end(`data: ${answer}\n\n`);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  }));
  return `http://127.0.0.1:${server.address().port}/mcp`;
}

function send(url, { method = 'POST', agent, headers, body, leaveAfter }) {
  return new Promise((resolve) => {
    let answered = false;
    const text = body === undefined ? undefined : JSON.stringify({ jsonrpc: '2.0', ...body });
    const request = http.request(url, { method, agent, headers: { ...headers, ...(text && { 'Content-Length': Buffer.byteLength(text) }) } }, (response) => {
      let read = '';
      answered = true;
      response.on('data', (bytes) => (read += bytes));
      response.on('error', () => resolve({}));
      response.on('close', () => resolve({ status: response.statusCode, headers: response.headers, read }));
    });
    request.on('error', () => resolve({}));
    request.on('close', () => answered || resolve({}));
    if (leaveAfter !== undefined) setTimeout(() => request.destroy(), leaveAfter);
    if (text && chance(0.1)) {
      const half = Math.floor(text.length / 2);
      request.write(text.slice(0, half));
      setTimeout(() => request.end(text.slice(half)), 3);
    } else {
      request.end(text);
    }
  });
}

test('clients that name no session, at random', { timeout: (SECONDS + 120) * 1000 }, async (t) => {
  console.log(`SEED=${seed}`);
  const folder = temporaryFolder(t);
  const file = join(folder, 'keys.txt');
  writeFileSync(
    file,
    Object.entries(KEYS).map(([name, key]) => spawnSync(binary(), ['hash-key', name], { input: key, encoding: 'utf8' }).stdout).join(''),
    { mode: 0o600 },
  );
  const began = Date.now();
  const changing = await moody(t, () => Math.floor((Date.now() - began) / 700) % 2 === 0);
  const keeping = await moody(t, () => true);
  const without = await moody(t, () => false);
  const more = {
    listen: { address: '127.0.0.1:0', sessionIdle: '3s', keepAlive: '1s', maxSessions: 40, resumeWindow: '500ms' },
    ...(KEYED && { auth: { apiKey: { file } } }),
  };
  const servers = (round) => ({
    changing: { url: changing, protocolEra: 'legacy' },
    keeping: { url: keeping, protocolEra: 'legacy', limits: { maxSessions: 20 }, sessions: { missing: round % 3 === 2 ? 'refuse' : 'adopt' } },
    without: { url: without, ...(round % 2 && { headers: { 'X-Round': String(round) } }) },
    stdio: {
      command: process.execPath,
      args: ['-e', SERVER],
      protocolEra: 'legacy',
      instances: 6,
      limits: { queueTimeout: '2s' },
      restart: { backoff: '10ms' },
    },
  });
  const { gateway, at, write, reload } = await running(t, servers(0), { more });
  const ops = opsOf(gateway);
  const end = Date.now() + SECONDS * 1000;
  const seen = {};
  async function client() {
    let agent = new http.Agent({ keepAlive: true, maxSockets: 2 });
    const ids = new Map();
    for (let id = 1; Date.now() < end; ++id) {
      if (chance(0.1)) {
        agent.destroy();
        agent = new http.Agent({ keepAlive: true, maxSockets: 2 });
      }
      const server = pick(['changing', 'keeping', 'without', 'stdio']);
      const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
      if (chance(0.7)) headers['MCP-Protocol-Version'] = '2025-06-18';
      if (KEYED && chance(0.9)) headers['x-api-key'] = pick(Object.values(KEYS));
      if (chance(0.1)) headers['X-Forwarded-For'] = '10.0.0.1';
      if (ids.has(server) && chance(0.4)) headers['Mcp-Session-Id'] = ids.get(server);
      const what = { agent, headers };
      if (chance(0.2)) what.leaveAfter = random() * 40;
      const kind = random();
      if (kind < 0.3) {
        delete headers['Mcp-Session-Id'];
        what.body = { id, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: { roots: {} }, clientInfo: { name: 'c', version: '1' } } };
      } else if (kind < 0.7) what.body = { id, method: 'tools/call', params: { name: 'x' } };
      else if (kind < 0.8) what.body = { method: pick(['notifications/initialized', 'notifications/cancelled']), params: { requestId: id - 1 } };
      else if (kind < 0.85) what.body = { id: 1, result: { roots: [] } };
      else if (kind < 0.95) {
        what.method = 'GET';
        what.leaveAfter ??= random() * 150;
      } else what.method = 'DELETE';
      const answer = await send(at(server), what);
      seen[answer.status] = (seen[answer.status] ?? 0) + 1;
      const named = answer.headers?.['mcp-session-id'];
      if (named) ids.set(server, named);
    }
    agent.destroy();
  }
  const all = Array.from({ length: CLIENTS }, client);
  let rounds = 0;
  const reloading = (async () => {
    while (Date.now() < end) {
      await delay(1500);
      write(servers(++rounds), more);
      reload();
    }
  })();
  await Promise.all([...all, reloading]);
  console.log(JSON.stringify(seen));
  const numbers = async () => {
    const text = (await get(ops, '/metrics')).body;
    const sum = (name) => text.split('\n').filter((line) => line.startsWith(name)).reduce((all, line) => all + Number(line.split(' ').at(-1)), 0);
    return { sessions: sum('lineward_sessions'), calls: sum('lineward_requests_in_flight'), processes: descendants(gateway.pid).length };
  };
  let left;
  for (const until = Date.now() + 30_000; ; await delay(200)) {
    left = await numbers();
    if (left.sessions === 0 && left.calls === 0 && left.processes === 1) break;
    assert.ok(Date.now() < until, JSON.stringify(left));
  }
  assert.ok(!/event=bug|AddressSanitizer|runtime error/.test(gateway.stderr()), gateway.stderr().slice(-4000));
});
