// This measures a gateway at rest: its memory, that of an idle connection, stream and session, and its wake-ups. It also
// measures the first call by a process that was started ahead.
//
//   node benchmarks/idle.mjs BUILD [--count N]
//
// Memory is the resident memory of Lineward's own process, without the starter of commands and the servers.
import { readFileSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from './fronts.mjs';
import { inFolder, launcher, lineward, median } from './turns.mjs';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { count: { type: 'string', default: '2000' } } });
const build = resolve(positionals[0] ?? 'build');
const count = Math.min(10_000, Number(values.count));
const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

const kib = (pid, what) => Number(new RegExp(`^${what}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);

/** How often the threads of a process were put on a processor. */
function wakeUps(pid) {
  let sum = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
    sum += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)[1]);
  }
  return sum;
}

function request(method, headers, body) {
  const text = body === undefined ? '' : JSON.stringify(body);
  const fields = { Host: '127.0.0.1', Accept: 'application/json, text/event-stream', ...headers };
  if (body !== undefined) Object.assign(fields, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) });
  return `${method} /mcp HTTP/1.1\r\n${Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`;
}

const modern = (method, params) =>
  request(
    'POST',
    { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': method, ...(params.name && { 'Mcp-Name': params.name }) },
    { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } },
  );
const CALL = { name: 'echo', arguments: { nonce: 'n' } };

/** A connection that has sent `text`, once `enough` is true of what it got; the socket and that. */
function open(port, text, enough) {
  return new Promise((done, failed) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let got = '';
    const timer = setTimeout(() => failed(new Error(`no answer in 20 s: ${got.slice(0, 300)}`)), 20_000);
    socket.on('error', failed).on('data', (bytes) => {
      got += bytes;
      if (!enough(got)) return;
      clearTimeout(timer);
      socket.removeAllListeners('data').resume();
      done({ socket, got });
    });
  });
}
const answered = (got) => got.includes('"nonce') || got.includes('n"}') || /\r\n\r\n\{[^]*\}\s*$/.test(got);
const accepted = (got) => got.includes('\r\n\r\n');

async function session(port) {
  const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: 'bench', version: '1' } };
  const first = await open(port, request('POST', {}, { jsonrpc: '2.0', id: 0, method: 'initialize', params }), (got) => got.includes('"serverInfo"'));
  const id = /mcp-session-id: (\S+)/i.exec(first.got)[1];
  const named = { 'Mcp-Session-Id': id, 'MCP-Protocol-Version': LEGACY };
  const told = await open(port, request('POST', named, { jsonrpc: '2.0', method: 'notifications/initialized' }), accepted);
  for (const { socket } of [first, told]) socket.destroy();
  return named;
}

/** Memory for each of `count`, from the second hundred on: the first ones fill what is kept for all. */
async function each(name, pid, make, rows) {
  const sockets = [];
  const add = async (many) => {
    for (let i = 0; i < many; i += 50) sockets.push(...(await Promise.all(Array.from({ length: Math.min(50, many - i) }, make))));
    await sleep(7000); // idle connections rest after 5 s
    return kib(pid, 'VmRSS');
  };
  const before = await add(100);
  const after = await add(count);
  rows.push([name, ((after - before) / count).toFixed(2), 'KiB']);
  for (const socket of sockets) socket.destroy();
}

const out = { errors: [], rows: [] };
const programs = launcher();
await inFolder('idle', programs, out, async (folder) => {
  const origin = await freePort();
  await programs.launch('the origin', [join(build, 'benchmarks/bench-hop-origin'), origin], origin);
  const http = { url: `http://127.0.0.1:${origin}/mcp`, protocolEra: 'modern' };
  const echo = { command: join(build, 'benchmarks/bench-echo-server'), env: { BENCH_LISTENS: '1' } };
  const listen = { maxConnections: count + 500, maxConnectionsPerAddress: count + 500, maxInFlight: count + 500 };
  const start = async (server, more = {}) => {
    const port = await freePort();
    const pid = await programs.launch('lineward', lineward({ build, folder }, port, { listen, mcpServers: { s: server }, ...more }), port);
    await sleep(2000);
    return { port, pid };
  };

  const idle = await start(http);
  out.rows.push(['at rest, resident', (kib(idle.pid, 'VmRSS') / 1024).toFixed(1), 'MiB']);
  out.rows.push(['at rest, not shared with files', (kib(idle.pid, 'RssAnon') / 1024).toFixed(1), 'MiB']);
  const woken = wakeUps(idle.pid);
  await sleep(5000);
  out.rows.push(['at rest, wake-ups', ((wakeUps(idle.pid) - woken) / 5).toFixed(1), '/s']);

  await each('an idle connection', idle.pid, async () => (await open(idle.port, modern('tools/call', CALL), answered)).socket, out.rows);

  const streams = await start({ ...echo, protocolEra: 'modern' });
  const wish = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
  await each('a listening stream', streams.pid, async () => (await open(streams.port, wish, (got) => got.includes('acknowledged'))).socket, out.rows);

  const sessions = await start({ ...echo, protocolEra: 'legacy', isolation: 'shared' });
  await each('a session and its GET stream', sessions.pid, async () => {
    const named = await session(sessions.port);
    return (await open(sessions.port, request('GET', { ...named, Accept: 'text/event-stream' }), accepted)).socket;
  }, out.rows);

  const times = { ready: [], next: [] };
  const ahead = await start({ ...echo, protocolEra: 'legacy', isolation: 'session', instances: 200, pool: { prewarm: 1 } });
  for (let i = 0; i < 31; ++i) {
    await sleep(300); // the next process starts
    for (const [which, state] of [['ready', `state-of-session-${i}`], ['next', `state-of-session-${i}`]]) {
      const text = modern('tools/call', CALL).replace('\r\n', `\r\nLineward-Session: ${state}\r\n`);
      const begun = performance.now();
      (await open(ahead.port, text, answered)).socket.destroy();
      times[which].push(performance.now() - begun);
    }
  }
  out.rows.push(['first call by a process started ahead, p50', median(times.ready).toFixed(2), 'ms']);
  out.rows.push(['second call by it, p50', median(times.next).toFixed(2), 'ms']);
});
for (const [name, value, unit] of out.rows) console.log(`${name.padEnd(44)} ${value.padStart(8)} ${unit}`);
for (const error of out.errors) console.error(error);
process.exit(out.errors.length ? 1 : 0);
