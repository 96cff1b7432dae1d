#!/bin/sh
# Expected: a client that negotiates the revision with a stdio server starts that server once.
# Happens: with versionNegotiation auto, client 2.4.0 sends server/discover to one process, ends it, and starts a second one for everything else,
# also where the first has agreed to 2026-07-28 and could go on.
# Touched: servers that take long to start, lock a file, open a port or a browser, or print a code once; process counts of gateways.
# Seen with: @modelcontextprotocol/client 2.4.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error @modelcontextprotocol/client@2.4.0
cat >server.mjs <<'JS'
import { createInterface } from 'node:readline';
import { appendFileSync } from 'node:fs';
const [, , log, era] = process.argv;
const note = (what) => appendFileSync(log, `${process.pid} ${what}\n`);
const tell = (id, rest) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...rest })}\n`);
const serverInfo = { name: 'sample', version: '1' }, capabilities = { tools: {} };
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  note(method);
  if (id === undefined || method === 'tools/call') return;
  if (method === 'initialize') return tell(id, { result: { protocolVersion: params.protocolVersion, capabilities, serverInfo } });
  if (method === 'tools/list') return tell(id, { result: { resultType: 'complete', tools: [{ name: 'silent', inputSchema: { type: 'object' } }], ttlMs: 0, cacheScope: 'public' } });
  if (method === 'server/discover' && era === 'modern') {
    return tell(id, { result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities, serverInfo, ttlMs: 0, cacheScope: 'public' } });
  }
  tell(id, { error: { code: -32601, message: 'Method not found' } });
}).on('close', () => process.exit(0));
JS
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';

setTimeout(() => { console.error('not over after 150 s'); process.exit(1); }, 150_000).unref();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
function version(name, is) {
  const found = JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
  console.log(name, found);
  assert.equal(found, is);
}
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

version('@modelcontextprotocol/client', '2.4.0');
for (const era of ['legacy', 'modern']) {
  const client = new Client({ name: 'sample', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: ['server.mjs', `${era}.log`, era] }));
  await client.listTools();
  await client.close();
  const each = new Map();
  for (const line of readFileSync(`${era}.log`, 'utf8').trim().split('\n')) {
    const [pid, method] = line.split(' ');
    each.set(pid, [...(each.get(pid) ?? []), method]);
  }
  const is = [...each.values()];
  console.log(`what each process of a ${era} server got:`, is);
  assert.deepEqual(is, [['server/discover'], era === 'legacy' ? ['initialize', 'notifications/initialized', 'tools/list'] : ['tools/list']]);
}
JS
node probe.mjs
echo "as described"
