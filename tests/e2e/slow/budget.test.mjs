// Many clients that take nothing of large answers: listen.maxBufferedBytes holds by cutting the clients that hold
// most, and others are served meanwhile.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { modernHeaders, MODERN_META } from '../datasets/bench.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { callTool, get, opsOf } from '../lib/operator.mjs';
import { parse, value } from '../lib/prometheus.mjs';
import { test } from '../lib/test.mjs';
import { eventually, isSanitized, residentBytes, stalled } from './readers.mjs';

const MIB = 1 << 20;
const BUDGET = 32 * MIB;
const READERS = 40;
const ANSWER = 8 * MIB;

const SERVER = `
  const big = 'x'.repeat(${ANSWER});
  const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, params } = JSON.parse(line);
    if (id === undefined) return;
    say({ id, result: { resultType: 'complete', content: [], text: params.name === 'big' ? big : 'small' } });
  });`;

test(`${READERS} clients that read nothing of ${ANSWER / MIB} MiB each, with a budget of ${BUDGET / MIB} MiB`, { timeout: 300_000 }, async (t) => {
  const server = (limits = {}) => ({ command: process.execPath, args: ['-e', SERVER], protocolEra: 'modern', limits });
  const gateway = await startGatewayFrom(t, {
    listen: { address: '127.0.0.1:0', maxBufferedBytes: BUDGET, maxBufferedBytesPerPrincipal: BUDGET },
    ops: { address: '127.0.0.1:0' },
    admin: { address: 'off' },
    mcpServers: { big: server({ maxInFlight: 4, queueTimeout: '200s' }), small: server() },
  });
  const { origin } = new URL(gateway.url);
  const small = () => callTool(`${origin}/mcp/small`, 'small').answer;
  assert.equal((await small()).result.text, 'small');
  const base = residentBytes(gateway.pid);
  let peak = 0;
  const watch = setInterval(() => (peak = Math.max(peak, residentBytes(gateway.pid))), 5);
  t.after(() => clearInterval(watch));

  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","_meta":{${MODERN_META}}}}`;
  const gone = [];
  const counts = { served: 0, refused: 0 };
  for (let i = 0; i < READERS; ++i) {
    const one = stalled(t, `${origin}/mcp/big`, modernHeaders('tools/call', 'big'), body);
    one.closed.then(() => gone.push(i));
    const { result, error } = await small();
    if (result) ++counts.served;
    else if (error?.data['io.lineward/gateway'].reason === 'queue_full') ++counts.refused;
    else assert.fail(JSON.stringify(error));
    await delay(20);
  }
  const metrics = async () => parse((await get(opsOf(gateway), '/metrics')).body);
  let now;
  // A cut is seen by its client only when that one reads: it is told by the metrics. A client above it is cut in the next
  // turn of the loop, which the answer to this question may precede. On a busy machine all of it takes long: what must not
  // be is that nothing moves any more.
  let seen = '';
  for (let moved = Date.now(); ; await delay(50)) {
    now = await metrics();
    const inFlight = value(now, 'lineward_requests_in_flight', { upstream: 'big' });
    const bytes = value(now, 'lineward_buffered_bytes', {});
    if (inFlight === 0 && bytes <= BUDGET) break;
    const state = `${inFlight} answers are still on their way, ${bytes} bytes are held`;
    if (state !== seen) moved = Date.now();
    seen = state;
    assert.ok(Date.now() - moved < 45_000, `nothing has moved for 45 s: ${state}`);
  }
  const cut = value(now, 'lineward_overload_refused_total', { limit: 'backlog' });
  const held = value(now, 'lineward_buffered_bytes', {});
  const growth = peak - base;
  console.log(
    `${cut} cut, ${counts.served} of ${READERS} calls beside it served, ${counts.refused} refused; ` +
      `${(held / MIB).toFixed(1)} MiB held, RSS peak +${(growth / MIB).toFixed(1)} MiB`,
  );
  assert.ok(cut > READERS / 4, `${cut} cut`);
  assert.ok(held <= BUDGET, `${held} bytes are held`);
  assert.ok(counts.served >= 0.9 * READERS, `${counts.served} served`);
  // Four answers may be on their way, each for a moment as the server's line, as a message and as the client's answer.
  if (!isSanitized(gateway.pid)) assert.ok(growth <= BUDGET + 3 * 4 * ANSWER, `${growth} bytes`);
  await eventually(() => /event=connection\.cut limit=listen\.maxBufferedBytes/.test(gateway.stderr()), 'the line in the log');
  assert.equal((await small()).result.text, 'small');
});
