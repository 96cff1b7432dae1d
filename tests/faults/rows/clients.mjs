// Rows 18–22: clients that are slow, that leave in every state, and that are very many.
import { setTimeout as delay } from 'node:timers/promises';
import { newNonce, requestBytes } from '../lib/client.mjs';
import { cpuSeconds, kib, mib, ms, peakBytes, quantile, resetPeak, rssBytes, watchWaits, within } from '../lib/figures.mjs';
import { dial, many, seen } from '../lib/sockets.mjs';

async function slowloris(ground) {
  const [head, body] = ground.quick ? [600, 1000] : [2000, 4000];
  const listen = { headTimeout: `${head}ms`, readTimeout: `${body}ms` };
  const gateway = await ground.gateway({ up: ground.faulty() }, { listen });
  const control = ground.control(gateway);
  const n = ground.count(20, 300);
  const request = requestBytes(gateway.url('up'), 1, 'tools/call', { name: 'echo', arguments: { nonce: 'slow' } });
  const split = request.indexOf('\r\n\r\n') + 4;
  const drip = async (one, text) => {
    for (const byte of text) {
      if (one.socket.destroyed) return;
      one.socket.write(byte);
      await delay(100);
    }
  };
  const play = async (isHead) => {
    const one = await dial(gateway.address);
    const began = performance.now();
    if (!isHead) one.socket.write(request.slice(0, split));
    drip(one, isHead ? request.slice(0, split - 2) : request.slice(split, -1)).catch(() => {});
    const at = await Promise.race([one.gone, delay(15_000)]);
    one.socket.destroy();
    return { late: (at ?? Infinity) - began - (isHead ? head : body), is408: one.text.startsWith('HTTP/1.1 408') };
  };
  const heads = Promise.all(Array.from({ length: n }, () => play(true)));
  const bodies = Promise.all(Array.from({ length: n }, () => play(false)));
  for (const [what, got] of [['heads', await heads], ['bodies', await bodies]]) {
    const cut = got.filter(({ late, is408 }) => is408 && late <= 1000 + (ground.sanitized ? 1000 : 0)).length;
    ground.check(`slow ${what}: ${cut} of ${n} cut with 408, latest at limit + ${ms(Math.max(...got.map(({ late }) => late)))}`, cut === n);
  }
  const { p99 } = await control.stop();
  ground.check(`control p99 ${ms(p99)}`, p99 <= ground.bar(50, 250));
}

async function slowReaders(ground) {
  const readers = ground.count(16, 64);
  const gateway = await ground.gateway({ flood: ground.faulty() });
  const client = ground.client(gateway, 'flood');
  const calls = async (seconds) => {
    const times = [];
    for (const end = performance.now() + seconds * 1000; performance.now() < end; await delay(5)) {
      const got = await client.call('echo');
      if (got.end !== 'ok') ground.check(`another caller of the child: ${got.end} ${got.why}`, false);
      times.push(got.own);
    }
    return times;
  };
  const base = quantile(await calls(1), 0.99);
  resetPeak(gateway.pid);
  const before = peakBytes(gateway.pid);
  const control = ground.control(gateway);
  const seconds = ground.count(3, 8);
  const stuck = await many(readers, async (i) => {
    const one = await dial(gateway.address);
    one.socket.pause();
    // A single one floods (the child is one); all get progress of their own, which they do not
    // read.
    one.socket.write(requestBytes(gateway.url('flood'), i, 'tools/call', {
      name: 'script',
      arguments: { nonce: newNonce(), steps: `flood-progress:${i === 0 ? seconds * 1000 : 60}` },
      _meta: { progressToken: `p${i}` },
    }));
    return one;
  });
  const times = await calls(seconds);
  const growth = (peakBytes(gateway.pid) - before) / readers;
  const slow = (await gateway.metrics()).sum('lineward_requests_total', 'reason="client_too_slow"');
  for (const { socket } of stuck) socket.destroy();
  ground.check(`${readers} readers: RSS peak +${kib(growth)} each`, ground.sanitized || growth <= 300 * 1024 * (readers < 64 ? 2 : 1));
  const p99 = quantile(times, 0.99);
  ground.check(`others of the same child p99 ${ms(p99)} (base ${ms(base)})`, p99 <= Math.max(2 * base, ground.bar(150, 1500)));
  ground.check(`${slow} cut as client_too_slow`, slow >= 1);
  await control.stop();
}

