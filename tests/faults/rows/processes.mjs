// Rows 1–4 and 9–12: processes that die, hang, flood and leave others behind.
import { readFileSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuSeconds, mib, ms, peakBytes, quantile, resetPeak, within } from '../lib/figures.mjs';

const hex = (text) => Buffer.from(text, 'latin1').toString('hex');
const HALF = hex('{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"te');
const max = (values) => Math.max(0, ...values);

/** Every one of these ended as an error of the gateway's with that code and one of these reasons. */
const all = (ends, code, ...reasons) => ends.every((got) => got.end === 'error' && got.code === code && reasons.includes(got.reason));
const others = (ends, code, ...reasons) => {
  const odd = ends.find((got) => !all([got], code, ...reasons));
  return odd ? ` (${odd.end} ${odd.code ?? ''} ${odd.reason ?? ''} ${odd.why ?? ''})` : '';
};

async function killedMidResponse(ground) {
  const names = ['a', 'b', 'c', 'd'];
  const rounds = Math.ceil(ground.count(40, 1000) / names.length);
  const journal = await ground.journal();
  const servers = Object.fromEntries(names.map((name) => [name, ground.faulty([], {}, journal)]));
  const gateway = await ground.gateway(servers);
  const control = ground.control(gateway);
  const ends = [];
  const next = [];
  await Promise.all(
    names.map(async (name) => {
      const client = ground.client(gateway, name);
      for (let i = 0; i < rounds; ++i) {
        const waiting = [client.call('hang'), client.call('hang')];
        const began = performance.now();
        ends.push(await client.call('script', { steps: `hex:${HALF} kill` }));
        const rest = await Promise.all(waiting);
        for (const got of rest) ends.push({ ...got, ms: performance.now() - began });
        next.push(await client.call('echo'));
      }
    }),
  );
  await control.stop();
  const bar = ground.allow(100);
  const dead = ends.filter((got) => got.reason === 'upstream_exited');
  ground.check(`${rounds * names.length} deaths, ${dead.length} of ${ends.length} calls ended 502 upstream_exited${others(ends, 502, 'upstream_exited')}`, dead.length === ends.length);
  const slow = quantile(dead.map((got) => got.ms), 0.99);
  ground.check(`p99 ${ms(slow)}, most ${ms(max(dead.map((got) => got.ms)))}`, slow <= bar);
  ground.check(`${journal.repeated} repeated`, journal.repeated === 0);
  const served = next.filter((got) => got.end === 'ok');
  ground.check(`next call by a new process: ${served.length} of ${next.length}${others(next.filter((got) => got.end !== 'ok'), 0)}, p50 ${ms(quantile(next.map((got) => got.ms), 0.5))}, p99 ${ms(quantile(next.map((got) => got.ms), 0.99))}, most ${ms(max(next.map((got) => got.ms)))}`,
    served.length === next.length && max(next.map((got) => got.ms)) <= ground.allow(500, 3000));
}

async function exitsBeforeFirstAnswer(ground) {
  const journal = await ground.journal();
  const words = "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'";
  const broken = ground.faulty(['--stderr', words, '--exit', '3'], {}, journal);
  const gateway = await ground.gateway({ broken }, { cold: ['broken'] });
  const client = ground.client(gateway, 'broken', { sockets: 100 });
  const control = ground.control(gateway);
  const first = await client.call('echo');
  ground.check(`first call ${first.code} ${first.reason} after ${ms(first.ms)}`,
    first.end === 'error' && [502, 503].includes(first.code) && first.ms <= ground.allow(100));
  ground.check(`names exit code and last line: ${/\b3\b/.test(first.why) && /ERR_MODULE_NOT_FOUND/.test(first.why)}`,
    /\b3\b/.test(first.why) && /ERR_MODULE_NOT_FOUND/.test(first.why));
  // 1,000 calls a second (or as many as the load side makes), longer than the pauses take to grow.
  const seconds = ground.count(8, 20);
  const settled = ground.count(5, 10);
  const began = performance.now();
  const rps = ground.count(100, 1000);
  let sent = 0;
  const open = new Set();
  const ends = [];
  while (performance.now() - began < seconds * 1000) {
    while (sent < ((performance.now() - began) / 1000) * rps && open.size < 1000) {
      ++sent;
      const call = client.call('echo', {}, { limitMs: 15_000 }).then((got) => ends.push(got)).finally(() => open.delete(call));
      open.add(call);
    }
    await delay(5);
  }
  const starts = journal.starts.filter((at) => at - began > settled * 1000).length;
  const rate = starts / (seconds - settled);
  ground.check(`${sent} calls in ${seconds} s: ${journal.starts.length} starts, ${rate.toFixed(2)}/s after ${settled} s`, rate <= (ground.quick ? 1.5 : 1));
  gateway.settleMs = 20_000;
  await Promise.all(open);
  const hung = ends.filter((got) => got.end !== 'error');
  ground.check(`${hung.length} without an error`, hung.length === 0);
  await control.stop();
}

