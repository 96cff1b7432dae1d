// Three servers as published behind one endpoint, with clients of both SDK lines (docs/many-servers.md).
import assert from 'node:assert/strict';
import { readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { binary } from '../lib/binary.mjs';
import { Inbox, temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom, startListener } from '../lib/gateway.mjs';
import { everything, filesystem, memory, modernFixture } from '../lib/servers.mjs';
import { DIRECT, legacyClient, modernClient, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const stdio = ([command, ...args], more = {}) => ({ command, args, ...more });
const quiet = { ops: { address: 'off' }, admin: { address: 'off' } };

// No roots: server-everything asks for them a moment after its start, during whatever call is there, and SDK 2.x counts
// a round of questions as progress.
/** Checks that both lines share. */
const LINES = {
  'SDK 1.x': {
    connect: (t, target, answer) =>
      legacyClient(t, target, {
        capabilities: { elicitation: {} },
        requests: [[types.ElicitRequestSchema, answer]],
      }),
    era: 'legacy',
  },
  'SDK 2.x': {
    connect: (t, target, answer) =>
      modernClient(t, target, {
        capabilities: { elicitation: { form: {} } },
        requests: { 'elicitation/create': answer },
      }),
    era: 'modern',
  },
};

describe('three servers as one', { skip: DIRECT }, () => {
  for (const [line, { connect }] of Object.entries(LINES)) {
    test(`${line}: lists, calls, resources, prompts, completions, progress and cancellation`, async (t) => {
      const folder = realpathSync(temporaryFolder(t));
      writeFileSync(join(folder, 'hello.txt'), 'hello from a file');
      const graph = join(temporaryFolder(t), 'graph.jsonl');
      const gateway = await startGatewayFrom(t, {
        ...quiet,
        mcpServers: {
          everything: stdio(everything()),
          files: stdio(filesystem(folder)),
          memory: stdio(memory(), { env: { MEMORY_FILE_PATH: graph } }),
        },
      });
      const client = await connect(t, { url: gateway.url }, () => ({ action: 'cancel' }));
      assert.equal(client.getServerVersion().name, 'lineward');
      assert.match(client.getInstructions(), /^## everything\n/);
      const call = (name, args, ...rest) => client.callTool({ name, arguments: args }, ...rest);

      const { tools } = await client.listTools();
      for (const name of ['everything__get-sum', 'files__read_text_file', 'memory__read_graph'])
        assert.ok(tools.some((tool) => tool.name === name), name);
      assert.ok(tools.every((tool) => /^[A-Za-z0-9_.-]{1,64}$/.test(tool.name)));
      assert.match(textOf(await call('everything__get-sum', { a: 2, b: 3 })), /5/);
      assert.equal(
        textOf(await call('files__read_text_file', { path: join(folder, 'hello.txt') })),
        'hello from a file',
      );
      await call('memory__create_entities', {
        entities: [{ name: 'Lineward', entityType: 'gateway', observations: ['many as one'] }],
      });
      assert.match(readFileSync(graph, 'utf8'), /many as one/);

      const { resources } = await client.listResources();
      assert.ok(resources.length > 0);
      assert.ok(resources.every(({ uri }) => /^(everything|files|memory)\+|^(https?|ui):/.test(uri)));
      const read = await client.readResource({ uri: resources[0].uri });
      assert.equal(read.contents[0].uri, resources[0].uri);
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.ok(resourceTemplates.some(({ uriTemplate }) => uriTemplate.startsWith('everything+')));
      const template = resourceTemplates[0].uriTemplate.replace(/\{[^}]*\}/g, '1');
      assert.equal((await client.readResource({ uri: template })).contents[0].uri, template);

      const { prompts } = await client.listPrompts();
      const simple = prompts.find(({ name }) => name === 'everything__simple-prompt');
      assert.ok(simple, JSON.stringify(prompts.map(({ name }) => name)));
      assert.ok((await client.getPrompt({ name: simple.name })).messages.length > 0);
      const completable = prompts.find(({ name }) => name === 'everything__completable-prompt');
      if (completable) {
        const { completion } = await client.complete({
          ref: { type: 'ref/prompt', name: completable.name },
          argument: { name: 'department', value: 'E' },
        });
        assert.ok(completion.values.length > 0);
      }

      const steps = [];
      const long = (duration, count) => ({
        name: 'everything__trigger-long-running-operation',
        arguments: { duration, steps: count },
      });
      const options = (more) => (line === 'SDK 1.x' ? [undefined, more] : [more]);
      await client.callTool(long(0.5, 5), ...options({ onprogress: ({ progress }) => steps.push(progress) }));
      assert.deepEqual(steps, [1, 2, 3, 4, 5]);
      const abort = new AbortController();
      const cut = { signal: abort.signal, onprogress: () => abort.abort('enough') };
      await assert.rejects(client.callTool(long(60, 600), ...options(cut)));
      assert.match(textOf(await call('everything__echo', { message: 'still here' })), /still here/);
      await assert.rejects(call('echo', {}), /no server here has this tool/);
    });

    test(`${line}: questions of a legacy and of a modern server`, async (t) => {
      const gateway = await startGatewayFrom(t, {
        ...quiet,
        aggregate: { partTimeout: '30s' }, // two servers in node that start at once take long on a busy machine
        mcpServers: { old: stdio(everything()), young: stdio(modernFixture()) },
      });
      const asked = [];
      const client = await connect(t, { url: gateway.url }, ({ params }) => {
        asked.push(params.message);
        return { action: 'accept', content: { name: 'Ada', confirm: true } };
      });
      const { tools } = await client.listTools();
      const old = tools.find(({ name }) => name === 'old__trigger-elicitation-request');
      assert.ok(old, JSON.stringify(tools.map(({ name }) => name)));
      await client.callTool({ name: old.name, arguments: {} });
      assert.equal(asked.length, 1);
    });
  }

  test('a server that a reload adds is in the lists, and listening clients are notified', async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'lineward.json');
    const write = (mcpServers) => {
      const text = JSON.stringify({ listen: { address: '127.0.0.1:0' }, ...quiet, mcpServers });
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    };
    const graph = () => stdio(memory(), { env: { MEMORY_FILE_PATH: join(temporaryFolder(t), 'g.jsonl') } });
    const two = { everything: stdio(everything()), memory: graph() };
    write(two);
    const gateway = await startListener(binary(), ['run', file]);
    t.after(() => gateway.stop());
    const news = new Inbox();
    const old = await legacyClient(t, { url: gateway.url }, {
      notifications: [[types.ToolListChangedNotificationSchema, () => news.put('1.x')]],
    });
    const count = async (prefix) =>
      (await old.listTools()).tools.filter(({ name }) => name.startsWith(prefix)).length;
    // server-everything has news of its own a moment after its start: what is waited for is news after which it is so.
    const toldUntil = async (so, what) => {
      for (let told = news.items.length; ; ) {
        await news.count(told + 1, what);
        told = news.items.length;
        if (await so()) return;
      }
    };
    assert.equal(await count('files__'), 0);
    write({ ...two, files: stdio(filesystem(realpathSync(folder))) });
    process.kill(gateway.pid, 'SIGHUP');
    await toldUntil(async () => (await count('files__')) > 0, 'the news of the new server');
    write({ everything: two.everything, files: stdio(filesystem(realpathSync(folder))) });
    process.kill(gateway.pid, 'SIGHUP');
    await toldUntil(async () => (await count('memory__')) === 0, 'the news of the server that left');
    assert.ok((await count('files__')) > 0);
  });
});