// How far a client comes before it leaves. `sent`: the child has the request, and must be told exactly once.
const STATES = {
  connected: { bytes: () => '' },
  'in the line': { bytes: (request) => request.slice(0, 10) },
  'in the head': { bytes: (request) => request.slice(0, 60) },
  'in the body': { bytes: (request) => request.slice(0, -5) },
  queued: { server: 'full' },
  'sent to the child': { sent: true },
  'first event': { sent: true, tool: { name: 'hang', progress: true }, until: 'data: ' },
  'mid event': { sent: true, tool: { name: 'script', steps: `progress:1 hex:${Buffer.from('{"jsonrpc":"2.0","met').toString('hex')} deaf:30 hex:${Buffer.from('hod":"notifications/x"}\n').toString('hex')}` }, until: 'data: ', lost: true },
  'between events': { sent: true, tool: { name: 'script', steps: 'progress:1 wait:20 progress:2' }, until: '"progress":2', lost: true },
  'last event': { tool: { name: 'script', steps: 'progress:1 answer' }, until: '"text":"', done: true },
  error: { tool: { name: 'nothing-of-the-kind' }, bytes: (request) => request.replace('"jsonrpc":"2.0"', '"jsonrpc":"1.0"'), until: '-32600', done: true },
  'keep-alive idle': { tool: { name: 'echo' }, until: '"text":"', done: true },
  pipelined: { sent: true, twice: true },
};

async function leavesAnywhere(ground) {
  const journal = await ground.journal();
  const servers = {
    up: ground.faulty([], { limits: { maxInFlight: 1000 } }, journal),
    full: ground.faulty([], { limits: { maxInFlight: 1 } }, journal),
  };
  const gateway = await ground.gateway(servers);
  const control = ground.control(gateway);
  const blocker = ground.client(gateway, 'full').call('hang', {}, { nonce: 'blocker', limitMs: 600_000 });
  await journal.called('blocker');
  const runs = Math.ceil(ground.count(60, 10_000) / (2 * Object.keys(STATES).length));
  const odd = {};
  const complain = (state, what) => (odd[`${state}: ${what}`] = (odd[`${state}: ${what}`] ?? 0) + 1);
  const told = [];
  const once = async (name, state, how) => {
    const nonce = newNonce();
    const { name: tool, ...args } = state.tool ?? { name: 'hang' };
    const request = requestBytes(gateway.url(state.server ?? 'up'), 1, 'tools/call', {
      name: tool,
      arguments: { nonce, ...args },
      _meta: { progressToken: nonce },
    });
    const one = await dial(gateway.address);
    one.socket.write(state.bytes?.(request) ?? request);
    if (state.twice) one.socket.write(request.replaceAll(nonce, `${nonce}-2`));
    if (state.sent) await journal.called(nonce);
    if (state.until) await seen(one, state.until);
    if (how === 'FIN') one.socket.end();
    else one.socket.resetAndDestroy();
    if (state.sent) {
      await journal.until(() => journal.cancels.has(nonce) || state.lost, `${name}: the cancel`).catch(() => complain(name, 'no cancel'));
      told.push({ nonce, name });
    } else if (state.done && journal.cancels.has(nonce)) complain(name, 'a cancel after the end');
    if (how === 'FIN' && !(await Promise.race([one.gone, delay(2000)]))) complain(name, 'not closed');
    one.socket.destroy();
  };
  for (const [name, state] of Object.entries(STATES))
    for (const how of ['FIN', 'RST'])
      await many(runs, () => once(name, state, how).catch((error) => complain(name, error.message)), 8);
  await delay(100);
  for (const { nonce, name } of told) if ((journal.cancels.get(nonce) ?? 0) > 1) complain(name, 'cancelled twice');
  const queuedSent = [...journal.calls.keys()].length;
  ground.note(`${queuedSent} of the requests reached the child`);
  const faults = Object.entries(odd).map(([what, n]) => `${n} × ${what}`);
  ground.check(`${2 * runs * Object.keys(STATES).length} leavings in ${Object.keys(STATES).length} states: ${faults.length ? faults.join(', ') : 'each child call cancelled exactly once'}`, faults.length === 0);
  ground.missing('the state "TLS": the listener has no TLS yet');
  const client = ground.client(gateway, 'full');
  client.close();
  ground.clients.forEach((one) => one.close());
  await blocker;
  await control.stop();
}

