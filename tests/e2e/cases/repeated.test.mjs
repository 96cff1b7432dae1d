// The visible signs of a call that `retry` makes again: its time line, the log and its spans, on each possible road.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe } from 'node:test';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { callTool, eventually, get } from '../lib/operator.mjs';
import { collector } from '../lib/otlp.mjs';
import { answer, json, startOrigin } from '../lib/raw-origin.mjs';
import { DIRECT, legacyClient } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const TOOLS = [{ name: 'reads', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true, idempotentHint: true } }];
const RETRY = { attempts: 3, on: ['unavailable'], backoff: '1ms' };

/** Is busy `times` times, then answers. */
function busyServer(t, times) {
  let asked = 0;
  return startOrigin(t, (_, response, message) => {
    if (message.method === 'tools/list') return json(response, 200, answer(message.id, { resultType: 'complete', tools: TOOLS }));
    if (message.method !== 'tools/call') return json(response, 200, answer(message.id, { resultType: 'complete' }));
    if (++asked <= times) return response.writeHead(503).end();
    json(response, 200, answer(message.id, { content: [], resultType: 'complete' }));
  });
}

// With two workers one of two servers lives on the other one than the path of both.
const ROADS = {
  'its own path': { path: '/mcp/busy', tool: 'reads' },
  'its own path, a legacy client': { path: '/mcp/busy', tool: 'reads', legacy: true },
  'the path of many': { path: '/mcp', tool: 'busy__reads' },
  'the path of many, a legacy client': { path: '/mcp', tool: 'busy__reads', legacy: true },
  'the path of many, two workers': { path: '/mcp', tool: 'busy__reads', workers: 2 },
  'the path of many, judged for its server': { path: '/mcp', tool: 'busy__reads', workers: 2, plugins: [{ rateLimit: { requests: 100, per: '1m' }, servers: ['busy'] }] },
};

describe('a call that is made again', { skip: DIRECT }, () => {
  for (const [road, { path, tool, legacy, workers, plugins = [] }] of Object.entries(ROADS)) {
    test(`says how often, by ${road}`, async (t) => {
      const otlp = await collector(t);
      const busy = await busyServer(t, 2);
      const other = await busyServer(t, 0);
      const socket = join(temporaryFolder(t), 'admin.sock');
      const gateway = await startGatewayFrom(t, {
        ops: 'off',
        admin: { address: `unix:${socket}` },
        ...(workers && { workers }),
        plugins: [{ trace: { endpoint: `${otlp.url}/v1/traces`, interval: '20ms' } }, ...plugins],
        mcpServers: {
          busy: { url: busy.url, protocolEra: 'modern', retry: RETRY },
          other: { url: other.url, protocolEra: 'modern' },
        },
      });
      const url = new URL(path, gateway.url).href;
      if (legacy) {
        const client = await legacyClient(t, { ...gateway, url });
        await client.callTool({ name: tool, arguments: {} });
      } else {
        const { result, error } = await callTool(url, tool).answer;
        assert.equal(result?.resultType, 'complete', JSON.stringify(error));
      }
      const ended = await eventually(
        async () => JSON.parse((await get(socket, '/api/v1/calls?all=1')).body).ended?.find((call) => call.method === 'tools/call'),
        'the end of the call',
      );
      const { timeline } = JSON.parse((await get(socket, `/api/v1/calls/${ended.id}`)).body);
      assert.deepEqual(timeline.filter(({ step }) => step === 'repeated').map(({ times = 1 }) => times), [2], JSON.stringify(timeline));
      await eventually(() => /event=call\.end .*method=tools\/call .*attempts=3/.test(gateway.stderr()), 'its line in the log');
      for (const kind of [2, 3]) {
        const span = await otlp.spans.until((one) => one.kind === kind && one.attributes['mcp.method.name'] === 'tools/call', `a span of kind ${kind}`);
        assert.equal(span.attributes['lineward.attempt'], '3');
      }
    });
  }

  test('a call that is made once has no word of it in the log', async (t) => {
    const otlp = await collector(t);
    const server = await busyServer(t, 0);
    const gateway = await startGatewayFrom(t, {
      plugins: [{ trace: { endpoint: `${otlp.url}/v1/traces`, interval: '20ms' } }],
      mcpServers: { busy: { url: server.url, protocolEra: 'modern', retry: RETRY } },
    });
    await callTool(new URL('/mcp/busy', gateway.url).href, 'reads').answer;
    const line = await eventually(() => /event=call\.end .*method=tools\/call .*/.exec(gateway.stderr())?.[0], 'its line in the log');
    assert.doesNotMatch(line, /attempts/);
    const span = await otlp.spans.until((one) => one.attributes['mcp.method.name'] === 'tools/call', 'its span');
    assert.equal(span.attributes['lineward.attempt'], '1');
  });
});
