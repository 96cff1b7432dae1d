// Cancels of each kind, drain, and the server's death.
import assert from 'node:assert/strict';
import { gatewayOf } from './cell.mjs';
import { MS } from './places.mjs';

export const ENDS = [
  {
    name: 'cancel.stream',
    needs: 'streams',
    async run(cell) {
      const client = await cell.fresh();
      const { sent, call } = await cell.started(client);
      if (client.stream) client.leave();
      else sent.leave();
      await cell.cancelled(call);
      const next = client.stream ? await cell.fresh() : client;
      call.answer(); // too late: no client gets it
      await (cell.road.reloads && cell.era === 'legacy' ? undefined : cell.wellAfter(next, call));
    },
  },
  {
    name: 'cancel.message',
    needs: 'cancel messages',
    async run(cell) {
      const client = await cell.client();
      const { sent, call } = await cell.started(client);
      await sent.cancel('the user left');
      await cell.cancelled(call, { reason: 'the user left' });
      if (cell.place.http) {
        const answer = await cell.answerOf(sent, 'the end of the cancelled POST');
        assert.ok(answer.gone, `an answer came: ${JSON.stringify(answer.message)}`);
        assert.deepEqual([answer.status, answer.how], [200, 'end'], 'how the cancelled POST ends');
      }
      call.answer();
      if (!cell.road.reloads) await cell.wellAfter(client, call);
      if (!cell.place.http) assert.equal(client.news.items.filter(({ message }) => message.result).length, 0, 'an answer came');
    },
  },
  {
    name: 'cancel.DELETE',
    needs: 'sessions',
    async run(cell) {
      const client = await cell.fresh();
      const { call } = await cell.started(client);
      client.removed = true;
      assert.equal(await cell.wait(client.remove(), 'the answer to DELETE'), 200);
      // A server of the session's own era may be told by the DELETE alone, or lose its process.
      const ended = cell.server.got.until(({ http, peer }) => http === 'DELETE' && peer === call.peer, 'DELETE');
      ended.catch(() => {});
      const told = call.gone.promise.then(() => cell.cancelled(call));
      await cell.wait(cell.serverEra === 'legacy' && cell.over === 'http' ? Promise.race([told, ended]) : told, 'the cancel');
    },
  },
  {
    name: 'cancel.stdin',
    needs: 'stdin',
    async run(cell) {
      const client = await cell.fresh();
      const { call } = await cell.started(client);
      client.leave();
      await cell.cancelled(call);
      assert.equal(await cell.wait(client.process.exited, 'the end of Lineward'), 0);
    },
  },
  {
    name: 'cancel.operator',
    async run(cell) {
      const client = await cell.client();
      const { sent, call } = await cell.started(client, `t_${cell.tag}`);
      const shown = await cell.place.shown(client, `t_${cell.tag}`);
      await shown.cancel();
      await cell.refused(sent, 499, 'cancelled_operator');
      await cell.cancelled(call);
      if (!cell.road.reloads) await cell.wellAfter(client, call);
    },
  },
  {
    name: 'cancel.never',
    variant: 'never',
    needs: 'a server that stays',
    async run(cell) {
      const client = await cell.fresh();
      const { sent, call } = await cell.started(client, 't', { meta: { 'io.lineward/timeoutMs': MS.own } });
      await cell.refused(sent, 504, 'timeout_request');
      await cell.wellAfter(cell.road.reloads ? await cell.fresh() : client, call);
      assert.deepEqual(call.cancels, [], 'cancels at the server');
    },
  },
  {
    name: 'cancel.drain',
    last: true,
    async run(cell) {
      const client = await cell.fresh();
      const { sent, call } = await cell.started(client);
      await cell.terminate(client);
      await cell.refused(sent, 503, 'cancelled_drain');
      await cell.cancelled(call);
    },
  },
  {
    name: 'drain.finishes',
    last: true,
    async run(cell) {
      const client = await cell.fresh();
      const { sent, call } = await cell.started(client);
      await cell.terminate(client);
      call.answer();
      await cell.result(sent);
    },
  },
  {
    name: 'death',
    variant: 'mortal',
    alone: true,
    async run(cell) {
      const client = await cell.fresh();
      const { sent, call } = await cell.started(client);
      if (cell.over === 'stdio') call.peer.die();
      else cell.server.die();
      const reason = cell.over === 'stdio' ? 'upstream_exited' : ['upstream_unreachable', 'upstream_protocol', 'upstream_exited'];
      await cell.refused(sent, 502, reason);
      // The next request is served: in the same session, unless HTTP requires a new one.
      const tag = `${cell.tag}-next`;
      cell.server.play(tag, (one) => one.answer());
      let next = client.call('t', { tag });
      let answer = await cell.answerOf(next);
      if (cell.over === 'http' && gatewayOf(answer.message ?? {})?.reason === 'upstream_unreachable') {
        next = client.call('t', { tag }); // it met a kept connection that the server was just closing
        answer = await cell.answerOf(next);
      }
      if (cell.place.http && cell.era === 'legacy' && answer.status === 404) {
        const lost = cell.road.reloads || cell.kind === 'legacy-http';
        assert.ok(lost, '404 for a session that Lineward can go on with');
        return cell.result((await cell.fresh()).call('t', { tag }));
      }
      return cell.result(next);
    },
  },
];