/** A process that floods is ended; its call says why, and the next one has a new process. */
async function endsFlood(ground, client, steps, why) {
  const call = await client.call('script', { steps }, { limitMs: 30_000 });
  ground.check(`flood: ${call.end} ${call.reason ?? ''} after ${ms(call.ms)}`, call.reason === 'upstream_protocol' && call.why.includes(why));
  const next = await client.call('echo');
  ground.check(`next call ${next.end}`, next.end === 'ok');
}

async function floodsStdout(ground) {
  const gateway = await ground.gateway({ flood: ground.faulty() });
  const base = await ground.calm(gateway);
  const client = ground.client(gateway, 'flood');
  const floods = ground.count(3, 6);
  resetPeak(gateway.pid);
  const before = peakBytes(gateway.pid);
  const control = ground.control(gateway, { rps: 100 });
  const cpu = cpuSeconds(gateway.pid);
  const began = performance.now();
  for (let i = 0; i < floods; ++i) await endsFlood(ground, client, 'flood-out:20000 answer', 'flooded its output');
  const seconds = (performance.now() - began) / 1000;
  const used = (cpuSeconds(gateway.pid) - cpu) / seconds;
  const growth = peakBytes(gateway.pid) - before;
  const read = (await gateway.metrics()).sum('lineward_bytes_total', 'side="upstream"', 'direction="in"');
  ground.check(`${mib(read / floods)} read of each; ${used.toFixed(2)} cores`, used <= 1.05);
  ground.check(`RSS peak +${mib(growth)}`, growth <= (ground.sanitized ? 400 : 20) * 2 ** 20);
  ground.p99(await control.stop(), base);
}

async function floodsStderr(ground) {
  const gateway = await ground.gateway({ flood: ground.faulty() });
  const client = ground.client(gateway, 'flood');
  const control = ground.control(gateway);
  const seconds = ground.count(2, 5);
  const before = statSync(gateway.logPath).size;
  const flood = client.call('script', { steps: `much-err:${seconds * 1000} answer` }, { limitMs: 30_000 });
  const times = [];
  while (times.length < ground.count(20, 100)) {
    const got = await client.call('echo');
    if (got.end !== 'ok') ground.check(`a call beside it: ${got.end}`, false);
    times.push(got.ms);
  }
  const end = await flood;
  await delay(200);
  const logged = statSync(gateway.logPath).size - before;
  const lines = (await gateway.metrics()).sum('lineward_upstream_stderr_lines_total', 'upstream="flood"');
  await client.call('script', { steps: `err:${hex('more\n')} wait:1100 err:${hex('and more\n')} wait:50 answer` });
  const tail = readFileSync(gateway.logPath, 'utf8').slice(before);
  ground.check(`5 MiB/s: call ${end.end}, ${lines} lines came`, end.end === 'ok' && lines > 0);
  // A budget for each second; what is written touches one second more than it is long.
  ground.check(`logged ${mib((lines * 201) / seconds)}/s of it (${mib(logged / seconds)}/s of log)`, lines * 201 <= (seconds + 1) * 2 ** 20);
  ground.check(`drops told in the log: ${/drop|suppress/.test(tail)}`, /drop|suppress/.test(tail) || logged === 0);
  ground.check(`stdout beside it: p99 ${ms(quantile(times, 0.99))}`, quantile(times, 0.99) <= ground.allow(200, 1000));
  await endsFlood(ground, client, 'flood-err:20000 answer', 'flooded its stderr');
  await control.stop();
}

