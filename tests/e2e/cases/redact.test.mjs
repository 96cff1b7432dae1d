// redact: planted secrets are in no log line, no `ps`, no metric and no span, whatever part of a message they are in.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe } from 'node:test';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { eventually, get, lineward, opsOf } from '../lib/operator.mjs';
import { beginEvents, event, rawCall, startOrigin } from '../lib/raw-origin.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const secret = (n) => `sk-planted${String(n).padStart(4, '0')}`;

describe('redact', { skip: DIRECT }, () => {
  test('planted secrets are shown nowhere, and the server gets them all', async (t) => {
    const told = [];
    const otlp = createServer(async (request, response) => {
      for await (const chunk of request) told.push(chunk.toString());
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(otlp, 'listening');
    t.after(() => (otlp.closeAllConnections(), otlp.close()));

    const open = [];
    const origin = await startOrigin(t, (_, response, message) => {
      beginEvents(response);
      const params = { progressToken: message.params._meta.progressToken, progress: 1, message: `at ${secret(2)}` };
      response.write(event({ jsonrpc: '2.0', method: 'notifications/progress', params }));
      open.push(() => response.end(event({ jsonrpc: '2.0', id: message.id, error: { code: -32603, message: secret(3) } })));
    });
    const socket = join(temporaryFolder(t), 'admin.sock');
    const gateway = await startGatewayFrom(t, {
      ops: { address: '127.0.0.1:0' },
      admin: { address: `unix:${socket}` },
      plugins: [
        { trace: { endpoint: `http://127.0.0.1:${otlp.address().port}/v1/traces`, interval: '20ms', arguments: true } },
        { redact: { patterns: ['sk-planted[0-9]{4}'], arguments: ['/password'], replacement: '[gone]' } },
      ],
      mcpServers: { up: { url: origin.url, protocolEra: 'modern' } },
    });
    const params = { name: `tool-${secret(1)}`, arguments: { key: secret(4), password: 'hunter2' }, _meta: { progressToken: 'p' } };
    await rawCall(t, gateway.url, 1, 'tools/call', params);
    const calls = async () => (await get(socket, '/api/v1/calls')).body;
    await eventually(async () => /at \[gone\]/.test(await calls()), 'the call with its progress');
    const ps = (await lineward(['ps', '--admin', `unix:${socket}`])).out;
    assert.match(ps, /tool-\[gone\]/);
    open.forEach((end) => end());
    await eventually(() => /call\.end.*tool-\[gone\]/.test(gateway.stderr()), 'the line in the log');
    await eventually(() => told.length > 0, 'the spans');
    const all = await lineward(['ps', '--all', '--format', 'json', '--admin', `unix:${socket}`]);
    const metrics = await get(opsOf(gateway), '/metrics');
    for (const [where, text] of Object.entries({ ps, all: all.out, log: gateway.stderr(), calls: await calls(), metrics: metrics.body, spans: told.join('') }))
      assert.doesNotMatch(text, /sk-planted|hunter2/, where);
    assert.match(metrics.body, /lineward_redact_replacements_total\{plugin="redact",where="log"\} [1-9]/);
    assert.match(told.join(''), /\[gone\]/);
    assert.equal(origin.requests.at(-1).message.params.arguments.key, secret(4));
  });
});
