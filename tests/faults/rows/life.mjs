// Rows 29–35: signals, reloads, restarts.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { get } from '../../e2e/lib/operator.mjs';
import { Client, requestBytes } from '../lib/client.mjs';
import { Gateway } from '../lib/gateway.mjs';
import { ms, within } from '../lib/figures.mjs';
import { dial, seen } from '../lib/sockets.mjs';

const max = (values) => Math.max(0, ...values);

/** Loops of calls that go on until the gateway is gone; each end is kept with when it was sent. */
function load(url, loops, sleep) {
  const client = new Client(url, { sockets: loops });
  const ends = [];
  let running = true;
  const done = Promise.all(
    Array.from({ length: loops }, async () => {
      while (running) {
        const sent = performance.now();
        const got = await client.call('sleep', { ms: sleep }, { limitMs: 20_000 });
        ends.push({ ...got, sent });
        if (got.why === 'ECONNREFUSED') return;
      }
    }),
  );
  return {
    ends,
    stop: async () => {
      running = false;
      await done;
      client.close();
    },
  };
}

async function drains(ground) {
  const rounds = ground.count(3, 50);
  const totals = { answered: 0, stale: 0, refused: 0 };
  const bad = new Set();
  let longest = 0;
  let notReady = 0;
  for (let i = 0; i < rounds; ++i) {
    const journal = await ground.journal(`journal-${i}`);
    const gateway = await Gateway.start(ground.folder, { mcpServers: { up: ground.faulty([], { stop: { stdinGrace: '1s', termGrace: '1s' } }, journal) }, shutdown: { delay: '100ms', drain: '10s' } }, { name: `drain-${i}` });
    const stream = await dial(gateway.address);
    stream.socket.write(requestBytes(gateway.url('up'), 'l', 'subscriptions/listen', { notifications: { toolsListChanged: true } }));
    const idle = await dial(gateway.address);
    await seen(stream, 'acknowledged');
    const calls = load(gateway.url('up'), 50, 20);
    await delay(100 + ground.random() * 100);
    gateway.kill('SIGTERM');
    const began = performance.now();
    const ready = await within(90, async () => (await get(gateway.ops, '/readyz').catch(() => ({}))).status === 503, 1);
    if (ready) ++notReady;
    const end = await gateway.ended;
    longest = Math.max(longest, performance.now() - began);
    await calls.stop();
    await Promise.race([stream.gone, delay(1000)]);
    for (const { end: how, nonce, why, reason } of calls.ends) {
      if (how === 'ok') ++totals.answered;
      else if (why === 'ECONNREFUSED') ++totals.refused;
      else if (how === 'closed' && !journal.calls.has(nonce)) ++totals.stale;
      else bad.add(`${how} ${why ?? reason}`);
    }
    if (end !== 0) bad.add(`exit ${end}`);
    if (!/"result":\{[^}]*\}?.*"id":"l"|"id":"l".*"result"/.test(stream.text)) bad.add(`the listen ended without its result: ${stream.text.slice(-100)}`);
    if (!idle.socket.destroyed) bad.add('an idle connection outlived it');
    const left = await gateway.leavesNothing(2000);
    if (left) bad.add(`left ${left}`);
    journal.close();
  }
  ground.check(`${rounds} drains under load: ${totals.answered} answered, ${bad.size ? [...bad].slice(0, 3).join(', ') : '0 lost, exit 0, listens end with their result'}; longest ${ms(longest)}`, bad.size === 0 && longest <= 10_000);
  ground.check(`${totals.stale} on connections just being closed, nothing of them executed; ${totals.refused} refused`, totals.stale <= 50 * rounds);
  ground.check(`readyz 503 before the listener closes: ${notReady} of ${rounds}`, notReady === rounds);
}