async function stopsReading(ground) {
  const calls = ground.count(2000, 10_000);
  const timeouts = { request: '3s' };
  const limits = { queueTimeout: '2s' };
  const gateway = await ground.gateway({ deaf: ground.faulty([], { timeouts, limits, instances: 1 }) });
  const client = ground.client(gateway, 'deaf', { sockets: 400 });
  const control = ground.control(gateway);
  resetPeak(gateway.pid);
  const before = peakBytes(gateway.pid);
  const deaf = client.call('script', { steps: 'deaf:9000 answer' });
  const got = await Promise.all(Array.from({ length: calls }, () => client.call('echo')));
  const by = (reason) => got.filter((one) => one.reason === reason);
  const full = by('queue_full');
  const queued = by('timeout_queue');
  const written = by('timeout_request');
  ground.check(`${calls} calls: ${full.length} queue_full, ${queued.length} timeout_queue, ${written.length} timeout_request, ${got.length - full.length - queued.length - written.length} other`,
    full.length + queued.length + written.length === calls && full.every(({ code }) => code === 503));
  // By the gateway's own clock: here a call may also wait for a connection.
  const late = max(queued.map((one) => one.message.error.data['io.lineward/gateway'].elapsedMs - 2000));
  ground.check(`queued ones end ${ms(late)} after their limit`, late <= ground.allow(250, 1500));
  const probe = ground.client(gateway, 'deaf', { sockets: 320 });
  const filling = Array.from({ length: 320 }, () => probe.call('echo'));
  await within(2000, async () => (await gateway.metrics()).sum('lineward_requests_queued', 'upstream="deaf"') >= 256);
  const quick = [];
  const one = ground.client(gateway, 'deaf', { sockets: 1 });
  for (let i = 0; i < 200; ++i) {
    const answer = await one.call('echo', {}, { limitMs: 5000 });
    if (answer.reason === 'queue_full') quick.push(answer.ms);
    else break;
  }
  ground.check(`a full queue answers in p50 ${ms(quantile(quick, 0.5))}, p99 ${ms(quantile(quick, 0.99))} (${quick.length})`,
    quick.length > 0 && quantile(quick, 0.5) <= (ground.sanitized ? 50 : 5));
  await Promise.all(filling);
  const growth = peakBytes(gateway.pid) - before;
  ground.check(`RSS peak +${mib(growth)}`, growth <= (ground.sanitized ? 300 : 24) * 2 ** 20);
  await deaf;
  await control.stop();
}

async function ignoresTerm(ground) {
  const [stdinGrace, termGrace] = ground.quick ? [500, 500] : [2000, 2000];
  const stop = { stdinGrace: `${stdinGrace}ms`, termGrace: `${termGrace}ms` };
  const journal = await ground.journal();
  const gateway = await ground.gateway({ stubborn: ground.faulty(['--ignore-term'], { stop }, journal) }, { loose: true });
  const began = performance.now();
  gateway.kill('SIGTERM');
  const end = await gateway.ended;
  const took = performance.now() - began;
  const left = await gateway.leavesNothing(1000);
  ground.check(`gone by KILL ${ms(took)} after the end of stdin (${stdinGrace} + ${termGrace} ms), exit ${end}`,
    took >= stdinGrace + termGrace - 50 && took <= stdinGrace + termGrace + 1000 && end === 0);
  ground.check(`left: ${left || 'nothing'}`, !left);
}

