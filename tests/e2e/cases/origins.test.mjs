// Several origins of one server: one of three is killed, drained, hung, slow or failing for a while under load. Only calls that
// this origin had are lost, and the times of the others stay. A machine that runs other tests too is slow at times. So another
// Lineward with origins of its own, all well, has calls meanwhile. A call took too long only by what it took longer than
// each of those beside it. A loss counts only if none of those was slow.
//   ORIGINS_RATE=2000 ORIGINS_SECONDS=20 tests/e2e/node.sh --test tests/e2e/cases/origins.test.mjs   prints figures of a longer run
import assert from 'node:assert/strict';
import http from 'node:http';
import { join } from 'node:path';
import { describe } from 'node:test';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { modernPost } from '../lib/modern.mjs';
import { lineward } from '../lib/operator.mjs';
import { startReplica } from '../lib/replica-server.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const RATE = Number(process.env.ORIGINS_RATE ?? 100);
const SECONDS = Number(process.env.ORIGINS_SECONDS ?? 4);
const CONTROL_RATE = Math.min(RATE, 100);
const MOST_AT_ONCE = process.env.ORIGINS_RATE ? Infinity : 8;
const TICK_MS = 10;
const REQUEST_MS = 1000;
const SLOW_MS = REQUEST_MS / 2; // beside such a call another one may well reach its limit
// Figures are taken on a machine that does nothing else.
const MAY_RISE_MS = process.env.ORIGINS_RATE ? 10 : 250;
const RUNS = process.env.ORIGINS_RATE ? 1 : 3;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const percentile = (values, part) => values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0;

/** Makes a call: {ms, port} of the origin that answered, or {ms, error}. */
function call(agent, url, id) {
  const begin = performance.now();
  const { body, ...options } = modernPost('tools/call', { name: 'x', arguments: {} }, { id });
  return new Promise((resolve) => {
    const over = (more) => resolve({ at: begin, ms: performance.now() - begin, ...more });
    const request = http.request(url, { ...options, agent }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', (error) => over({ error: error.message }));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const message = JSON.parse(text.startsWith('{') ? text : /^data: (.*)$/m.exec(text.slice(text.lastIndexOf('data: ')))[1]);
        over(message.result ? { port: message.result.port } : { error: message.error.message });
      });
    });
    request.on('error', (error) => over({ error: error.message }));
    request.end(body);
  });
}

/**
 * Calls at `rate` a second until stop(), which resolves with all of them. Few are under way at once: a busy machine gets fewer
 * calls, and has no queue of them. A call that a hung origin holds does not count.
 */
function load(url, rate, held = () => 0) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 2000 });
  const calls = [];
  let [last, due, open] = [performance.now(), 0, 0];
  const timer = setInterval(() => {
    const now = performance.now();
    due = Math.min(due + ((now - last) * rate) / 1000, MOST_AT_ONCE);
    last = now;
    for (; due >= 1 && open - held() < MOST_AT_ONCE; --due) {
      ++open;
      calls.push(call(agent, url, calls.length + 1).finally(() => --open));
    }
  }, TICK_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      const all = await Promise.all(calls);
      agent.destroy();
      return all;
    },
  };
}

async function start(t, origins) {
  const replicas = await Promise.all(Array.from({ length: origins }, () => startReplica(t)));
  const socket = join(temporaryFolder(t), 'admin.sock');
  const gateway = await startGatewayFrom(t, {
    ops: 'off',
    admin: { address: `unix:${socket}` },
    log: { level: 'warn' },
    mcpServers: {
      s: {
        urls: replicas.map((one) => one.url),
        protocolEra: 'modern',
        timeouts: { request: `${REQUEST_MS}ms` },
        limits: { maxInFlight: 4000, maxQueue: 4000, idleConnections: 500, idleTimeout: '20s' },
        origins: { ejectFor: '1s' },
      },
    },
  });
  return { replicas, gateway, socket };
}

/** How long the longest of `beside` took that was under way during this call. */
const slowest = (beside, { at, ms }) =>
  beside.reduce((most, one) => (one.at < at + ms && one.at + one.ms > at ? Math.max(most, one.ms) : most), 0);

/** As once(). Some process may get no processor for a while: one of three runs has to keep the bound, and none does with a fault. */
async function experiment(t, name, begin, end) {
  for (let left = RUNS; ; --left) {
    const { rise, figures, ...rest } = await once(t, name, begin, end);
    if (process.env.ORIGINS_RATE || process.env.ORIGINS_FIGURES) console.log(figures);
    if (rise <= MAY_RISE_MS) return rest;
    if (left === 1) assert.fail(`calls took ${rise.toFixed(1)} ms more at the p99: ${figures}`);
  }
}