async function idleStreams(ground) {
  const n = ground.count(500, 10_000);
  const journal = await ground.journal();
  const keepAlive = ground.count(500, 15_000);
  const gateway = await ground.gateway({ up: ground.faulty([], {}, journal) }, { listen: { maxConnections: 20_000, keepAlive: `${keepAlive}ms` } });
  const control = ground.control(gateway, { rps: 50 });
  const before = rssBytes(gateway.pid);
  const listen = (i) => requestBytes(gateway.url('up'), i, 'subscriptions/listen', { notifications: { toolsListChanged: true } });
  const open = await many(n, async (i) => {
    // More than the ports of one address allow.
    const one = await dial(gateway.address);
    one.socket.write(listen(i));
    await seen(one, 'acknowledged', 30_000);
    one.text = '';
    one.look = undefined;
    return one;
  });
  const held = rssBytes(gateway.pid) - before;
  ground.check(`${n} streams: RSS +${mib(held)}, ${kib(held / n)} each`, ground.sanitized || held <= Math.max(9 * 1024 * n, 9 * 2 ** 20));
  const seconds = ground.count(2, 45);
  const cpu = cpuSeconds(gateway.pid);
  await delay(seconds * 1000);
  const used = (cpuSeconds(gateway.pid) - cpu) / seconds;
  const cut = open.filter(({ socket }) => socket.destroyed).length;
  ground.check(`${seconds} s idle (of 10 min): ${(used * 100).toFixed(1)} % of a core with control at 50/s, ${cut} cut`, cut === 0 && used <= (ground.quick || ground.sanitized ? 1 : 0.1));
  const waits = watchWaits([gateway.pid, ...gateway.children().map(({ pid }) => pid)]);
  for (const { socket } of open) socket.destroy();
  const began = performance.now();
  const over = () => journal.unlistens >= journal.listens;
  await journal.until(over, 'the upstream cancels', 15_000).catch(() => {});
  const took = performance.now() - began - waits();
  ground.check(`all closed: ${journal.unlistens} of ${journal.listens} upstream listens cancelled in ${ms(took)}`, over() && took <= (ground.sanitized ? 5000 : 1000 + ground.count(1000, 0)));
  await control.stop();
  const back = await within(5000, () => rssBytes(gateway.pid) - before <= Math.max(0.2 * held, 8 * 2 ** 20), 100);
  ground.check(`RSS then +${mib(rssBytes(gateway.pid) - before)}`, back || ground.sanitized);
}

async function idleConnections(ground) {
  const [fresh, kept] = ground.quick ? [500, 300] : [10_000, 5000];
  const idle = ground.count(3000, 12_000);
  const listen = { maxConnections: 20_000, idleTimeout: `${idle}ms`, headTimeout: `${idle}ms` };
  const gateway = await ground.gateway({ up: ground.faulty() }, { listen });
  // A connection that is always in use: an idle one may be cut under a request.
  const control = ground.control(gateway, { rps: 50, sockets: 1 });
  const before = rssBytes(gateway.pid);
  const made = performance.now();
  const idles = await many(fresh, () => dial(gateway.address));
  const cost = (rssBytes(gateway.pid) - before) / fresh;
  ground.check(`${fresh} idle: ${kib(cost)} each`, ground.sanitized || ground.quick || cost <= 1.5 * 1024);
  await Promise.race([Promise.all(idles.map(({ gone }) => gone)), delay(idle * 2 + 8000)]);
  const left = idles.filter(({ socket }) => !socket.destroyed);
  ground.check(`${fresh - left.length} cut, the last ${ms(performance.now() - made)} after the first was made (limit ${idle} ms)`, left.length === 0);
  for (const { socket } of left) socket.destroy();
  const then = rssBytes(gateway.pid);
  const request = requestBytes(gateway.url('up'), 1, 'tools/call', { name: 'echo', arguments: { nonce: 'kept' } });
  const keeps = await many(kept, async () => {
    const one = await dial(gateway.address);
    one.socket.write(request);
    await seen(one, '"text":"kept"');
    return one;
  }, 60);
  const each = (rssBytes(gateway.pid) - Math.min(before, then)) / kept;
  ground.check(`${kept} keep-alive: ${kib(each)} each`, ground.sanitized || ground.quick || each <= 9 * 1024);
  await Promise.race([Promise.all(keeps.map(({ gone }) => gone)), delay(idle + 8000)]);
  ground.check(`${keeps.filter(({ socket }) => socket.destroyed).length} cut`, keeps.every(({ socket }) => socket.destroyed));
  for (const { socket } of keeps) socket.destroy();
  await control.stop();
}

export const clients = [
  { n: 18, fault: 'slowloris heads, slow bodies', bar: '100 % cut by limit + 1 s with 408; control p99 ≤ 50 ms', run: slowloris },
  { n: 19, fault: '64 slow readers of streams on one flooding child', bar: '≤ 300 kB each; others of the child p99 ≤ 2× base; cut', run: slowReaders },
  { n: 20, fault: 'client leaves in each of 14 states, FIN and RST, 10,000 times', bar: '0 leaks; exactly one cancel iff the child had it', run: leavesAnywhere, limit: 400 },
  { n: 21, fault: '10,000 idle streams, then all closed', bar: '≤ 90 MB over base, ≤ 5 % of a core; upstream cancelled ≤ 1 s; RSS back', run: idleStreams },
  { n: 22, fault: '10,000 idle connections; 5,000 keep-alive', bar: '≤ 1.5 kB and ≤ 9 kB each; cut at the limit', run: idleConnections },
];