async function answersTwice(ground) {
  const journal = await ground.journal();
  const gateway = await ground.gateway({ odd: ground.faulty([], {}, journal) });
  const client = ground.client(gateway, 'odd');
  const control = ground.control(gateway);
  const rounds = ground.count(20, 300);
  const bad = [];
  const keep = (got) => got.end !== 'ok' && bad.push(got.end);
  const unknown = hex('{"jsonrpc":"2.0","id":987654321,"result":{"content":[{"type":"text","text":"nobody"}]}}\n');
  let aborted = 0;
  for (let i = 0; i < rounds; ++i) {
    const [slow, fast] = [client.call('sleep', { ms: 20 }), client.call('sleep', { ms: 1 })];
    (await Promise.all([client.call('script', { steps: 'answer answer' }), client.call('script', { steps: `hex:${unknown} answer` }), slow, fast])).forEach(keep);
    const leave = new AbortController();
    const nonce = `late-${i}`;
    const gone = client.call('hang', { late: true }, { nonce, signal: leave.signal });
    await journal.called(nonce);
    leave.abort();
    await gone;
    await journal.cancelled(nonce);
    ++aborted;
  }
  keep(await client.call('echo'));
  const metrics = await gateway.metrics();
  const dropped = metrics.sum('lineward_message_errors_total', 'upstream="odd"');
  const late = metrics.sum('lineward_late_responses_total', 'upstream="odd"');
  ground.check(`${rounds} rounds of 5: ${bad.length} not their own answer`, bad.length === 0);
  ground.check(`extras counted: ${dropped} dropped of ${2 * rounds}, ${late} late of ${aborted}`, dropped === 2 * rounds && late === aborted);
  await control.stop();
}

async function leavesGrandchild(ground) {
  const rounds = ground.count(5, 50);
  const gateway = await ground.gateway({ parent: ground.faulty([], { restart: { backoff: '1ms', maxBackoff: '50ms' } }) });
  const control = ground.control(gateway);
  const ends = [];
  for (let i = 0; i < rounds; ++i) {
    // The keeper of the process has a part in it.
    const pids = gateway.children().map(({ pid }) => pid);
    const client = ground.client(gateway, 'parent', { pids });
    ends.push(await client.call('script', { steps: 'fork exit:0' }));
    await client.call('echo');
    client.close();
  }
  const slow = max(ends.map((got) => got.own));
  ground.check(`${rounds} exits: ${ends.filter((got) => got.reason === 'upstream_exited').length} upstream_exited${others(ends, 502, 'upstream_exited')}, most ${ms(slow)}`,
    all(ends, 502, 'upstream_exited') && slow <= ground.bar(100));
  const gone = await within(5000, () => gateway.children().length <= gateway.base.children);
  ground.check(`groups ${gone ? '' : 'not '}killed`, gone);
  await control.stop();
}

export const processes = [
  { n: 1, fault: 'child SIGKILLed mid-response, 1,000 times', bar: '502 ≤ 100 ms each; 0 repeats; next call by a new child ≤ 500 ms + its start', run: killedMidResponse },
  { n: 2, fault: 'child exits before its first answer; 1,000 calls/s at it', bar: 'error with exit code and last line ≤ 100 ms; ≤ 1 spawn/s after 10 s', run: exitsBeforeFirstAnswer },
  { n: 3, fault: 'child floods stdout', bar: 'process ended, call says why; ≤ 1 core, RSS ≤ +20 MB, others’ p99 ≤ 2× base', run: floodsStdout },
  { n: 4, fault: 'child floods stderr', bar: 'logged ≤ 1 MB/s, the rest counted; stdout unaffected; over 8 MiB/s: process ended', run: floodsStderr },
  { n: 9, fault: 'child stops reading, 10,000 calls', bar: 'queue cap, then 503 ≤ 5 ms; queued ones end at their limit; RSS ≤ cap', run: stopsReading },
  { n: 10, fault: 'child ignores end of stdin and TERM', bar: 'killed at the end of both graces; no zombie', run: ignoresTerm },
  { n: 11, fault: 'two answers, unknown ids, out of order, after cancel', bar: 'one answer each; extras dropped and counted', run: answersTwice },
  { n: 12, fault: 'grandchild holds stdout open, child exits', bar: 'seen ≤ 100 ms; group killed', run: leavesGrandchild },
];
