// Shares of what is for all, where they cross workers and reloads.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { describe } from 'node:test';
import { startGatewayTo } from '../lib/gateway.mjs';
import { modernPost } from '../lib/modern.mjs';
import { eventually } from '../lib/operator.mjs';
import { plain, running } from '../lib/reloading.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const skip = DIRECT;

/** A connection that has asked this path something and stays open; null: it was closed without a word. */
function held(t, url) {
  return new Promise((resolve) => {
    const { hostname, port, pathname } = new URL(url);
    const socket = connect(Number(port), hostname, () => socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`));
    t.after(() => socket.destroy());
    socket.once('data', () => resolve(socket));
    socket.on('error', () => resolve(null));
    socket.on('close', () => resolve(null));
  });
}

describe('shares', { skip }, () => {
  test('of connections hold over all workers, and after a reload', { skip: NOT_PLAIN }, async (t) => {
    const servers = { a: plain('a'), b: plain('b') };
    const listen = (more) => ({ workers: 2, listen: { address: '127.0.0.1:0', maxConnections: 8, ...more } });
    const one = await running(t, servers, { more: listen() });
    const open = [];
    const more = async () => {
      const socket = await held(t, one.at(open.length % 2 ? 'a' : 'b'));
      if (socket) open.push(socket);
      return socket !== null;
    };
    const fill = async (most) => {
      while (open.length < most) await eventually(more, `connection ${open.length + 1} of ${most}`);
      assert.equal(await more(), false, `there are ${most}, and no more`);
    };
    const end = (count) => open.splice(0, count).forEach((socket) => socket.destroy());
    await fill(6);
    end(2); // one of each worker: their places are free wherever they went
    await fill(6);
    one.write(servers, listen({ maxPrincipalPercent: 50 }));
    await one.reload();
    assert.equal(await more(), false, 'those that are there stay, and nobody comes');
    end(4);
    await fill(4);
    one.write(servers, listen({ maxPrincipalPercent: 100 }));
    await one.reload();
    await fill(8);
    end(8);
    await fill(8);
  });

  test('of what an HTTP server does not take, notifications have 16 MiB', async (t) => {
    const large = [];
    const found = { supportedVersions: ['2026-07-28'], capabilities: { prompts: {} }, ttlMs: 0, cacheScope: 'private' };
    const origin = createServer((request, response) => {
      const method = request.headers['mcp-method'];
      if (method === 'notifications/odd') return void large.push(request); // neither read nor answered
      let body = '';
      request.setEncoding('utf8').on('data', (piece) => (body += piece));
      request.on('end', () => {
        const result = { resultType: 'complete', ...(method === 'server/discover' ? found : { prompts: [], ttlMs: 0, cacheScope: 'private' }) };
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result }));
      });
    });
    origin.listen(0, '127.0.0.1');
    await once(origin, 'listening');
    t.after(() => origin.close());
    t.after(() => origin.closeAllConnections());
    // Each worker has 16 MiB.
    const gateway = await startGatewayTo(t, { url: `http://127.0.0.1:${origin.address().port}/mcp`, workers: 'one' });
    const post = (method, params, id) => fetch(gateway.url, modernPost(method, params, { id }));
    assert.equal((await post('prompts/list', {}, 1)).status, 200);
    const began = performance.now();
    for (let i = 0; i < 5; ++i) {
      const { status } = await post('notifications/odd', { text: 'x'.repeat(7_000_000) });
      assert.equal(status, 202);
    }
    await eventually(() => large.length >= 2, 'two notifications');
    assert.deepEqual((await (await post('prompts/list', {}, 2)).json()).result.prompts, []);
    // Each is given up after 10 s, which a busy machine may take for this; then there is room for another.
    assert.ok(large.length <= 2 * (1 + Math.floor((performance.now() - began) / 10_000)), `${large.length} came`);
  });
});
