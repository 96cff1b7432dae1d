// conf/replicas.yaml as it stands, twice: what one replica opened the other goes on with, or passes back.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { binary } from '../lib/binary.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { startListener } from '../lib/gateway.mjs';
import { freePort } from '../lib/ports.mjs';
import { lastMessage } from '../lib/modern.mjs';
import { legacyFixture } from '../lib/servers.mjs';
import { DIRECT, legacyClient, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const file = new URL('../../../conf/replicas.yaml', import.meta.url).pathname;

test('conf/replicas.yaml: sessions of both kinds work at either replica', { skip: DIRECT, timeout: 60_000 }, async (t) => {
  const folder = temporaryFolder(t);
  const keys = join(folder, 'replicas.key');
  writeFileSync(keys, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  const notes = join(folder, 'notes');
  writeFileSync(notes, `#!/bin/sh\nexec ${legacyFixture().map((word) => `'${word}'`).join(' ')}\n`);
  chmodSync(notes, 0o700);
  const [command, ...args] = legacyFixture('--http', '0');
  const search = await startListener(command, args, { strict: false });
  t.after(() => search.stop());
  const ports = [await freePort(), await freePort()];
  for (const [at, port] of ports.entries()) {
    const gateway = await startListener(binary(), ['run', '--admin', 'off', file], {
      env: {
        HOSTNAME: `lineward-${at}`,
        SEARCH_URL: search.url,
        NOTES_COMMAND: notes,
        REPLICA_KEYS: keys,
        REPLICA_0: `http://127.0.0.1:${ports[0]}`,
        REPLICA_1: `http://127.0.0.1:${ports[1]}`,
        MCP_LISTEN: `127.0.0.1:${port}`,
        MCP_OPS: '127.0.0.1:0',
        MCP_HOST: '127.0.0.1',
      },
      strict: false,
    });
    t.after(() => gateway.stop());
  }
  for (const [server, kind] of [['search', /^lws1\./], ['notes', /^lwr1~lineward-0~/]]) {
    const at = (port) => ({ url: `http://127.0.0.1:${port}/mcp/${server}` });
    const client = await legacyClient(t, at(ports[0]));
    const { sessionId, protocolVersion } = client.transport;
    assert.match(sessionId, kind);
    const { pid } = JSON.parse(textOf(await client.callTool({ name: 'test_echo', arguments: {} })));
    const response = await fetch(at(ports[1]).url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'Mcp-Session-Id': sessionId,
        'MCP-Protocol-Version': protocolVersion,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 99, method: 'tools/call', params: { name: 'test_echo', arguments: {} } }),
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const { id, result } = lastMessage(text);
    assert.deepEqual([id, JSON.parse(result.content[0].text).pid], [99, pid]);
  }
});
