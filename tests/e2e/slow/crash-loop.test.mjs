// A server that exits at once under a thousand calls a second: how often it is started, and what its callers get.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { describe } from 'node:test';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { lastMessage } from '../lib/modern.mjs';
import { test } from '../lib/test.mjs';
import { modernHeaders, MODERN_META } from '../datasets/bench.mjs';
import { isSanitized } from './readers.mjs';

const SECONDS = 16;
const RATE = 1000;
const body = `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"_meta":{${MODERN_META}}}}`;

function load(url, agent, reasons) {
  const sent = performance.now();
  return new Promise((resolve) => {
    const headers = { ...modernHeaders('resources/list'), 'Content-Length': Buffer.byteLength(body) };
    const one = request(url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.on('data', (bytes) => (text += bytes));
      response.on('end', () => {
        const reason = lastMessage(text).error?.data?.['io.lineward/gateway']?.reason ?? 'none';
        reasons[reason] = (reasons[reason] ?? 0) + 1;
        resolve(performance.now() - sent);
      });
    });
    one.on('error', () => resolve(performance.now() - sent));
    one.end(body);
  });
}

/** `long`: left to release builds, since a sanitized one takes minutes for it. */
async function run(t, more, { long = false } = {}) {
  const file = join(temporaryFolder(t), 'starts');
  const gateway = await startGatewayFrom(
    t,
    {
      log: { level: 'error' },
      mcpServers: {
        s: { command: 'sh', args: ['-c', `date +%s.%N >> ${file}; echo no >&2; exit 1`], ...more },
      },
    },
    { args: ['--ops', 'off', '--admin', 'off'] },
  );
  if (long && isSanitized(gateway.pid)) return t.skip('release builds only');
  const agent = new Agent({ keepAlive: true, maxSockets: 200 });
  t.after(() => agent.destroy());
  const reasons = {};
  const waits = [];
  const began = Date.now();
  const pending = new Set();
  while (Date.now() - began < SECONDS * 1000) {
    const due = Math.floor(((Date.now() - began) / 1000) * RATE);
    while (waits.length + pending.size < due && pending.size < 400) {
      const one = load(gateway.url, agent, reasons).then((ms) => (waits.push(ms), pending.delete(one)));
      pending.add(one);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(pending);
  const starts = readFileSync(file, 'utf8').trim().split('\n').map((line) => Number(line) - began / 1000);
  const late = starts.filter((at) => at >= 10);
  const perSecond = late.length / (SECONDS - 10);
  waits.sort((a, b) => a - b);
  console.log(
    `${waits.length} calls, ${JSON.stringify(reasons)}; ${starts.length} starts, ${perSecond.toFixed(2)} a second after 10 s; ` +
      `slowest answer ${waits.at(-1).toFixed(0)} ms, median ${waits[waits.length >> 1].toFixed(1)} ms`,
  );
  assert.ok(waits.length > SECONDS * 30, 'enough calls were made');
  assert.ok(perSecond <= 1, `${perSecond} starts a second`);
  assert.ok(!reasons.none);
}

describe('a server that exits at once, at 1,000 calls a second', () => {
  const LIMIT = { timeout: 60_000 };
  test('with the circuit breaker', LIMIT, (t) => run(t, { protocolEra: 'modern' }));
  test('without it', LIMIT, (t) => run(t, { protocolEra: 'modern', circuitBreaker: { consecutiveFailures: 0 }, timeouts: { startup: '5s' } }, { long: true }));
  test('with a process for each call', LIMIT, (t) =>
    run(t, { protocolEra: 'modern', isolation: 'call', circuitBreaker: { consecutiveFailures: 0 }, timeouts: { startup: '5s' } }, { long: true }));
  test('with its era to be asked for', LIMIT, (t) => run(t, {}));
});
