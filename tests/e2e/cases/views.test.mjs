// Views of a server's tools (docs/views.md), with the official server for files and clients of both SDK lines.
import assert from 'node:assert/strict';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { filesystem, memory } from '../lib/servers.mjs';
import { DIRECT, legacyClient, modernClient, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const quiet = { ops: { address: 'off' }, admin: { address: 'off' } };
const stdio = ([command, ...args], more = {}) => ({ command, args, ...more });
const overrides = {
  read_text_file: { name: 'read', title: 'Read', description: 'Reads a file.' },
  write_file: { name: 'write' },
};

/** The error of a call: both lines throw it, or give it as a result. */
async function refusal(client, name, args) {
  try {
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.isError, true, `${name} was called`);
    return textOf(result);
  } catch (error) {
    return error.message;
  }
}

describe('views of tools', { skip: DIRECT }, () => {
  for (const [line, connect] of Object.entries({ 'SDK 1.x': legacyClient, 'SDK 2.x': modernClient })) {
    test(`${line}: read-only tools under other names, at the server's own path`, async (t) => {
      const folder = realpathSync(temporaryFolder(t));
      const file = join(folder, 'hello.txt');
      writeFileSync(file, 'hello');
      const gateway = await startGatewayFrom(t, {
        ...quiet,
        mcpServers: {
          files: stdio(filesystem(folder), { tools: { only: 'readOnly', schema: 'repaired', overrides } }),
        },
      });
      const client = await connect(t, { url: gateway.url });
      // Before any list.
      assert.equal(textOf(await client.callTool({ name: 'read', arguments: { path: file } })), 'hello');
      assert.match(await refusal(client, 'write', { path: file, content: 'other' }), /Unknown tool: write/);
      assert.match(await refusal(client, 'write_file', { path: file, content: 'other' }), /Unknown tool: write_file/);
      assert.match(await refusal(client, 'read_text_file', { path: file }), /Unknown tool: read_text_file/);
      assert.equal(readFileSync(file, 'utf8'), 'hello');
      const { tools } = await client.listTools();
      assert.ok(tools.length > 3);
      assert.ok(tools.every((tool) => tool.annotations.readOnlyHint === true));
      assert.ok(tools.every((tool) => tool.inputSchema.type === 'object' && tool.inputSchema.properties));
      const read = tools.find((tool) => tool.name === 'read');
      assert.equal(read.title, 'Read');
      assert.equal(read.description, 'Reads a file.');
      for (const name of ['read_text_file', 'write_file', 'write'])
        assert.ok(!tools.some((tool) => tool.name === name), name);
    });

    test(`${line}: the same among several servers`, async (t) => {
      const folder = realpathSync(temporaryFolder(t));
      const file = join(folder, 'hello.txt');
      writeFileSync(file, 'hello');
      const graph = join(temporaryFolder(t), 'graph.jsonl');
      const gateway = await startGatewayFrom(t, {
        ...quiet,
        mcpServers: {
          files: stdio(filesystem(folder), { tools: { only: 'readOnly', overrides } }),
          memory: stdio(memory(), { env: { MEMORY_FILE_PATH: graph } }),
        },
      });
      const client = await connect(t, { url: gateway.url });
      const { tools } = await client.listTools();
      assert.ok(tools.some((tool) => tool.name === 'files__read'));
      assert.ok(tools.some((tool) => tool.name === 'memory__create_entities'));
      assert.ok(!tools.some((tool) => /^files__.*write/.test(tool.name)));
      assert.equal(textOf(await client.callTool({ name: 'files__read', arguments: { path: file } })), 'hello');
      const args = { path: file, content: 'other' };
      assert.match(await refusal(client, 'files__write', args), /Unknown tool: write/);
      assert.match(await refusal(client, 'files__write_file', args), /Unknown tool: write_file/);
      assert.equal(readFileSync(file, 'utf8'), 'hello');
    });
  }
});
