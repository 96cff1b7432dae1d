// API keys: their file, the names that are shown, and a session that only its caller can use.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { lineward } from '../lib/operator.mjs';
import { answer, call, json, startOrigin } from '../lib/raw-origin.mjs';
import { legacyFixture } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const KEYS = { alice: 'alice-0123456789abcdef', bob: 'bob-0123456789abcdef00' };
const withKey = (key) => ({ headers: { 'x-api-key': key } });

function hashKey(args, input) {
  const { status, stdout, stderr } = spawnSync(binary(), ['hash-key', ...args], { input, encoding: 'utf8' });
  return { status, stdout, stderr };
}

const line = (name) => hashKey([name], KEYS[name]).stdout;

async function started(t, { mcpServers, lines = line('alice') + line('bob') }) {
  const folder = temporaryFolder(t);
  const file = join(folder, 'keys.txt');
  const socket = join(folder, 'admin.sock');
  const write = (text) => {
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  };
  write(lines);
  const config = { auth: { apiKey: { file } }, admin: { address: `unix:${socket}` }, mcpServers };
  return { gateway: await startGatewayFrom(t, config, { args: ['--ops', 'off'] }), write, socket };
}

async function logged(gateway, pattern) {
  for (let i = 0; i < 200; i++) {
    if (pattern.test(gateway.stderr())) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.match(gateway.stderr(), pattern);
}

/** The bytes of the answer to these bytes. */
function exchange(url, text) {
  return new Promise((resolve, reject) => {
    const socket = connect(new URL(url).port, '127.0.0.1');
    let bytes = '';
    socket.on('data', (chunk) => (bytes += chunk)).once('close', () => resolve(bytes)).once('error', reject);
    socket.write(text);
  });
}

describe('API keys', { skip: DIRECT }, () => {
  test('hash-key makes lines that let in, and refuses what is no key', async (t) => {
    const made = hashKey(['--new', 'carol', 'read', 'write']);
    assert.equal(made.status, 0);
    assert.match(made.stdout, /^carol sha256:[0-9a-f]{64} read write\n$/);
    const key = /: (\S+)$/m.exec(made.stderr)[1];
    assert.ok(!made.stdout.includes(key));
    assert.equal(hashKey(['short'], 'hunter2\n').status, 2);
    assert.equal(hashKey([], 'x'.repeat(40)).status, 2);
    assert.equal(hashKey(['two words'], 'x'.repeat(40)).status, 2);
    const origin = await startOrigin(t, (_, response, { id }) =>
      json(response, 200, answer(id, { content: [], resultType: 'complete' })),
    );
    const { gateway } = await started(t, { lines: made.stdout, mcpServers: { up: { url: origin.url, protocolEra: 'modern' } } });
    assert.equal((await call(gateway.url, 'tools/call', { name: 'x' }, withKey(key))).status, 200);
  });

  test('the file is read again; a broken one changes nothing', async (t) => {
    const origin = await startOrigin(t, (_, response, { id }) =>
      json(response, 200, answer(id, { content: [], resultType: 'complete' })),
    );
    const { gateway, write } = await started(t, { lines: line('alice'), mcpServers: { up: { url: origin.url, protocolEra: 'modern' } } });
    const status = async (name) => (await call(gateway.url, 'tools/call', { name: 'x' }, withKey(KEYS[name]))).status;
    assert.deepEqual([await status('alice'), await status('bob')], [200, 401]);
    write(`${line('alice')}bob ${KEYS.bob}\n`); // not hashed
    await logged(gateway, /level=error.*auth\.keys.*line 2/);
    assert.ok(!gateway.stderr().includes(KEYS.bob));
    assert.deepEqual([await status('alice'), await status('bob')], [200, 401]);
    write(line('bob'));
    await logged(gateway, /auth\.keys.*keys=1/);
    assert.deepEqual([await status('alice'), await status('bob')], [401, 200]);
  });

  test("a foreign session answers as an unknown one, byte for byte, and ps shows the caller of each call", async (t) => {
    const [command, ...args] = legacyFixture();
    const { gateway, socket } = await started(t, { mcpServers: { up: { command, args } } });
    const post = (key, body, headers = {}) =>
      fetch(gateway.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'x-api-key': KEYS[key],
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...body }),
      });
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'e2e', version: '1' } };
    const begun = await post('alice', { id: 1, method: 'initialize', params });
    const session = begun.headers.get('mcp-session-id');
    await begun.text();
    await (await post('alice', { method: 'notifications/initialized' }, { 'mcp-session-id': session })).text();
    const unknown = session.replace(/./g, (c) => (c === '0' ? '1' : '0'));
    const host = new URL(gateway.url).host;
    const request = (method, id, more = '', body = '') =>
      `${method} /mcp HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${KEYS.bob}\r\nMcp-Session-Id: ${id}\r\nConnection: close\r\n` +
      `${more}${body && `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`}\r\n${body}`;
    const stream = 'Accept: text/event-stream\r\n';
    const both = 'Accept: application/json, text/event-stream\r\n';
    for (const [what, make] of Object.entries({
      GET: (id) => request('GET', id, stream),
      resume: (id) => request('GET', id, `${stream}Last-Event-ID: 1-1\r\n`),
      DELETE: (id) => request('DELETE', id),
      request: (id) => request('POST', id, both, '{"jsonrpc":"2.0","id":5,"method":"tools/list"}'),
      notification: (id) => request('POST', id, both, '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'),
      cancel: (id) => request('POST', id, both, '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'),
      response: (id) => request('POST', id, both, '{"jsonrpc":"2.0","id":1,"result":{}}'),
      batch: (id) => request('POST', id, both, '[{"jsonrpc":"2.0","id":5,"method":"ping"}]'),
    })) {
      const foreign = await exchange(gateway.url, make(session));
      assert.match(foreign, /^HTTP\/1\.1 404 /, what);
      assert.equal(foreign, await exchange(gateway.url, make(unknown)), what);
    }
    // Alice's is as it was.
    const listed = await post('alice', { id: 2, method: 'tools/list' }, { 'mcp-session-id': session });
    assert.equal(listed.status, 200);
    await listed.text();
    const { out } = await lineward(['ps', '--format', 'json', '--admin', `unix:${socket}`]);
    assert.ok(JSON.parse(out));
    await logged(gateway, /call\.end.*method=tools\/list.*principal=alice/);
  });
});
