// Limits, at each level that has them: the server's own, by method, by tool, and what a request wishes for itself.
import assert from 'node:assert/strict';
import { Cell, gatewayOf } from './cell.mjs';
import { BODY, MS } from './places.mjs';

const STEP = 100;

/** The request runs into `limit`, is answered so, and the server is told. */
async function runsOut(cell, sent, reason, limit) {
  const call = await cell.wait(cell.arrived(sent), 'the call at the server');
  await cell.place.during();
  await cell.refused(sent, 504, reason, { limit });
  await cell.cancelled(call);
}

const silent = async (cell, send, limit, reason = 'timeout_request') => {
  const client = await cell.client();
  cell.server.play(cell.tag, () => {});
  await runsOut(cell, send(client), reason, limit);
};

const stepping = async (cell, send, limit) => {
  const client = await cell.client();
  cell.server.play(cell.tag, (call) => Cell.steps(call, STEP));
  await runsOut(cell, send(client), 'timeout_max_duration', limit);
};

const tool = (cell, name, options) => (client) => client.call(name, cell.args(), { token: cell.tag, ...options });
const prompt = (cell) => (client) =>
  client.request('prompts/get', { name: cell.place.nameOf('p'), arguments: cell.args() }, { token: cell.tag });
const read = (cell) => (client) =>
  client.request('resources/read', { uri: cell.place.uriOf(`file:///tag=${cell.tag}`) }, { token: cell.tag });

export const LIMITS = [
  { name: 'timeouts.request', variant: 'limited', run: (cell) => silent(cell, tool(cell, 't'), MS.request) },
  { name: 'timeouts.request.methods', needs: 'file', run: (cell) => silent(cell, prompt(cell), MS.own) },
  { name: 'timeouts.request.tools', needs: 'file', run: (cell) => silent(cell, tool(cell, 't_request'), MS.own) },
  {
    name: 'timeouts.request.progress',
    needs: 'file',
    async run(cell) {
      const client = await cell.client();
      const play = async (call) => {
        await Cell.steps(call, STEP, MS.request * 2);
        call.answer();
      };
      const { sent } = await cell.started(client, 't_progress', { play, token: cell.tag });
      await cell.result(sent);
    },
  },
  { name: 'timeouts.maxDuration', variant: 'limited', run: (cell) => stepping(cell, tool(cell, 't'), MS.max) },
  { name: 'timeouts.maxDuration.methods', needs: 'file', run: (cell) => stepping(cell, read(cell), MS.max) },
  { name: 'timeouts.maxDuration.tools', needs: 'file', run: (cell) => stepping(cell, tool(cell, 't_max'), MS.max) },
  { name: 'timeouts.Prefer', needs: 'headers', run: (cell) => silent(cell, tool(cell, 't', { prefer: 'wait=1' }), 1000) },
  {
    name: 'timeouts._meta',
    run: (cell) => silent(cell, tool(cell, 't', { meta: { 'io.lineward/timeoutMs': MS.own } }), MS.own),
  },
  {
    name: 'timeouts.startup',
    variant: 'silent',
    needs: 'file',
    async run(cell) {
      if (cell.era === 'modern' || cell.road.prefixed) {
        const client = await cell.fresh();
        await cell.refused(client.call('t', cell.args()), 504, 'timeout_startup', { limit: MS.startup, begunBefore: true }); // the start is the server's, not the call's
        return;
      }
      // The session's own `initialize` is what waits.
      const error = await cell.wait(cell.place.newClient(cell.era).then(() => undefined, (one) => one), 'the end of initialize');
      assert.ok(error, 'initialize was answered');
      assert.ok(error.message_, error.message);
      assert.equal(gatewayOf(error.message_)?.reason, 'timeout_startup', JSON.stringify(error.message_));
      assert.equal(gatewayOf(error.message_).limitMs, MS.startup);
    },
  },
  {
    name: 'timeouts.startup.own-clock',
    variant: 'slow',
    async run(cell) {
      const client = await cell.fresh();
      cell.server.play(cell.tag, (call) => call.answer());
      await cell.result(client.call('t', cell.args()));
    },
  },
  {
    name: 'limits.queueTimeout',
    variant: 'queued',
    needs: 'one count',
    alone: true,
    async run(cell) {
      const client = await cell.client();
      const { call, sent } = await cell.started(client);
      const second = client.call('t', { tag: `${cell.tag}-second` });
      await cell.refused(second, 504, 'timeout_queue', { limit: MS.queue });
      call.answer();
      await cell.result(sent);
      assert.ok(!cell.server.calls.items.some(({ tag }) => tag === `${cell.tag}-second`), 'the server got it');
    },
  },
  {
    name: 'limits.maxRequestBytes',
    variant: 'small',
    needs: 'HTTP bodies',
    async run(cell) {
      const client = await cell.client();
      cell.server.play(cell.tag, (call) => call.answer());
      const { message, status } = await cell.answerOf(client.call('t', cell.args({ pad: 'x'.repeat(BODY) })));
      assert.ok(message?.error, `it was answered: ${JSON.stringify(message)}`);
      assert.ok(message.error.message.includes('maxRequestBytes'), message.error.message);
      if (cell.place.http) assert.equal(status, 413);
      assert.ok(!cell.server.calls.items.some(({ tag }) => tag === cell.tag), 'the server got it');
      await cell.result(client.call('t', cell.args()));
    },
  },
  {
    name: 'limits.after-reload',
    variant: 'changing',
    needs: 'file',
    alone: true,
    async run(cell) {
      const client = await cell.fresh();
      cell.server.play(cell.tag, () => {});
      cell.server.play(`${cell.tag}-first`, (call) => call.answer());
      await cell.result(client.call('t', { tag: `${cell.tag}-first` }));
      await cell.place.change(client, { timeouts: { request: `${MS.own + cell.place.form}ms` } });
      await cell.refused(client.call('t', cell.args()), 504, 'timeout_request', { limit: MS.own + cell.place.form });
    },
  },
  {
    name: 'lists.slow-server',
    variant: 'holding',
    async run(cell) {
      const client = await cell.client();
      const sent = client.request('tools/list');
      if (!cell.road.prefixed) return cell.refused(sent, 504, 'timeout_request', { limit: MS.request });
      const { tools, _meta } = await cell.result(sent);
      const { ms } = await sent.answer;
      assert.ok(tools.some(({ name }) => name === 'other__t'), 'the other server is there');
      const [missing, ...more] = _meta?.['io.lineward/missing'] ?? [];
      assert.equal(more.length, 0);
      assert.deepEqual([missing?.server, missing?.reason], [cell.place.upstream, 'timeout_request']);
      // Its own limit counts, not aggregate.partTimeout (10 s).
      return assert.ok(ms < 8000, `after ${ms} ms`);
    },
  },
];
