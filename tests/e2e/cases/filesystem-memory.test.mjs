// SDK 1.x client, Lineward, server-filesystem and server-memory.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { Inbox, LIMIT_MS, temporaryFolder } from '../lib/events.mjs';
import { filesystem, memory } from '../lib/servers.mjs';
import { legacyClient, startTarget, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

describe('SDK 1.x with server-filesystem', () => {
  test('reads, writes and lists', async (t) => {
    const folder = realpathSync(temporaryFolder(t));
    writeFileSync(join(folder, 'hello.txt'), 'hello from a file');
    const client = await legacyClient(t, await startTarget(t, filesystem(folder)));
    const call = async (name, args) => client.callTool({ name, arguments: args });

    assert.equal(
      textOf(await call('read_text_file', { path: join(folder, 'hello.txt') })),
      'hello from a file',
    );
    await call('write_file', { path: join(folder, 'new.txt'), content: 'zwölf\n'.repeat(20_000) });
    assert.equal(readFileSync(join(folder, 'new.txt'), 'utf8').length, 120_000);
    assert.equal(textOf(await call('read_text_file', { path: join(folder, 'new.txt') })).length, 120_000);
    assert.match(textOf(await call('list_directory', { path: folder })), /hello\.txt[\s\S]*new\.txt/);
    assert.equal((await call('read_text_file', { path: '/etc/hostname' })).isError, true);
  });

  test('obeys the roots of its own client, not those of another', async (t) => {
    const base = realpathSync(temporaryFolder(t));
    const [mine, other] = ['mine', 'other'].map((name) => join(base, name));
    for (const folder of [mine, other]) {
      mkdirSync(folder);
      writeFileSync(join(folder, 'file.txt'), folder);
    }
    const target = await startTarget(t, filesystem(base));
    const connect = async (folder) => {
      const asked = new Inbox();
      const answer = () => {
        asked.put(folder);
        return { roots: [{ uri: pathToFileURL(folder).href, name: 'root' }] };
      };
      const client = await legacyClient(t, target, {
        capabilities: { roots: { listChanged: true } },
        requests: [[types.ListRootsRequestSchema, answer]],
      });
      await asked.count(1, 'roots/list');
      await obeyed(client, folder);
      return client;
    };
    // No message reports that the server has taken over the roots, but it can be asked.
    const obeyed = async (client, folder) => {
      for (const began = Date.now(); Date.now() - began < LIMIT_MS;) {
        if (
          textOf(await client.callTool({ name: 'list_allowed_directories', arguments: {} })).includes(folder)
        )
          return;
      }
      assert.fail(`${folder} never became the root`);
    };
    const [a, b] = await Promise.all([connect(mine), connect(other)]);
    const read = (client, folder) =>
      client.callTool({ name: 'read_text_file', arguments: { path: join(folder, 'file.txt') } });
    assert.equal(textOf(await read(a, mine)), mine);
    assert.equal(textOf(await read(b, other)), other);
    assert.equal((await read(a, other)).isError, true);
    assert.equal((await read(b, mine)).isError, true);
  });
});

describe('SDK 1.x with server-memory', () => {
  test('keeps a graph in the file that its environment names', async (t) => {
    const path = join(temporaryFolder(t), 'memory.jsonl');
    const target = await startTarget(t, memory(), { env: { MEMORY_FILE_PATH: path } });
    const client = await legacyClient(t, target);
    const call = (name, args) => client.callTool({ name, arguments: args });
    const entities = [
      { name: 'Lineward', entityType: 'gateway', observations: ['stands between'] },
      { name: 'MCP', entityType: 'protocol', observations: ['has two eras'] },
    ];
    await call('create_entities', { entities });
    await call('create_relations', { relations: [{ from: 'Lineward', to: 'MCP', relationType: 'speaks' }] });
    const graph = (await call('read_graph', {})).structuredContent;
    assert.deepEqual(graph.entities, entities);
    assert.equal(graph.relations[0].relationType, 'speaks');
    assert.match(readFileSync(path, 'utf8'), /two eras/);

    const another = await legacyClient(t, target);
    const found = await another.callTool({ name: 'search_nodes', arguments: { query: 'protocol' } });
    assert.equal(found.structuredContent.entities[0].name, 'MCP');
  });
});
