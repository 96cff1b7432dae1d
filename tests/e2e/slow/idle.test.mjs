// The cost of an idle connection: one that never spoke, one that is kept alive, one that listens.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { describe } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { callTool } from '../lib/operator.mjs';
import { test } from '../lib/test.mjs';
import { modernHeaders, MODERN_META } from '../datasets/bench.mjs';
import { isSanitized, residentBytes } from './readers.mjs';

const hard = Number(spawnSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).stdout) || 1_000_000;
const WANTED = Math.min(Number(process.env.IDLE_CONNECTIONS ?? 10_000), hard - 1000);

// The SDK's server takes 1,024 listens; this one takes any number.
const SERVER = `
  const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
    if (method !== 'subscriptions/listen') return say({ id, result: { resultType: 'complete', tools: [] } });
    say({ method: 'notifications/subscriptions/acknowledged', params: { notifications: params.notifications, _meta } });
  });`;

const listen =
  `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
  `"_meta":{${MODERN_META}}}}`;
const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{${MODERN_META}}}}`;

function post(method, body, port) {
  const headers = { Host: `127.0.0.1:${port}`, ...modernHeaders(method), 'Content-Length': Buffer.byteLength(body) };
  return `POST /mcp HTTP/1.1\r\n${Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

/** Opens so many connections that say `text` and wait for `wanted` in the answer; some at a time. */
async function open(port, count, text, wanted) {
  const sockets = [];
  const one = () =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      sockets.push(socket);
      let seen = '';
      socket.once('error', reject).once('close', () => reject(new Error('a connection was closed')));
      socket.once('connect', () => (text ? socket.write(text) : resolve()));
      socket.on('data', (bytes) => {
        if (seen === undefined) return;
        seen += bytes.toString('latin1');
        if (!wanted || !seen.includes(wanted)) return;
        seen = undefined;
        resolve();
      });
    });
  for (let at = 0; at < count; at += 200) await Promise.all(Array.from({ length: Math.min(200, count - at) }, one));
  return sockets;
}

describe(`${WANTED} connections that do nothing`, () => {
  const rows = [
    ['that never spoke', '', undefined, 1.5], // measured 0.8
    ['kept alive after a request', (port) => post('tools/list', list, port), '"tools"', 9],
    ['that listen', (port) => post('subscriptions/listen', listen, port), 'acknowledged', 9],
  ];
  for (const [what, text, wanted, most] of rows) {
    test(what, { timeout: 120_000 }, async (t) => {
      const gateway = await startGatewayFrom(
        t,
        {
          listen: { address: '127.0.0.1:0', maxConnections: WANTED + 100, maxPrincipalPercent: 100, idleTimeout: '10m', keepAlive: '10m' },
          log: { level: 'error' },
          mcpServers: { s: { command: process.execPath, args: ['-e', SERVER], protocolEra: 'modern', limits: { maxQueue: WANTED } } },
        },
        { args: ['--ops', 'off', '--admin', 'off'] },
      );
      const port = Number(new URL(gateway.url).port);
      const count = isSanitized(gateway.pid) ? Math.min(1000, WANTED) : WANTED;
      // Twice: what the first round leaves in the allocator is no cost of a connection.
      const tool = () => callTool(gateway.url, 'none').answer;
      await tool();
      const said = text ? text(port) : '';
      const warm = await open(port, 200, said, wanted);
      warm.forEach((socket) => socket.removeAllListeners('close').destroy());
      await delay(300);
      const base = residentBytes(gateway.pid);
      const began = performance.now();
      const sockets = await open(port, count, said, wanted);
      const opened = performance.now() - began;
      await delay(500);
      const each = (residentBytes(gateway.pid) - base) / count / 1000;
      const quick = performance.now();
      await tool();
      const during = performance.now() - quick;
      sockets.forEach((socket) => socket.removeAllListeners('close').destroy());
      const closed = performance.now();
      await tool();
      const after = performance.now() - closed;
      await delay(1500);
      const left = (residentBytes(gateway.pid) - base) / 1e6;
      console.log(
        `${what}: ${each.toFixed(2)} kB each, opened in ${opened.toFixed(0)} ms; a call beside ${during.toFixed(1)} ms, ` +
          `while all close ${after.toFixed(0)} ms; ${left.toFixed(1)} MB more than before afterwards`,
      );
      assert.ok(during < 1000);
      if (!isSanitized(gateway.pid)) assert.ok(each <= most, `${each} kB`);
    });
  }
});
