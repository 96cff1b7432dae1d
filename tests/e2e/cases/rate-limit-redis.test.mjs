// A rate limit for several gateways, through a real Redis and without it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe } from 'node:test';
import { callTool, eventually, get, opsOf } from '../lib/operator.mjs';
import { noRedis, redis } from '../lib/redis.mjs';
import { plain, running } from '../lib/reloading.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { WORKERS } from '../lib/workers.mjs';

if (noRedis) console.log(`# rate-limit-redis: ${noRedis}`);
const skip = DIRECT || noRedis;

const limit = (store, more = {}) => ({
  requests: 20,
  per: '1h',
  methods: ['tools/call'],
  redis: { url: `unix:${store.socket}`, timeout: '2s' },
  ...more,
});
const code = async (url) => (await callTool(url, 'echo', { nonce: 'n' }).answer).error?.code ?? 200;
const codes = (url, times) => Promise.all(Array.from({ length: times }, () => code(url)));
const count = (list, wanted) => list.filter((one) => one === wanted).length;
const metrics = async (one) => (await get(opsOf(one.gateway), '/metrics')).body;
const isUp = async (one, name, up) =>
  (await metrics(one)).includes(`lineward_rate_limit_redis_up{plugin="${name}",key="server"} ${up}`);

describe('rate limits through Redis', { skip }, () => {
  test('two gateways share one limit exactly', async (t) => {
    const store = redis(t);
    await store.start();
    const plugins = [{ rateLimit: limit(store), name: 'm' }];
    const gateways = await Promise.all(['a', 'b'].map(() => running(t, { s: plain() }, { more: { plugins } })));
    const all = (await Promise.all(gateways.map(({ gateway }) => codes(gateway.url, 30)))).flat();
    assert.equal(all.length, 60);
    assert.equal(count(all, 200), 20);
    assert.equal(count(all, 429), 40);
    // Each says it, with the same numbers.
    for (const { gateway } of gateways) {
      const refused = await callTool(gateway.url, 'echo', { nonce: 'n' }).answer;
      const { retryAfterMs } = refused.error.data['io.lineward/gateway'];
      assert.ok(retryAfterMs > 100_000 && retryAfterMs <= 180_000, `${retryAfterMs}`);
    }
  });

  test('without Redis: allow, deny or count here; and back to it when it is there again', async (t) => {
    const store = redis(t);
    await store.start();
    const kinds = ['allow', 'deny', 'local'];
    const plugins = kinds.map((onError) => ({
      rateLimit: limit(store, { key: 'server', requests: 3, redis: { url: `unix:${store.socket}`, onError, timeout: '2s' } }),
      name: onError,
      servers: [onError],
    }));
    const one = await running(t, Object.fromEntries(kinds.map((kind) => [kind, plain()])), { more: { plugins } });
    for (const kind of kinds) {
      assert.equal(await code(one.at(kind)), 200);
      assert.ok(await isUp(one, kind, 1));
    }

    await store.kill();
    for (const kind of kinds) await eventually(() => isUp(one, kind, 0), `${kind}: Redis is gone`);
    assert.deepEqual(await codes(one.at('allow'), 10), Array(10).fill(200));
    assert.deepEqual(await codes(one.at('deny'), 3), Array(3).fill(429));
    const denied = await callTool(one.at('deny'), 'echo', { nonce: 'n' }).answer;
    assert.match(denied.error.message, /cannot be checked/);
    const here = await codes(one.at('local'), 10);
    assert.equal(count(here, 200), 3);
    assert.equal(count(here, 429), 7);

    await store.start();
    for (const kind of kinds) await eventually(() => isUp(one, kind, 1), `${kind}: Redis is back`);
    for (const kind of kinds) {
      const again = await codes(one.at(kind), 10); // it was empty, and has forgotten the script
      assert.equal(count(again, 200), 3, kind);
    }
    // A line for each change of state, however many requests there were; each worker has its own connection.
    const lines = one.gateway.stderr().split('\n').filter((line) => line.includes('rate_limit.redis'));
    assert.equal(lines.filter((line) => line.includes('state=down')).length, 3 * WORKERS, lines.join('\n'));
    assert.equal(lines.filter((line) => line.includes('state=up')).length, 6 * WORKERS, lines.join('\n'));
  });

  test('without Redis, notifications are refused as requests are', async (t) => {
    const store = redis(t);
    await store.start();
    const kinds = ['allow', 'deny', 'local'];
    const plugins = kinds.map((onError) => ({
      rateLimit: { requests: 3, per: '1h', key: 'server', redis: { url: `unix:${store.socket}`, onError, timeout: '2s' } },
      name: onError,
      servers: [onError],
    }));
    const one = await running(t, Object.fromEntries(kinds.map((kind) => [kind, plain()])), { more: { plugins } });
    for (const kind of kinds) await eventually(() => isUp(one, kind, 1), `${kind}: Redis is there`);
    await store.kill();
    for (const kind of kinds) await eventually(() => isUp(one, kind, 0), `${kind}: Redis is gone`);
    const told = async (kind) => {
      const statuses = [];
      for (let i = 0; i < 5; ++i) {
        const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/x', params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } } });
        const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'notifications/x' };
        const response = await fetch(one.at(kind), { method: 'POST', headers, body });
        await response.text();
        statuses.push(response.status);
      }
      return statuses;
    };
    assert.deepEqual(await told('allow'), [202, 202, 202, 202, 202]);
    assert.deepEqual(await told('deny'), [429, 429, 429, 429, 429]);
    assert.deepEqual(await told('local'), [202, 202, 202, 429, 429]);
  });

  test('a Redis that hangs costs a few requests its time limit, and no more', async (t) => {
    const store = redis(t);
    await store.start();
    const plugins = [{
      rateLimit: limit(store, { key: 'server', redis: { url: `unix:${store.socket}`, timeout: '300ms', onError: 'allow' } }),
      name: 'm',
    }];
    const one = await running(t, { s: plain() }, { more: { plugins } });
    assert.equal(await code(one.gateway.url), 200);
    store.signal('SIGSTOP');
    for (let i = 0; i < 3; ++i) assert.equal(await code(one.gateway.url), 200);
    await eventually(() => isUp(one, 'm', 0), 'it is taken for gone');
    const begin = Date.now();
    for (let i = 0; i < 30; ++i) assert.equal(await code(one.gateway.url), 200); // 9 s, were each to wait for it
    assert.ok(Date.now() - begin < 6000, `${Date.now() - begin} ms`);
    store.signal('SIGCONT');
    await eventually(() => isUp(one, 'm', 1), 'it is back');
  });

  test('its password is told to Redis alone', async (t) => {
    const password = 'pl4nted-r3dis-s3cret';
    const store = redis(t, { password });
    await store.start();
    const url = (secret) => `unix://:${secret}@${store.socket}`;
    const plugins = [
      { rateLimit: limit(store, { key: 'server', redis: { url: url(password) } }), name: 'right' },
      { rateLimit: limit(store, { key: 'server', redis: { url: url(`${password}-not`), onError: 'allow' } }), name: 'wrong' },
    ];
    const one = await running(t, { s: plain() }, { more: { plugins } });
    assert.equal(await code(one.gateway.url), 200);
    await eventually(() => isUp(one, 'right', 1), 'the right one');
    await eventually(async () => /"?wrong"?.*state=down reason="refuses: WRONGPASS"/.test(one.gateway.stderr()), 'the wrong one');
    const seen = [
      one.gateway.stderr(),
      await metrics(one),
      readFileSync(`/proc/${one.gateway.pid}/cmdline`, 'utf8'),
      JSON.stringify(await one.status()),
    ];
    for (const text of seen) assert.ok(!text.includes('s3cret'), text);
  });
});