async function stopsAtOnce(ground) {
  const plays = { 'second SIGTERM': ['SIGTERM', 'SIGTERM'], 'SIGINT during drain': ['SIGTERM', 'SIGINT'], SIGKILL: ['SIGKILL'] };
  for (const [name, signals] of Object.entries(plays)) {
    let worst = 0;
    const codes = new Set();
    let leftovers = '';
    for (let i = 0; i < ground.count(2, 20); ++i) {
      const gateway = await Gateway.start(ground.folder, { mcpServers: { up: ground.faulty(['--ignore-term']) } }, { name: `stop-${i}` });
      const client = new Client(gateway.url('up'));
      await client.call('echo');
      const hang = client.call('hang', {}, { limitMs: 10_000 });
      await delay(30);
      for (const [at, signal] of signals.entries()) {
        gateway.kill(signal);
        if (at < signals.length - 1) await within(2000, () => /event=drain/.test(gateway.log));
      }
      const began = performance.now();
      codes.add(await gateway.ended);
      leftovers ||= await gateway.leavesNothing(1000);
      worst = Math.max(worst, performance.now() - began);
      await hang;
      client.close();
    }
    const wanted = { 'second SIGTERM': 143, 'SIGINT during drain': 130, SIGKILL: 'SIGKILL' }[name];
    ground.check(`${name}: exit ${[...codes]}, all gone ≤ ${ms(worst)}${leftovers ? `, left ${leftovers}` : ''}`, codes.size === 1 && codes.has(wanted) && !leftovers && worst <= 1100);
  }
}

async function reloads(ground) {
  const [times, calls] = ground.quick ? [5, 4000] : [50, 100_000];
  const journal = await ground.journal();
  const servers = { steady: ground.faulty([], {}, journal), other: ground.faulty() };
  const gateway = await ground.gateway(servers, { cold: [], loose: true });
  const stream = await dial(gateway.address);
  stream.socket.write(requestBytes(gateway.url('steady'), 'l', 'subscriptions/listen', { notifications: { toolsListChanged: true } }));
  await seen(stream, 'acknowledged');
  const before = journal.starts.length;
  const client = ground.client(gateway, 'steady', { sockets: 32 });
  const bad = {};
  let left = calls;
  let done = 0;
  const loops = Promise.all(Array.from({ length: 32 }, async () => {
    while (left-- > 0) {
      const got = await client.call('echo', {}, { limitMs: 5000 });
      ++done;
      if (got.end !== 'ok') bad[`${got.end} ${got.why ?? got.reason}`] = (bad[`${got.end} ${got.why ?? got.reason}`] ?? 0) + 1;
      if (got.why === 'ECONNREFUSED') return;
    }
  }));
  const began = performance.now();
  let sent = 0;
  for (; sent < times && gateway.alive; ++sent) {
    const config = structuredClone(gateway.config);
    config.mcpServers.other.args = ['--late', String(sent % 2)];
    gateway.writeConfig(config);
    gateway.kill('SIGHUP');
    const share = ((sent + 1) / times) * calls;
    await within(60_000, () => done >= share || !gateway.alive, 5);
  }
  await loops;
  if (!gateway.alive) return ground.notYet(`no reload yet: SIGHUP ends the gateway (${gateway.end})`);
  const seconds = (performance.now() - began) / 1000;
  const reloaded = (await gateway.metrics()).sum('lineward_config_reloads_total');
  ground.check(`${sent} SIGHUPs (${reloaded} reloads) under ${Math.round(calls / seconds)} calls/s: ${calls} calls, ${Object.entries(bad).map(([what, n]) => `${n} ${what}`).join(', ') || '0 hard, 0 stale'}`, Object.keys(bad).length === 0 && reloaded >= 1);
  ground.check(`the unchanged server kept its process (${journal.starts.length - before} starts) and its stream`, journal.starts.length === before && !stream.socket.destroyed);
  stream.socket.destroy();
}

