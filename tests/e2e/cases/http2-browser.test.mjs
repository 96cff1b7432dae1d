// A browser as the client: Chromium holds thirty event streams on one HTTP/2 connection, calls beside them, and leaves.
// Over HTTP/1.1 it would have six connections for all of them.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { noBrowser, openBrowser } from '../lib/browser.mjs';
import { modernPost } from '../lib/modern.mjs';
import { eventually } from '../lib/operator.mjs';
import { running } from '../lib/reloading.mjs';
import { modernFixture } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const STREAMS = 30;

describe('a browser over HTTP/2', { skip: DIRECT || NOT_PLAIN || noBrowser }, () => {
  test('thirty event streams beside calls; a stream that it aborts ends, and a closed page ends all', async (t) => {
    const [command, ...args] = modernFixture();
    const one = await running(t, { s: { command, args } }, { more: { listen: { address: '127.0.0.1:0', tls: { selfSigned: true } } } });
    const { page } = await openBrowser(t, { ignoreHTTPSErrors: true });
    // A page of the same origin: what it shows is an error, which is enough.
    await page.goto(new URL('/', one.at('s')).href);
    const request = (method, params) => [one.at('s'), modernPost(method, params, { id: 7 })];
    const firsts = await page.evaluate(
      async ({ listen, streams }) => {
        window.streams = [];
        const opened = async () => {
          const controller = new AbortController();
          const response = await fetch(listen[0], { ...listen[1], signal: controller.signal });
          const { value } = await response.body.getReader().read();
          window.streams.push(controller);
          return { status: response.status, bytes: value.length };
        };
        return Promise.all(Array.from({ length: streams }, opened));
      },
      { listen: request('subscriptions/listen', { notifications: { toolsListChanged: true } }), streams: STREAMS },
    );
    assert.equal(firsts.length, STREAMS);
    assert.ok(firsts.every(({ status, bytes }) => status === 200 && bytes > 0));
    const called = await page.evaluate(
      async ({ call }) => {
        const texts = await Promise.all(Array.from({ length: 40 }, async () => (await fetch(...call)).text()));
        const protocols = performance.getEntriesByType('resource').map((entry) => entry.nextHopProtocol);
        return { texts, protocols: [...new Set(protocols)] };
      },
      { call: request('tools/call', { name: 'test_echo', arguments: {} }) },
    );
    assert.ok(called.texts.every((text) => text.includes('"result"')), called.texts[0]);
    assert.deepEqual(called.protocols, ['h2']);
    assert.equal(await one.metric('lineward_http2_connections'), 1);
    assert.equal((await one.calls()).length, STREAMS);
    await page.evaluate(() => window.streams.splice(0, 10).forEach((controller) => controller.abort()));
    await eventually(async () => (await one.calls()).length === STREAMS - 10, 'the ends of ten streams');
    await page.close();
    await eventually(async () => (await one.calls()).length === 0, 'the ends of the others');
  });
});