/** `begin` makes the first replica bad and resolves with the calls that it then has; `end` makes it good. */
async function once(t, name, begin, end) {
  const [{ replicas, gateway, socket }, control] = await Promise.all([start(t, 3), start(t, 2)]);
  const [bad, ...others] = replicas;
  const running = load(gateway.url, RATE, bad.held);
  const beside = load(control.gateway.url, CONTROL_RATE);
  await pause(SECONDS * 250);
  const from = performance.now();
  const had = await begin(bad, socket);
  await pause(SECONDS * 500);
  const until = performance.now();
  await end?.(bad, socket);
  await pause(SECONDS * 250);
  const [calls, controls] = await Promise.all([running.stop(), beside.stop()]);
  const ports = others.map((one) => one.port);
  const failed = calls.filter((one) => one.error);
  const lost = failed.filter((one) => slowest(controls, one) < SLOW_MS);
  const isBefore = ({ at, ms }) => at + ms <= from;
  const isMeanwhile = (one) => !isBefore(one) && one.at < until;
  const answered = calls.filter(({ port }) => ports.includes(port));
  const p99 = (all, fits, measure = ({ ms }) => ms) => percentile(all.filter(fits).map(measure), 0.99);
  const both = (all) => `${p99(all, isBefore).toFixed(1)} ms before, ${p99(all, isMeanwhile).toFixed(1)} ms meanwhile`;
  const excess = (one) => Math.max(0, one.ms - slowest(controls, one));
  const before = p99(answered, isBefore, excess);
  const during = p99(answered, isMeanwhile, excess);
  const after = calls.filter((one) => one.at >= until);
  const got = (await bad.spoiled().catch(() => 0)) || 0;
  const figures =
    `${name}: ${calls.length} calls, ${failed.length} lost, ${failed.length - lost.length} of them beside slow ones; ` +
    `it had ${had} and got ${got} while bad; p99 of the others ${both(answered)}; of the other gateway ${both(controls)}; ` +
    `longer than beside ${before.toFixed(1)} ms before, ${during.toFixed(1)} ms meanwhile`;
  return { calls, lost, had, after, bad, figures, rise: during - before };
}

const nobody = { errors: (lost) => [...new Set(lost.map((one) => one.error))].join('; ') };

describe('one of three origins', { skip: DIRECT, concurrency: false }, () => {
  test('is killed: its calls in flight are lost, no other', async (t) => {
    const { lost, had } = await experiment(t, 'killed', async (bad) => {
      bad.spoiled = async () => 0;
      return bad.become('killed');
    });
    // Some calls were on their way to it.
    assert.ok(lost.length <= had + Math.max(5, RATE / 50), `${lost.length} lost, it had ${had}: ${nobody.errors(lost)}`);
  });

  test('is drained by command and comes back: nothing is lost', async (t) => {
    const steer = (action) => async (bad, socket) => {
      const { code, err } = await lineward(['server', 's', action, '--origin', bad.name, '--admin', `unix:${socket}`]);
      assert.equal(code, 0, err);
      return bad.become('good');
    };
    const { lost, after, bad } = await experiment(t, 'drained', steer('drain'), steer('start'));
    assert.equal(lost.length, 0, nobody.errors(lost));
    assert.ok(after.some((one) => one.port === bad.port));
  });

  test('hangs: the calls that it gets are lost, and it gets few', async (t) => {
    const { lost, bad, calls } = await experiment(
      t,
      'hung',
      (one) => one.become('hung'),
      (one) => one.become('good'),
    );
    const got = await bad.spoiled();
    assert.ok(lost.length <= got, `${lost.length} lost of ${got}: ${nobody.errors(lost)}`);
    assert.ok(got < calls.length / 10, `${got} of ${calls.length}`);
  });

  test('is slow: nothing is lost', async (t) => {
    const { lost } = await experiment(
      t,
      'slow',
      (one) => one.become('slow'),
      (one) => one.become('good'),
    );
    assert.equal(lost.length, 0, nobody.errors(lost));
  });

  test('answers 500: it is ejected after a few calls, and comes back', async (t) => {
    const { lost, bad, after } = await experiment(
      t,
      'failing',
      (one) => one.become('failing'),
      (one) => one.become('good'),
    );
    const got = await bad.spoiled();
    assert.ok(lost.length <= got, `${lost.length} lost of ${got}: ${nobody.errors(lost)}`);
    assert.ok(after.length > 0);
  });
});