async function reloadsBadly(ground) {
  const gateway = await ground.gateway({ gone: ground.faulty(), changed: ground.faulty() }, { loose: true });
  const failedReloads = async () => (await gateway.metrics()).sum('lineward_config_reloads_total') - (await gateway.metrics()).sum('lineward_config_reloads_total', 'result="ok"', '') ;
  const client = ground.client(gateway, 'control');
  const good = gateway.config;
  const before = gateway.log.length;
  gateway.writeConfig({ ...good, listen: { ...good.listen, maxBodyBytes: 'a lot' } });
  gateway.kill('SIGHUP');
  const told = await within(3000, () => !gateway.alive || /event=config\.rejected/.test(gateway.log.slice(before)), 10);
  if (!gateway.alive) return ground.notYet(`no reload yet: SIGHUP ends the gateway (${gateway.end})`);
  const log = gateway.log.slice(before).split('\n').filter((line) => /level=error/.test(line));
  const still = await client.call('echo');
  const metrics = await gateway.metrics();
  ground.check(`broken file: told ${told} (${log.length} error lines), old one in force: ${still.end}, last_reload_successful ${metrics.sum('lineward_config_last_reload_successful')}`,
    told && still.end === 'ok' && log.length === 1 && metrics.sum('lineward_config_last_reload_successful') === 0 && (await failedReloads()) >= 1);
  const calls = [ground.client(gateway, 'gone').call('sleep', { ms: 600 }), ground.client(gateway, 'changed').call('sleep', { ms: 600 })];
  await delay(50);
  const { gone, ...rest } = good.mcpServers;
  gateway.writeConfig({ ...good, mcpServers: { ...rest, changed: { ...rest.changed, args: ['--late', '1'] } } });
  gateway.kill('SIGHUP');
  const ends = await Promise.all(calls);
  ground.check(`calls to a removed and a changed server in flight: ${ends.map(({ end, reason }) => reason ?? end).join(', ')}`, ends.every(({ end }) => end === 'ok'));
  const status = async () => (await ground.client(gateway, 'gone').call('echo')).status;
  ground.check(`the removed server then: HTTP ${await status()}`, (await status()) === 404);
  const changed = await ground.client(gateway, 'changed').call('echo');
  ground.check(`the changed one: ${changed.end}`, changed.end === 'ok');
  ground.missing('a rotated TLS key: the listener has no TLS yet');
}

async function supervised(ground) {
  const rounds = ground.count(5, 100);
  const port = await ground.freePort();
  const socket = join(ground.folder, 'admin.sock');
  const config = { listen: { address: `127.0.0.1:${port}` }, ops: { address: 'off' }, admin: { address: `unix:${socket}` }, mcpServers: { up: ground.faulty() } };
  const startTimes = [];
  const odd = new Set();
  let gateway = await Gateway.start(ground.folder, config, { name: 'supervised-0' });
  for (let i = 1; i <= rounds; ++i) {
    const client = new Client(gateway.url('up'), { sockets: 8 });
    const calls = Array.from({ length: 8 }, () => client.call('sleep', { ms: 200 }));
    await delay(20);
    gateway.kill('SIGKILL');
    await gateway.ended;
    const before = gateway;
    gateway = await Gateway.start(ground.folder, config, { name: `supervised-${i}` });
    startTimes.push(gateway.ownStartMs);
    for (const { end, why } of await Promise.all(calls)) if (end !== 'closed') odd.add(`${end} ${why}`);
    client.close();
    const left = await before.leavesNothing(1000);
    if (left) odd.add(`left ${left}`);
  }
  await gateway.stop();
  ground.check(`${rounds} kills: listening again after most ${ms(max(startTimes))}`, max(startTimes) <= ground.bar(200, 3000));
  ground.check(`${odd.size ? [...odd].slice(0, 3).join(', ') : 'clients saw resets only, no process left'}; socket file ${existsSync(socket) ? 'left' : 'gone'}`, odd.size === 0 && !existsSync(socket));
  if (/error/i.test(readFileSync(gateway.logPath, 'utf8').replace(/level=\w+/g, ''))) ground.note('the last log speaks of an error');
}

export const life = [
  { n: 29, fault: 'SIGTERM under load, 50 times', bar: 'every accepted request answered; listens end with their result; readyz 503 first; exit 0 within the grace', run: drains },
  { n: 30, fault: 'second SIGTERM, SIGINT during drain, SIGKILL', bar: 'exit 143, 130 at once; processes gone ≤ 1 s', run: stopsAtOnce },
  { n: 31, fault: 'SIGHUP × 50 under load', bar: '0 hard, 0 stale in 100,000; unchanged servers keep processes and streams', run: reloads },
  { n: 32, fault: 'SIGHUP: broken file, removed and changed server', bar: 'old one stays, told once; removed ones drain; changed ones restart after their calls', run: reloadsBadly },
  { n: 33, fault: 'binary upgrade', bar: '0 hard lost; stale ≤ 1 per 1,000', notRun: 'no listener is handed over yet (neither fd passing nor SO_REUSEPORT): a later feature' },
  { n: 34, fault: 'kill -9 and restart, 100 times', bar: 'listening ≤ 200 ms; no orphan; no stale socket file; resets only', run: supervised },
  { n: 35, fault: 'TLS: stalled handshake, garbage, 1-byte records, key gone at reload', bar: 'cut at 10 s; ≤ 20 kB half-open; old key kept', notRun: 'the listener speaks no TLS (it has no option for a certificate): a later feature' },
];
