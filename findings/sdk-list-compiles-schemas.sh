#!/bin/sh
# Expected: a client that asks for the list of tools again, and gets the same one, has its output schemas compiled already.
# Happens: Client.listTools() compiles the outputSchema of every tool again, each time, on the thread that reads the answers.
#   request() with the method tools/list compiles none.
# Touched: clients that list often, as after each list_changed; measurements of a proxy's lists, which show the client's own time.
# Seen with: @modelcontextprotocol/sdk 1.32.2.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error @modelcontextprotocol/sdk@1.32.2
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { ListToolsRequestSchema, ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';

setTimeout(() => { console.error('not over after 60 s'); process.exit(1); }, 60_000).unref();
const { version } = JSON.parse(readFileSync('node_modules/@modelcontextprotocol/sdk/package.json'));
console.log('@modelcontextprotocol/sdk', version);
assert.equal(version, '1.32.2');

const tools = ['a', 'b', 'c'].map((name) => ({
  name,
  inputSchema: { type: 'object' },
  outputSchema: { type: 'object', properties: { [name]: { type: 'string' } } },
}));
const server = new Server({ name: 'sample', version: '1' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));

const ajv = new AjvJsonSchemaValidator();
let compiled = 0;
const jsonSchemaValidator = { getValidator: (schema) => (++compiled, ajv.getValidator(schema)) };
const client = new Client({ name: 'sample', version: '1' }, { jsonSchemaValidator });
const [near, far] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(far), client.connect(near)]);

const count = async (what, list) => {
  const before = compiled;
  assert.equal((await list()).tools.length, 3);
  console.log(what, 'compiled', compiled - before, 'schemas');
  return compiled - before;
};
assert.equal(await count('listTools()', () => client.listTools()), 3);
assert.equal(await count('listTools() of the same list', () => client.listTools()), 3);
assert.equal(await count('request()', () => client.request({ method: 'tools/list' }, ListToolsResultSchema)), 0);
await client.close();
JS
node probe.mjs
