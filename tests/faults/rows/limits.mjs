// Rows 23–25 and 37: no more descriptors, processes, memory.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeGroup } from '../lib/cgroup.mjs';
import { Gateway } from '../lib/gateway.mjs';
import { cpuSeconds, mib, ms, peakBytes, quantile, resetPeak, rssBytes } from '../lib/figures.mjs';
import { dial, many } from '../lib/sockets.mjs';

const REFUSED = ['upstream_exited', 'upstream_unreachable', 'queue_full', 'circuit_open', 'internal'];

async function noDescriptors(ground) {
  const wanted = ground.count(600, 1000);
  const gateway = await ground.gateway({ cold: ground.faulty() }, { prefix: ['prlimit', '--nofile=256:256'], cold: ['cold'] });
  // A server that has no process yet needs descriptors for one.
  const held = await many(wanted, () => dial(gateway.address).catch(() => undefined), 100);
  await delay(300);
  const cpu = cpuSeconds(gateway.pid);
  const seconds = ground.count(1, 4);
  await delay(seconds * 1000);
  const used = (cpuSeconds(gateway.pid) - cpu) / seconds;
  const refused = held.filter((one) => one && one.socket.destroyed).length;
  ground.check(`${wanted} connections at 256 descriptors: ${refused} closed at once, ${(used * 100).toFixed(1)} % of a core`, used < (ground.sanitized ? 0.2 : 0.05));
  ground.check('still alive', gateway.alive);
  for (const one of held) one?.socket.destroy();
  const began = performance.now();
  const client = ground.client(gateway, 'control');
  let got;
  do {
    got = await client.call('echo', {}, { limitMs: 3000 });
  } while (got.end !== 'ok' && performance.now() - began < 5000);
  const took = performance.now() - began;
  ground.check(`serves again after ${ms(took)}`, got.end === 'ok' && took <= 1000 + ground.count(1000, 0));
  // Now just so many connections that one call fits, but no process.
  const full = await Gateway.start(ground.folder, { mcpServers: { up: ground.faulty([], { isolation: 'call', timeouts: { startup: '3s' }, restart: { maxBackoff: '200ms' } }) } }, { prefix: ['prlimit', '--nofile=40:40'], name: 'full' });
  ground.after(async () => {
    await full.stop();
    await full.leavesNothing(2000);
  });
  const other = ground.client(full, 'up', { sockets: 12 });
  const ends = await Promise.all(Array.from({ length: 12 }, () => other.call('sleep', { ms: 300 }, { limitMs: 8000 })));
  const odd = ends.filter(({ end, reason }) => end !== 'ok' && end !== 'closed' && !REFUSED.includes(reason) && !/^timeout_/.test(reason));
  const ok = ends.filter(({ end }) => end === 'ok').length;
  const failed = ends.find(({ end }) => end === 'error');
  ground.check(`no descriptor for a process: ${ok} ok, ${ends.length - ok} refused (${failed ? `${failed.code} ${failed.reason}` : ends.find(({ end }) => end !== 'ok')?.end ?? 'none'})`, odd.length === 0);
  ground.check(`alive, then ${(await other.call('echo', {}, { limitMs: 8000 })).end}`, full.alive);
}

