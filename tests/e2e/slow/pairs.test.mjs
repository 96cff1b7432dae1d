// Clients that initialise, call and never name their session, again and again: what is left of them
// (PAIRS=1000 for a long look).
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { get, opsOf } from '../lib/operator.mjs';
import { result, startOrigin } from '../lib/origin.mjs';
import { descendants } from '../lib/processes.mjs';
import { test } from '../lib/test.mjs';
import { eventually, isSanitized, residentBytes } from './readers.mjs';

const PAIRS = Number(process.env.PAIRS ?? 200);
const MARKS = [0.2, 0.6, 1].map((part) => Math.round(PAIRS * part));
const MOST_GROWTH = 3e6; // bytes, from the first mark to the last
const PLACES = 8; // for processes, or for sessions with a server over HTTP
const KEY = 'alice-0123456789abcdef';

// Starts in a millisecond.
const SERVER = String.raw`while IFS= read -r line; do
  case "$line" in *'"method":"notifications/'*) continue;; esac
  id="$(expr "$line" : '.*"id":\([0-9]*\)')"
  case "$line" in
    *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';;
    *) r='{"content":[]}';;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done`;
const stdio = { command: 'sh', args: ['-c', SERVER], protocolEra: 'legacy', instances: PLACES };
// On one connection only the first client can be told by it. The sessions of the others make room soon.
const makesRoom = { limits: { maxSessions: PLACES }, sessions: { reclaimAfter: '1ms' } };

/** A server over HTTP. */
async function origin(t, keeps) {
  let count = 0;
  const ended = { count: 0 };
  const server = await startOrigin((call, response, body) => {
    const { id, method } = body ?? {};
    if (call.method === 'DELETE') ++ended.count;
    if (call.method !== 'POST') return response.writeHead(call.method === 'DELETE' ? 200 : 405).end();
    if (id === undefined) return response.writeHead(202).end();
    server.requests.length = 0;
    if (method !== 'initialize') return result(response, id, { content: [] });
    const initialized = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } };
    result(response, id, initialized, keeps ? { 'Mcp-Session-Id': `s-${++count}` } : {});
  });
  t.after(server.stop);
  return { config: { url: server.url, protocolEra: 'legacy' }, ended };
}

function post(url, agent, body, headers) {
  const text = JSON.stringify({ jsonrpc: '2.0', ...body });
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        method: 'POST',
        agent,
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          'Content-Length': Buffer.byteLength(text),
          ...headers,
        },
      },
      (response) => {
        let read = '';
        response.on('data', (bytes) => (read += bytes));
        response.on('end', () => resolve({ status: response.statusCode, read }));
      },
    );
    sent.once('error', reject);
    sent.end(text);
  });
}

const INITIALIZE = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } };

async function pair(url, agent, headers, served = true) {
  const opened = await post(url, agent, { id: 1, method: 'initialize', params: INITIALIZE }, headers);
  assert.equal(opened.status, 200);
  assert.match(opened.read, /protocolVersion/);
  const called = await post(
    url,
    agent,
    { id: 2, method: 'tools/call', params: { name: 'x' } },
    { 'MCP-Protocol-Version': '2025-06-18', ...headers },
  );
  assert.equal(called.status, served ? 200 : 400);
  assert.match(called.read, served ? /"content"/ : /session/);
}

const sessionsOf = async (ops) => {
  const lines = (await get(ops, '/metrics')).body.split('\n').filter((line) => line.startsWith('lineward_sessions'));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
};

describe(`${PAIRS} pairs of initialize and call that name no session`, () => {
  const rows = [
    ['a stdio server, each pair on a connection of its own', () => ({ config: stdio }), 'each'],
    ['a stdio server, all on one connection', () => ({ config: stdio }), 'one'],
    ['a stdio server, by principal', () => ({ config: stdio }), 'each', KEY],
    ['an HTTP server without sessions', (t) => origin(t, false), 'each'],
    ['an HTTP server without sessions, on one connection', (t) => origin(t, false), 'one'],
    ['an HTTP server with sessions, each on a connection of its own', (t) => origin(t, true), 'each'],
    ['an HTTP server with sessions, on one connection', (t) => origin(t, true), 'one'],
    ['an HTTP server with sessions, by principal', (t) => origin(t, true), 'each', KEY],
  ];
  for (const [what, serve, connections, key] of rows) {
    test(what, { timeout: 600_000 }, async (t) => {
      const server = await serve(t);
      const config = { listen: { address: '127.0.0.1:0' }, log: { level: 'error' }, ops: { address: '127.0.0.1:0' } };
      if (key) {
        const file = join(temporaryFolder(t), 'keys.txt');
        const line = spawnSync(binary(), ['hash-key', 'alice'], { input: key, encoding: 'utf8' }).stdout;
        writeFileSync(file, line, { mode: 0o600 });
        config.auth = { apiKey: { file } };
      }
      const stateless = /without/.test(what);
      const shared = connections === 'one' && !stateless;
      const s = { ...server.config, ...(shared ? makesRoom : {}) };
      const gateway = await startGatewayFrom(t, { ...config, mcpServers: { s } }, { args: ['--admin', 'off'] });
      const headers = key ? { 'x-api-key': key } : {};
      const kept = new Agent({ keepAlive: true, maxSockets: 1 });
      t.after(() => kept.destroy());
      const seen = [];
      const began = performance.now();
      for (let at = 1; at <= PAIRS; ++at) {
        const agent = connections === 'one' ? kept : new Agent({ keepAlive: true, maxSockets: 1 });
        await pair(gateway.url, agent, headers, !shared || at === 1);
        if (agent !== kept) agent.destroy();
        if (MARKS.includes(at)) seen.push(residentBytes(gateway.pid));
      }
      const took = performance.now() - began;
      const ops = opsOf(gateway);
      // A session without its process lives on: its next request gets another.
      const most = shared ? (server.ended ? PLACES : PAIRS) : key ? 1 : 0;
      let sessions;
      const settled = async () => (sessions = await sessionsOf(ops)) <= (stateless ? 0 : most);
      for (const end = Date.now() + 20_000; !(await settled());)
        assert.ok(Date.now() < end, `${sessions} sessions are left`);
      // The spawner, and a keeper and a process for each session that is left.
      await eventually(() => descendants(gateway.pid).length <= 1 + 2 * Math.min(sessions, PLACES), 'the end of the processes');
      const mb = seen.map((bytes) => (bytes / 1e6).toFixed(2)).join(', ');
      console.log(
        `${what}: ${mb} MB after ${MARKS.join(', ')}; ${sessions} sessions, ${descendants(gateway.pid).length} processes; ` +
          `${(took / PAIRS).toFixed(2)} ms a pair`,
      );
      if (server.ended && !stateless)
        await eventually(() => server.ended.count === PAIRS - sessions, 'the end of the sessions at the server');
      if (!isSanitized(gateway.pid)) assert.ok(seen.at(-1) - seen[0] < MOST_GROWTH, mb);
    });
  }
});
