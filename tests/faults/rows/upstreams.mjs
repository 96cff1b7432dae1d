// Rows 13–17: HTTP upstreams that close, reset, keep silent, or cannot be found.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NameServer } from '../lib/dns.mjs';
import { ms } from '../lib/figures.mjs';
import { Middlebox } from '../lib/middlebox.mjs';
import { Origin, EVENTS, answerTo, progress, whole } from '../lib/origin.mjs';
import { program } from '../lib/programs.mjs';

const max = (values) => Math.max(0, ...values);
const TOKEN = { progressToken: 'p' };
const prompt = (ground) => ground.allow(50);

async function origin(ground, serve, options) {
  const one = await Origin.start(serve, options);
  ground.after(() => one.close());
  return one;
}

// The places where the upstream ends its connection: each gets the socket and the request.
const FINS = {
  'before the head': (socket) => socket.end(),
  'in the head': (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Ty'),
  'in the body': (socket, message) => socket.end(whole(answerTo(message)).slice(0, -10)),
  'in a chunk': (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"jsonrpc"'),
  'before an event': (socket) => socket.end(`${EVENTS}0\r\n\r\n`),
  'stream cut before an event': (socket) => socket.end(EVENTS),
  'stream cut after an event': (socket, message) => socket.end(EVENTS + progress(message)),
};

async function closesEarly(ground) {
  let play = 'before the head';
  let connection = 0;
  const up = await origin(ground, (socket, message) => {
    if (play === undefined) {
      if (socket.number === connection) ground.check('a connection was used again', false);
      return socket.write(whole(answerTo(message)));
    }
    connection = socket.number;
    FINS[play](socket, message);
  });
  const gateway = await ground.gateway({ up: { url: up.url, protocolEra: 'modern' } });
  const client = ground.client(gateway, 'up');
  const control = ground.control(gateway);
  await client.call('warm');
  const odd = new Set();
  const times = [];
  const rounds = ground.count(3, 100);
  for (let i = 0; i < rounds; ++i) {
    for (play of Object.keys(FINS)) {
      const got = await client.call('echo', {}, { meta: TOKEN });
      times.push(got.own);
      if (got.end !== 'error' || got.code !== 502) odd.add(`${play}: ${got.end} ${got.code} ${got.reason} ${got.why ?? got.text}`);
      play = undefined;
      const next = await client.call('echo');
      if (next.end !== 'ok') odd.add(`next: ${next.end} ${next.why}`);
    }
  }
  ground.check(`${rounds} × ${Object.keys(FINS).length} places: most ${ms(max(times))}, ${odd.size ? [...odd].join(', ') : 'all 502, no connection used again'}`, odd.size === 0 && max(times) <= ground.bar(50));
  ground.check(`${up.repeated} repeated`, up.repeated === 0);
  await control.stop();
}

async function resetsStream(ground) {
  const up = await origin(ground, (socket, message) => socket.write(EVENTS + progress(message)));
  const box = await Middlebox.before(up.port);
  ground.after(() => box.close());
  const gateway = await ground.gateway({ up: { url: `http://127.0.0.1:${box.port}/mcp`, protocolEra: 'modern' } });
  const client = ground.client(gateway, 'up');
  const control = ground.control(gateway);
  const times = [];
  const odd = new Set();
  for (let i = 0; i < ground.count(10, 500); ++i) {
    let began;
    const got = await client.call('echo', {}, {
      meta: TOKEN,
      onData: (text) => {
        if (began !== undefined || !text.includes('notifications/progress')) return;
        began = performance.now();
        box.reset();
      },
    });
    times.push(performance.now() - began);
    if (got.end !== 'error' || got.code !== 502 || !got.text.includes('event-stream') && !got.text.includes('data: ')) odd.add(`${got.end} ${got.code} ${got.why}`);
  }
  ground.check(`${times.length} resets: ${odd.size ? [...odd].join(', ') : 'each stream ends with a 502 event'}, most ${ms(max(times))}`, odd.size === 0 && max(times) <= prompt(ground));
  await control.stop();
}

async function closesIdle(ground) {
  const calls = ground.count(3000, 100_000);
  const up = await origin(ground, (socket, message) => {
    socket.write(whole(answerTo(message)));
    const dice = ground.random();
    if (dice > 0.3) return;
    // Under the next request, or just before or after it.
    const close = () => (dice < 0.1 ? socket.resetAndDestroy() : socket.end());
    if (dice < 0.2) setImmediate(close);
    else setTimeout(close, 1);
  });
  const gateway = await ground.gateway({ up: { url: up.url, protocolEra: 'modern' } });
  const client = ground.client(gateway, 'up', { sockets: 16 });
  const control = ground.control(gateway, { rps: 50 });
  const ends = {};
  let left = calls;
  const loop = async () => {
    while (left-- > 0) {
      const got = await client.call('echo');
      const how = got.end === 'error' ? `${got.code} ${got.reason}` : got.end;
      ends[how] = (ends[how] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: 16 }, loop));
  const bad = Object.keys(ends).filter((how) => !['ok', '502 upstream_exited', '502 upstream_unreachable', '502 upstream_protocol'].includes(how));
  ground.check(`${calls} calls over ${up.connections} connections: ${Object.entries(ends).map(([how, n]) => `${n} ${how}`).join(', ')}`, bad.length === 0 && ends.ok > calls / 2);
  ground.check(`${up.repeated} run twice`, up.repeated === 0);
  await control.stop();
}

async function silent(ground) {
  const hole = spawn(program('fault-server'), ['--hole'], { stdio: ['pipe', 'pipe', 'inherit'] });
  ground.after(() => hole.kill('SIGKILL'));
  const [port] = await once(hole.stdout.setEncoding('utf8'), 'data');
  const mute = createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
  ground.after(() => mute.close());
  await once(mute, 'listening');
  const plays = {
    head: () => {},
    body: (socket, message) => socket.write(whole(answerTo(message)).slice(0, -10)),
    stream: (socket, message) => socket.write(EVENTS + progress(message)),
  };
  const timeouts = { connect: '400ms', request: '600ms' };
  const servers = {
    connect: { url: `http://127.0.0.1:${port.trim()}/mcp` },
    tls: { url: `https://127.0.0.1:${mute.address().port}/mcp` },
  };
  for (const [name, play] of Object.entries(plays)) servers[name] = { url: (await origin(ground, play)).url };
  for (const server of Object.values(servers)) Object.assign(server, { protocolEra: 'modern', timeouts });
  const gateway = await ground.gateway(servers);
  const control = ground.control(gateway);
  await delay(500);
  for (const name of Object.keys(servers)) {
    const limit = name === 'connect' || name === 'tls' ? 400 : 600;
    const reason = limit === 400 ? 'timeout_connect' : 'timeout_request';
    let late = 0;
    let odd = '';
    for (let i = 0; i < ground.count(2, 10); ++i) {
      const client = ground.client(gateway, name);
      const got = await client.call('echo', {}, { meta: TOKEN });
      late = Math.max(late, got.ms - limit);
      if (got.code !== 504 || got.reason !== reason) odd = `${got.end} ${got.code} ${got.reason} ${got.why}`;
    }
    ground.check(`${name}: ${odd || `504 ${reason} at limit + ${ms(late)}`}`, !odd && late <= ground.allow(250, 1500));
  }
  await control.stop();
}

async function names(ground) {
  const host = '127.0.0.77';
  const up = await origin(ground, (socket, message) => socket.write(whole(answerTo(message))), { host: '127.0.0.1' });
  const table = {
    'gone.faults.test': { code: 3 },
    'silent.faults.test': { silent: true },
    'three.faults.test': { addresses: ['127.0.0.91', '127.0.0.1', '127.0.0.92'] },
    'moves.faults.test': { addresses: ['127.0.0.91'] },
  };
  let server;
  try {
    server = await NameServer.start(host, table);
  } catch (error) {
    return ground.missing(`a name server of its own: bind 127.0.0.77:53 gives ${error.code}`);
  }
  ground.after(() => server.close());
  const conf = join(ground.folder, 'resolv.conf');
  writeFileSync(conf, `nameserver ${host}\noptions timeout:2 attempts:2\n`);
  const servers = {};
  for (const name of Object.keys(table))
    servers[name.split('.')[0]] = { url: `http://${name}:${up.port}/mcp`, protocolEra: 'modern', timeouts: { connect: '700ms' } };
  // The gateway sees a resolv.conf of its own.
  const prefix = ['unshare', '-m', '--propagation', 'private', 'sh', '-c', `mount --bind ${conf} /etc/resolv.conf && exec "$@"`, 'sh'];
  const gateway = await ground.gateway(servers, { prefix });
  const base = await ground.calm(gateway, 0.5);
  const control = ground.control(gateway);
  const ask = (name) => ground.client(gateway, name).call('echo');
  const gone = await ask('gone');
  ground.check(`NXDOMAIN: ${gone.code} ${gone.reason} after ${ms(gone.ms)}`, gone.code === 502 && gone.ms <= 1500);
  const silence = await Promise.all(Array.from({ length: 8 }, () => ask('silent')));
  ground.check(`silence × 8: ${silence[0].code} ${silence[0].reason} at limit + ${ms(max(silence.map((got) => got.ms)) - 700)}`,
    silence.every((got) => got.code === 504 && got.ms <= 700 + ground.allow(250, 1500)));
  const three = await ask('three');
  ground.check(`1 of 3 addresses alive: ${three.end} ${three.why ?? ''} after ${ms(three.ms)}`, three.end === 'ok');
  const before = await ask('moves');
  table['moves.faults.test'].addresses = ['127.0.0.1'];
  const after = await ask('moves');
  ground.check(`answer changes: ${before.end} ${before.code ?? ''}, then ${after.end} ${after.why ?? ''}`, before.code === 502 && after.end === 'ok');
  ground.p99(await control.stop(), base);
}

export const upstreams = [
  { n: 13, fault: 'HTTP upstream: FIN before head, in head, body, chunk, before an event', bar: '502 ≤ 50 ms; connection never used again', run: closesEarly },
  { n: 14, fault: 'upstream RST mid-stream', bar: 'an error event ≤ 50 ms', run: resetsStream },
  { n: 15, fault: 'upstream closes an idle connection under a request', bar: 'repeated only when nothing was written, else 502; 0 run twice in 100,000', run: closesIdle },
  { n: 16, fault: 'upstream silent: connect, TLS, head, body, stream', bar: '504 naming the phase at limit + 250 ms', run: silent },
  { n: 17, fault: 'DNS: NXDOMAIN, silence, 1 of 3 alive, change', bar: '502 or 504 by limit; dead address skipped; others’ p99 ≤ 2×', run: names },
];