async function noProcesses(ground) {
  const group = makeGroup('pids', 'max');
  const servers = {
    missing: { command: '/nowhere/at-all', protocolEra: 'modern' },
    forbidden: { command: join(ground.folder, 'forbidden'), protocolEra: 'modern' },
    noformat: { command: join(ground.folder, 'noformat'), protocolEra: 'modern' },
    more: ground.faulty([], { isolation: 'call', instances: 200, timeouts: { startup: '5s' }, restart: { maxBackoff: '200ms' }, circuitBreaker: { consecutiveFailures: 0 } }),
  };
  writeFileSync(join(ground.folder, 'forbidden'), '#!/bin/sh\n');
  chmodSync(join(ground.folder, 'forbidden'), 0o644);
  writeFileSync(join(ground.folder, 'noformat'), 'no program\n');
  chmodSync(join(ground.folder, 'noformat'), 0o755);
  const cold = ['missing', 'forbidden', 'noformat', 'more'];
  const gateway = await ground.gateway(servers, { prefix: group?.join ?? [], cold });
  const control = ground.control(gateway);
  for (const name of cold.slice(0, 3)) {
    const got = await ground.client(gateway, name).call('echo');
    const says = /no such file|ENOENT|not found|permission|EACCES|format|ENOEXEC|exit/i.test(got.why ?? '');
    ground.check(`${name}: ${got.code} ${got.reason} after ${ms(got.ms)} (${got.why})`, got.end === 'error' && REFUSED.includes(got.reason) && says);
  }
  const cpu = cpuSeconds(gateway.pid);
  const seconds = ground.count(1, 5);
  await delay(seconds * 1000);
  const used = (cpuSeconds(gateway.pid) - cpu) / seconds;
  ground.check(`no spin: ${(used * 100).toFixed(1)} % of a core with the control`, used < (ground.sanitized ? 0.6 : 0.15));
  if (group) {
    ground.after(() => group.remove());
    const now = gateway.children().length + 1;
    group.set(now + 2);
    const client = ground.client(gateway, 'more', { sockets: 20 });
    const ends = await Promise.all(Array.from({ length: 20 }, () => client.call('sleep', { ms: 50 }, { limitMs: 15_000 })));
    const ok = ends.filter(({ end }) => end === 'ok').length;
    const other = ends.find(({ end }) => end !== 'ok');
    ground.check(`EAGAIN in fork: ${ok} of 20 ok, others ${other ? `${other.code} ${other.reason} (${other.why})` : 'none'}`,
      ends.every(({ end, reason }) => end === 'ok' || REFUSED.includes(reason) || /^timeout_/.test(reason)));
    group.set('max');
    await delay(300);
    const back = await client.call('echo', {}, { limitMs: 10_000 });
    ground.check(`processes again: ${back.end} ${back.why ?? ''}`, back.end === 'ok');
  } else {
    ground.missing('EAGAIN in fork: no control group may be made here (pids controller)');
  }
  await control.stop();
}

async function noMemory(ground) {
  const most = ground.count(6, 60);
  const outcomes = { served: 0, aborted: 0 };
  const odd = [];
  for (let i = 0; i < most; ++i) {
    const every = Math.max(1, Math.round(5000 ** (i / (most - 1))));
    const hook = ground.hook({ malloc: !ground.sanitized && i % 2 === 1 });
    const gateway = await Gateway.start(ground.folder, { mcpServers: { up: ground.faulty() } }, { hook, name: `memory-${i}` });
    const client = ground.client(gateway, 'up', { sockets: 8 });
    const first = await client.call('echo');
    if (first.end !== 'ok') odd.push(`before: ${first.end} ${first.why}`);
    hook.set('every', every);
    const ends = await Promise.all(Array.from({ length: 40 }, () => client.call('echo', {}, { limitMs: 5000 })));
    hook.set('every', 0);
    for (const { end } of ends) if (end === 'wrong') odd.push(`wrong answer at every ${every}th`);
    if (gateway.alive) {
      const after = await client.call('echo', {}, { limitMs: 5000 });
      if (after.end === 'ok') ++outcomes.served;
      // It may be on its way out: a report of a sanitizer takes a while to write.
      else if ((await Promise.race([gateway.ended.then(() => true), delay(3000)])) === undefined && gateway.alive)
        odd.push(`every ${every}th: afterwards ${after.end}`);
    }
    client.close();
    if (!gateway.alive || (await Promise.race([gateway.ended, delay(20)])) !== undefined) {
      if (gateway.end !== 'SIGABRT' && gateway.end !== 70 && gateway.end !== 71) odd.push(`every ${every}th: ended with ${gateway.end}`);
      else if (!/memory|bad_alloc/i.test(gateway.log)) odd.push(`every ${every}th: ${gateway.end} without a word`);
      else ++outcomes.aborted;
    } else {
      await gateway.stop();
    }
    if (/AddressSanitizer: (?!allocation|out of memory|requested)|runtime error:/.test(gateway.log)) odd.push(`every ${every}th: a sanitizer reported`);
    const left = await gateway.leavesNothing(5000);
    if (left) odd.push(`every ${every}th left ${left}`);
  }
  ground.check(`${most} rates from every to every 5,000th: ${outcomes.served} served on, ${outcomes.aborted} clean aborts with a message${odd.length ? `; ${[...new Set(odd)].slice(0, 4).join(', ')}` : ''}`, odd.length === 0);
  if (ground.sanitized) return ground.missing('RLIMIT_AS: a sanitizer reserves terabytes');
  const gateway = await ground.gateway({ up: ground.faulty([], { limits: { maxMessageBytes: '32MiB' } }) }, { prefix: ['prlimit', `--as=${128 << 20}`], loose: true }).catch((error) => error);
  if (gateway instanceof Error) return ground.check(`RLIMIT_AS 128 MB: ${gateway.message.slice(0, 200)}`, false);
  const client = ground.client(gateway, 'up', { sockets: 16 });
  const ends = await Promise.all(Array.from({ length: 48 }, () => client.call('echo', { bytes: 2 << 20 }, { limitMs: 20_000 })));
  const count = (end) => ends.filter((got) => got.end === end).length;
  if (gateway.alive) {
    const after = await client.call('echo');
    ground.check(`RLIMIT_AS 128 MB, 48 answers of 2 MiB: ${count('ok')} ok, ${count('error')} errors, ${count('closed')} closed, then ${after.end}`, after.end === 'ok' && count('wrong') === 0);
  } else {
    ground.check(`RLIMIT_AS 128 MB: ended with ${gateway.end}: ${gateway.log.slice(-120)}`, gateway.end === 'SIGABRT' && /memory|bad_alloc/i.test(gateway.log));
  }
}

