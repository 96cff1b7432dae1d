// Rows 36, 38 and 40: what only shows after very many calls.
import { fileURLToPath } from 'node:url';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mib, rssBytes } from '../lib/figures.mjs';
import http from 'node:http';

async function soak(ground) {
  const calls = ground.count(10_000, 300_000);
  const child = spawn(process.execPath, [fileURLToPath(new URL('../soak.mjs', import.meta.url)), '--calls', String(calls), '--brief'], { stdio: ['ignore', 'pipe', 'inherit'] });
  ground.after(() => child.kill('SIGKILL'));
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece) => (text += piece));
  const [code] = await once(child, 'close');
  ground.check(text.trim().split('\n').at(-1) || 'nothing printed', code === 0);
  ground.missing('the 24 h at 500/s: take a day (make soak SOAK_CALLS=43200000)');
}

/** A legacy session: initialize, one call, DELETE. Each is a tenant with a process of its own. */
function tenant(url, agent) {
  const send = (method, session, message) =>
    new Promise((resolve, reject) => {
      const body = message && JSON.stringify({ jsonrpc: '2.0', ...message });
      const headers = {
        Accept: 'application/json, text/event-stream',
        ...(body && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
        ...(session && { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' }),
      };
      const request = http.request(url, { method, agent, headers, timeout: 20_000 }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece) => (text += piece));
        response.on('end', () => resolve({ status: response.statusCode, session: response.headers['mcp-session-id'], text }));
      });
      request.on('timeout', () => request.destroy(new Error('late')));
      request.on('error', reject);
      request.end(body);
    });
  return async (nonce, ends) => {
    const opened = await send('POST', undefined, { id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'tenant', version: '1' } } });
    if (!opened.session) return `initialize: ${opened.status} ${opened.text.slice(0, 200)}`;
    await send('POST', opened.session, { method: 'notifications/initialized' });
    const got = await send('POST', opened.session, { id: 1, method: 'tools/call', params: { name: 'echo', arguments: { nonce } } });
    if (!got.text.includes(`"text":"${nonce}"`)) return `call: ${got.status} ${got.text.slice(0, 200)}`;
    // Some leave without a word: their processes are reaped when they are idle, or when room is needed.
    if (ends) await send('DELETE', opened.session);
    return undefined;
  };
}

async function churn(ground) {
  const tenants = ground.count(60, 5000);
  const cap = 8;
  const gateway = await ground.gateway({ up: ground.faulty(['--legacy'], { protocolEra: 'legacy', instances: cap, instanceIdle: '1s', stop: { stdinGrace: '500ms', termGrace: '500ms' } }) }, { listen: { sessionIdle: '2s', maxSessions: 20_000 } });
  const control = ground.control(gateway, { rps: 20 });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  ground.after(() => agent.destroy());
  const one = tenant(gateway.url('up'), agent);
  const odd = {};
  let most = 0;
  let warm;
  for (let done = 0; done < tenants; ) {
    const batch = await Promise.all([0, 1, 2].map((i) => one(`tenant-${done + i}`, (done + i) % 10 !== 0).catch((error) => error.message)));
    for (const why of batch) if (why) odd[why] = (odd[why] ?? 0) + 1;
    done += batch.length;
    most = Math.max(most, gateway.children().length);
    if (warm === undefined && done >= tenants / 4) warm = rssBytes(gateway.pid);
  }
  const growth = rssBytes(gateway.pid) - warm;
  const bad = Object.entries(odd).map(([why, n]) => `${n} × ${why}`);
  // A process has a keeper; the control has both too, and the spawner is one.
  ground.check(`${tenants} tenants of a session each: ${bad.join(', ') || 'all served'}`, bad.length === 0);
  ground.check(`at most ${most} processes below (cap ${cap}, two for each, and those that are ending)`, most <= 4 * cap + 6);
  ground.check(`RSS after warm-up +${mib(growth)}`, ground.sanitized || growth <= Math.max(1, (tenants / 1_000_000) * 2) * 4 * 2 ** 20);
  gateway.settleMs = 8000;
  ground.missing('100,000 tenants by principal: no authentication yet; sessions stand for them');
  await control.stop();
}

export const long = [
  { n: 36, fault: 'soak with cancels, restarts and limits', bar: 'RSS slope < 1 MB per 1 M calls after warm-up; fds, processes, timers flat; 0 wrong', run: soak, quickLimit: 90, limit: 600 },
  { n: 38, fault: 'churn: a new tenant each call', bar: 'processes ≤ cap, idle ones reaped, state freed', run: churn, quickLimit: 90 },
  { n: 40, fault: 'chaos: any of these each second for 1 h under sanitizers', bar: '0 reports, 0 wrong, every request ends', notRun: 'an hour by itself: repeat `make faults QUICK=1 SEED=n` with FAULTS_BUILD of a sanitized build instead' },
];
