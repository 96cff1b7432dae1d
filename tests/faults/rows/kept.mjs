// Row 41: what is kept for peers is counted (lineward_buffered_bytes), bounded by a caller's share, and refused by name.
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { bodyOf, headersOf, lastMessage } from '../lib/client.mjs';
import { mib, rssBytes, within } from '../lib/figures.mjs';

const SHARE = 128 * 2 ** 20; // a quarter of listen.maxBufferedBytes
const UNCOUNTED = 32 * 2 ** 20;
const NAME = 'listen.maxBufferedBytesPerPrincipal';

/** POSTs; {status, session, message}. A listen resolves with its first event and stays open. */
function post(url, agent, headers, body, { stays = false } = {}) {
  return new Promise((resolve, reject) => {
    const sent = http.request(
      url,
      { method: 'POST', agent, headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers } },
      (response) => {
        let text = '';
        const done = () => resolve({ status: response.statusCode, session: response.headers['mcp-session-id'], message: lastMessage(text), sent });
        response.setEncoding('utf8');
        response.on('data', (piece) => {
          text += piece;
          if (stays && text.includes('\n\n')) done();
        });
        response.on('end', done);
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const rpc = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params });
const refusedByName = ({ message }) => message?.error?.code === 503 && message.error.message.includes(NAME);

const initialize = (url, agent, bytes) =>
  post(url, agent, {}, rpc(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'kept', version: 'v'.repeat(bytes) } }));

async function sessions(url, agent) {
  const ends = [];
  for (let i = 0; i < 700; ++i) {
    const got = await initialize(url, agent, 250 * 1024);
    ends.push(got);
    if (!got.message?.result) break;
    // A session that its client never names is forgotten when others come.
    const headers = { 'Mcp-Session-Id': got.session, 'MCP-Protocol-Version': '2025-11-25' };
    await post(url, agent, headers, JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
  }
  return ends;
}

// Every URI is another: nothing of it is shared.
async function listens(url, agent) {
  const ends = [];
  for (let i = 0; i < 100; ++i) {
    const uris = Array.from({ length: 250 }, (_, n) => `file:///${i}/${n}/${'u'.repeat(4000)}`);
    const body = bodyOf(i, 'subscriptions/listen', { notifications: { resourceSubscriptions: uris } });
    const got = await post(url, agent, headersOf('subscriptions/listen'), body, { stays: true });
    ends.push(got);
    if (got.message?.error) break;
  }
  return ends;
}

async function answers(url, agent) {
  const bad = [];
  for (let i = 0; i < 40; ++i) {
    const { session } = await initialize(url, agent, 10);
    const headers = { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' };
    await post(url, agent, headers, JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
    for (let call = 1; call <= 2; ++call) {
      const params = { name: 'echo', arguments: { nonce: 'n', bytes: 5_000_000, progress: 1 }, _meta: { progressToken: call } };
      const { message } = await post(url, agent, headers, rpc(call, 'tools/call', params));
      if (message?.result?.content?.[1]?.text?.length !== 5_000_000) bad.push(JSON.stringify(message?.error ?? message)?.slice(0, 200) ?? 'nothing');
    }
  }
  return bad;
}

/** The growth of the gateway, and the counted part of it. */
async function weigh(ground, gateway, what, base) {
  const counted = async () => (await gateway.metrics()).sum('lineward_buffered_bytes');
  let held = await counted();
  // Memory that a burst left behind is given back a moment later.
  const uncounted = () => rssBytes(gateway.pid) - base - held;
  await within(10_000, async () => {
    held = await counted();
    return uncounted() <= UNCOUNTED;
  }, 250);
  ground.check(`${what}: ${mib(held)} counted, +${mib(rssBytes(gateway.pid) - base)} RSS`, held <= 1.1 * SHARE && (ground.sanitized || uncounted() <= UNCOUNTED));
  return held;
}

async function keptIsCounted(ground) {
  const most = { instances: 64, limits: { maxInFlight: 64 } };
  for (const kind of ['initialize', 'listens', 'answers']) {
    const servers = { modern: ground.faulty([], most), legacy: ground.faulty(['--legacy'], { ...most, protocolEra: 'legacy', isolation: 'shared' }) };
    const gateway = await ground.gateway(servers, { listen: { resumeWindow: '60s' }, loose: true });
    const agent = new http.Agent({ keepAlive: true });
    ground.after(() => agent.destroy());
    await delay(200);
    const base = rssBytes(gateway.pid);
    let open = [];
    if (kind === 'initialize') {
      open = await sessions(gateway.url('modern'), agent);
      await weigh(ground, gateway, `${open.length} × initialize of 250 KiB`, base);
      ground.check('refused by name', refusedByName(open.at(-1)));
    } else if (kind === 'listens') {
      open = await listens(gateway.url('modern'), agent);
      await weigh(ground, gateway, `${open.length} listens of 1 MiB`, base);
      ground.check('refused by name', refusedByName(open.at(-1)));
    } else {
      const bad = await answers(gateway.url('legacy'), agent);
      const held = await weigh(ground, gateway, '80 answers of 5 MB to be resumed', base);
      ground.check(`answered all the same${bad[0] ? ` (${bad.length} not: ${bad[0]})` : ''}`, bad.length === 0 && held > SHARE / 2);
    }
    for (const { sent } of open) sent.destroy();
    agent.destroy();
    await gateway.stop();
  }
}

export const kept = [
  { n: 41, fault: 'clients make the gateway keep the most that they may', bar: 'RSS − counted ≤ 32 MiB; a refusal by name at the share', run: keptIsCounted, quickLimit: 120 },
];