async function bigMessages(ground) {
  const gateway = await ground.gateway({ up: ground.faulty([], { limits: { maxInFlight: 16, maxQueue: 2000 } }) });
  const client = ground.client(gateway, 'up', { sockets: ground.count(50, 1000) });
  const control = ground.control(gateway, { rps: 20 });
  for (const size of ground.quick ? [1, 8] : [1, 4, 16, 31, 64]) {
    resetPeak(gateway.pid);
    const before = rssBytes(gateway.pid);
    const got = await client.call('echo', { bytes: size << 20 }, { limitMs: 30_000 });
    const growth = peakBytes(gateway.pid) - before;
    const fits = size < 32;
    ground.check(`${size} MiB answer: ${got.end}${got.code ? ` ${got.code}` : ''}, RSS peak +${mib(growth)}`,
      (fits ? got.end === 'ok' : got.code === 502) && (ground.sanitized || growth <= Math.max(4 * size, 10) * 2 ** 20));
  }
  const n = ground.count(50, 1000);
  resetPeak(gateway.pid);
  const before = rssBytes(gateway.pid);
  const pad = 'x'.repeat(1 << 20);
  const ends = await Promise.all(Array.from({ length: n }, () => client.call('echo', { pad }, { limitMs: 100_000 })));
  const growth = peakBytes(gateway.pid) - before;
  const count = (what) => ends.filter((got) => what(got)).length;
  const ok = count(({ end }) => end === 'ok');
  const refused = count(({ code, status }) => code === 503 || code === 504 || status === 503 || status === 429);
  ground.check(`${n} requests of 1 MiB at once: ${ok} ok, ${refused} refused, RSS peak +${mib(growth)} (${(growth / n / 2 ** 20).toFixed(1)}× the payload), p99 ${ms(quantile(ends.map((got) => got.ms), 0.99))}`,
    ok + refused === n && ok > 0 && (ground.sanitized || growth <= Math.max(3 * n, 50) * 2 ** 20));
  await control.stop();
}

export const limits = [
  { n: 23, fault: '256 descriptors under 1,000 connections', bar: 'no spin (< 5 % CPU), closed and counted; serves in 1 s; no process: refused', run: noDescriptors },
  { n: 24, fault: 'no more processes (EAGAIN in fork); ENOENT, EACCES, ENOEXEC', bar: 'error with the reason, backoff, no spin', run: noProcesses },
  { n: 25, fault: 'every Nth allocation fails, N = 1…5,000; RLIMIT_AS 128 MB', bar: 'error, close, or a clean abort with a message; never corruption', run: noMemory },
  { n: 37, fault: '1 MB to 64 MB answers; 1,000 requests of 1 MB at once', bar: 'capped: RSS ≤ in-flight cap; refused past it; never 10× the payload', run: bigMessages },
];
