// Messages during calls and beside them: identity, bytes, names, policies, questions, listens, slow readers.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { gatewayOf } from './cell.mjs';
import { MS } from './places.mjs';
import { raw } from './raw.mjs';
import { META } from './servers.mjs';

const IDS = ['1', '"1"', '2.0', '123456789012345678901234567890', '"\\u00fc/\\/"'];
const FRAGMENTS = {
  content: '[ {"type" : "text","text":"\\u00e9\\/ \u{1f600} \\ud83d\\ude00"} ]',
  structuredContent: '{"n":1.50e+3,"big":123456789012345678901234567890,"minus":-0.0,"deep":[[{ }]] }',
};
const UNSAID = raw('"listen:0"');
const ID = `${META}subscriptionId`;

const idOf = (text) => new RegExp(`"id"\\s*:\\s*${text.replace(/[\\.[\](){}*+?^$|/]/g, '\\$&')}\\s*[,}]`);
const tokenOf = (text) => new RegExp(`"progressToken"\\s*:\\s*${text.replace(/[\\.[\](){}*+?^$|/]/g, '\\$&')}\\s*[,}]`);

/** A listen of 2026-07-28, acknowledged; on a road that reloads, again where the first one ended with the old form. */
async function listening(cell, client, notifications, id = UNSAID) {
  const open = async () => {
    const sent = client.request('subscriptions/listen', { notifications }, { id });
    const first = await cell.wait(Promise.race([sent.inbox.count(1, 'the acknowledgement'), sent.answer]), 'the acknowledgement');
    assert.ok(Array.isArray(first), `answered instead of acknowledged: ${JSON.stringify(first.message ?? first.status)}`);
    const [{ message, text }] = first;
    assert.equal(message.method, 'notifications/subscriptions/acknowledged');
    assert.ok(text.includes(`"${ID}":${sent.idText}`) || text.includes(`"${ID}": ${sent.idText}`), `its id in ${text}`);
    return { sent, granted: message.params.notifications };
  };
  const listen = await open();
  await cell.place.during();
  if (!cell.road.reloads) return listen;
  await cell.result(listen.sent); // the graceful end
  return open();
}

async function changeHeard(cell, { sent }, uri) {
  const heard = await cell.wait(
    sent.inbox.until(({ message }) => message.method === 'notifications/resources/updated', 'the update'),
    'the update',
  );
  assert.equal(heard.message.params.uri, uri);
  assert.ok(heard.text.includes(`"${ID}":${sent.idText}`) || heard.text.includes(`"${ID}": ${sent.idText}`), `its id in ${heard.text}`);
}

/** Subscribed, in the way of the client's era: {heard(): the first update after it}. */
async function subscribed(cell, client, uri) {
  if (cell.era === 'modern') {
    const listen = await listening(cell, client, { toolsListChanged: true, resourceSubscriptions: [uri] });
    assert.deepEqual(listen.granted.resourceSubscriptions, [uri], 'what was acknowledged');
    return { ...listen, heard: () => changeHeard(cell, listen, uri) };
  }
  await cell.result(client.request('resources/subscribe', { uri }));
  return {
    async heard() {
      const one = await cell.wait(client.news.until(({ message }) => message.method === 'notifications/resources/updated', 'the update'));
      assert.equal(one.message.params.uri, uri);
    },
  };
}

const noted = async (cell) => {
  const client = await cell.client();
  cell.server.play(cell.tag, () => {});
  const id = 7_000_000 + Number(cell.tag.slice(1));
  const sent = client.call('t', cell.args(), { id, meta: { 'io.lineward/timeoutMs': MS.own } });
  await cell.wait(cell.arrived(sent), 'the call at the server');
  await cell.place.during();
  return { client, sent, id };
};

export const TALK = [
  {
    name: 'identity.ids',
    async run(cell) {
      const client = await cell.fresh();
      const wanted = IDS.map((text, n) => ({ text, tag: `${cell.tag}-${n}` }));
      const sent = wanted.map(({ text, tag }) => {
        cell.server.play(tag, () => {});
        return client.call('t', { tag }, { id: raw(text), token: raw(text) });
      });
      const calls = await Promise.all(wanted.map(({ tag }, n) => cell.wait(cell.arrived(sent[n], tag), `call ${n}`)));
      await cell.place.during();
      for (const { id, token } of calls) assert.ok(Number.isInteger(id) && Number.isInteger(token), 'ids towards the server');
      assert.equal(new Set(calls.map(({ id, peer }) => `${peer.number} ${id}`)).size, calls.length);
      for (const call of calls.toReversed()) {
        call.progress(1, { message: call.tag });
        call.answer({ content: [{ type: 'text', text: call.tag }] });
      }
      for (const [n, one] of sent.entries()) {
        const { message, text } = await cell.answerOf(one);
        assert.equal(message.result?.content[0].text, wanted[n].tag, text);
        assert.match(text, idOf(wanted[n].text));
        assert.equal(one.inbox.items.length, 1, `progress of ${wanted[n].text}`);
        assert.match(one.inbox.items[0].text, tokenOf(wanted[n].text));
        assert.equal(one.inbox.items[0].message.params.message, wanted[n].tag);
      }
    },
  },
  {
    name: 'identity.equal',
    needs: 'two clients',
    async run(cell) {
      const two = [await cell.fresh(), await cell.fresh()];
      const tags = [`${cell.tag}-a`, `${cell.tag}-b`];
      tags.forEach((tag) => cell.server.play(tag, () => {}));
      const sent = two.map((client, n) => client.call('t', { tag: tags[n] }, { id: 7, token: 7 }));
      const calls = await Promise.all(tags.map((tag, n) => cell.wait(cell.arrived(sent[n], tag), tag)));
      await cell.place.during();
      for (const call of calls) call.progress(1, { message: call.tag });
      for (const call of calls.toReversed()) call.answer({ content: [{ type: 'text', text: call.tag }] });
      for (const [n, one] of sent.entries()) {
        assert.equal((await cell.result(one)).content[0].text, tags[n]);
        assert.deepEqual(one.inbox.items.map(({ message }) => message.params.message), [tags[n]]);
      }
    },
  },
  {
    name: 'bytes.result',
    async run(cell) {
      const client = await cell.client();
      const type = cell.serverEra === 'modern' ? ',"resultType" : "complete"' : '';
      const result = `{ "content":${FRAGMENTS.content},"structuredContent":${FRAGMENTS.structuredContent}${type},"x" : [ ],"isError":false }`;
      const { sent, call } = await cell.started(client);
      call.answer(raw(result));
      const { text } = await cell.answerOf(sent);
      // Between the eras, and in the aggregate before a legacy server, some is added.
      if (cell.era === cell.serverEra && (cell.serverEra === 'modern' || !cell.road.prefixed)) assert.ok(text.includes(result), `not the same: ${text}`);
      for (const fragment of Object.values(FRAGMENTS)) assert.ok(text.includes(fragment), `${fragment} is not in ${text}`);
    },
  },
  {
    name: 'bytes.arguments',
    async run(cell) {
      const client = await cell.client();
      const { sent, call } = await cell.started(client, 't', { args: { odd: raw(FRAGMENTS.structuredContent) } });
      call.answer();
      await cell.result(sent);
      assert.ok(call.text.includes(`"odd":${FRAGMENTS.structuredContent}`), call.text);
    },
  },
  {
    name: 'names.error',
    async run(cell) {
      const { sent } = await noted(cell);
      const { message, data } = await cell.refused(sent, 504, 'timeout_request');
      assert.equal(data.upstream, cell.place.upstream);
      assert.ok(message.error.message.includes(cell.place.upstream), `no name in "${message.error.message}"`);
    },
  },
  {
    name: 'names.log',
    async run(cell) {
      const { client, sent, id } = await noted(cell);
      await cell.answerOf(sent);
      const line = await cell.place.logged(client, new RegExp(`event=call\\.end .*rpc_id=${id}\\b.*`));
      assert.match(line, new RegExp(`upstream=${cell.place.upstream}\\b`), line);
      if (cell.road.route) assert.match(line, new RegExp(`route=${cell.road.route}(\\s|$)`), line);
    },
  },
  {
    name: 'names.ps',
    async run(cell) {
      const client = await cell.client();
      const { sent, call } = await cell.started(client, `t_${cell.tag}`);
      const shown = await cell.place.shown(client, `t_${cell.tag}`);
      call.answer();
      await cell.result(sent);
      assert.equal(shown.upstream, cell.place.upstream);
      if (cell.road.route) assert.equal(shown.route, cell.road.route, 'route');
    },
  },
  {
    name: 'names.metrics',
    async run(cell) {
      const { client, sent } = await noted(cell);
      await cell.answerOf(sent);
      const text = await cell.wait(cell.place.metrics(client), 'the metrics');
      const lines = text.split('\n').filter((line) => /^lineward_requests_total\{.*method="tools\/call".* [1-9]/.test(line));
      assert.ok(
        lines.some((line) => line.includes(`upstream="${cell.place.upstream}"`) && line.includes('reason="timeout_request"')),
        `lineward_requests_total has ${lines.join(' ') || 'nothing'}`,
      );
      assert.ok(!lines.some((line) => line.includes('upstream="/mcp"')), 'calls counted for /mcp');
    },
  },
  {
    name: 'policy.toolFilter',
    needs: 'file',
    async run(cell) {
      const client = await cell.client();
      await cell.place.during();
      const next = cell.road.reloads ? await cell.fresh() : client;
      const { message } = await cell.answerOf(next.call('t_denied', cell.args()));
      assert.equal(message?.error?.code, -32602, JSON.stringify(message));
      const { tools } = await cell.result(next.request('tools/list'));
      const names = tools.map(({ name }) => name);
      assert.ok(names.includes(cell.place.nameOf('t')) && !names.includes(cell.place.nameOf('t_denied')), `${names}`);
      assert.ok(!cell.server.calls.items.some(({ tag }) => tag === cell.tag), 'the server got the call');
    },
  },
  {
    name: 'policy.rateLimit',
    needs: 'file',
    async run(cell) {
      const client = await cell.client();
      const tool = `t_rate_${cell.era}`;
      await cell.result(client.call(tool));
      await cell.place.during();
      const next = cell.road.reloads ? await cell.fresh() : client;
      await cell.result(next.call(tool));
      const { message, status, headers } = await cell.answerOf(next.call(tool));
      assert.ok(message?.error, `the third call was answered: ${JSON.stringify(message)}`);
      assert.equal(gatewayOf(message)?.reason, 'rate_limited', JSON.stringify(message));
      if (!cell.place.http) return;
      assert.equal(status, cell.era === 'modern' ? 429 : 200);
      assert.ok(headers['retry-after'], 'Retry-After');
    },
  },
  {
    name: 'questions',
    async run(cell) {
      const client = await cell.fresh({ capabilities: { elicitation: {} } });
      const question = { message: `name of ${cell.tag}?`, requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };
      const play = async (call) => {
        const answers = await call.ask({ q: { method: 'elicitation/create', params: question } });
        if (answers) call.answer({ content: [{ type: 'text', text: JSON.stringify(answers.q) }] });
      };
      cell.server.play(cell.tag, play);
      let changed;
      const between = () => {
        if (cell.place.laterUrl) client.url = cell.place.laterUrl;
        return cell.place.during();
      };
      if (cell.era === 'legacy') {
        const reply = client.reply.bind(client);
        client.reply = (message) => {
          changed = between().then(() => client.respond({ jsonrpc: '2.0', id: message.id, result: reply(message) }));
        };
      }
      const { message, gone } = await cell.wait(client.callAnswering('t', cell.args(), { between }), 'the answer');
      await changed;
      assert.ok(!gone && message.result, JSON.stringify(message));
      assert.deepEqual(JSON.parse(message.result.content[0].text), { action: 'accept', content: { name: 'Ada' } });
      assert.equal(client.questions.items.length, 1, 'questions');
      assert.equal(client.questions.items[0].params.message, question.message);
    },
  },
  {
    name: 'listens.updates',
    needs: 'a session that lives on',
    async run(cell) {
      const client = await cell.fresh();
      const uri = `file:///w-${cell.tag}`;
      const listen = await subscribed(cell, client, cell.place.uriOf(uri));
      await cell.place.watched(uri);
      cell.server.updated(uri);
      await listen.heard();
    },
  },
  {
    name: 'listens.asked-only',
    needs: 'acknowledgements',
    async run(cell) {
      const client = await cell.fresh();
      const uri = `file:///w-${cell.tag}`;
      const listen = await subscribed(cell, client, cell.place.uriOf(uri));
      await cell.place.watched(uri);
      cell.server.updated(`file:///never-${cell.tag}`, { of: uri });
      cell.server.updated(uri);
      await listen.heard();
    },
  },
  {
    name: 'listens.equal-ids',
    needs: 'listens of two clients',
    async run(cell) {
      const two = [await cell.fresh(), await cell.fresh()];
      const uris = two.map((_, n) => `file:///w-${cell.tag}-${n}`);
      const listens = [];
      for (const [n, client] of two.entries()) listens.push(await subscribed(cell, client, cell.place.uriOf(uris[n])));
      for (const uri of uris) await cell.place.watched(uri);
      for (const uri of uris.toReversed()) cell.server.updated(uri);
      for (const listen of listens) await listen.heard();
      const updates = ({ message }) => message.method === 'notifications/resources/updated';
      for (const { sent } of listens) assert.equal(sent.inbox.items.filter(updates).length, 1, 'updates');
    },
  },
  {
    name: 'listens.again',
    needs: 'listens at the server',
    async run(cell) {
      const client = await cell.fresh();
      const uri = `file:///w-${cell.tag}`;
      const listen = await subscribed(cell, client, cell.place.uriOf(uri));
      const first = await cell.place.watched(uri);
      const cancels = () => cell.server.got.items.filter(({ message, peer }) => peer === first.peer && message?.method === 'notifications/cancelled' && message.params.requestId === first.id);
      cell.server.endListen(first);
      await cell.place.watched(uri, first);
      cell.server.updated(uri);
      await listen.heard();
      assert.equal(cancels().length, 0, 'a cancel came for a listen that the server had ended');
    },
  },
  {
    name: 'listens.without-wish',
    needs: 'listens',
    async run(cell) {
      const client = await cell.client();
      const sent = client.request('subscriptions/listen', {});
      const { message, gone } = await cell.wait(Promise.race([sent.answer, sent.inbox.count(1).then(([one]) => one)]), 'an answer');
      assert.ok(!gone, 'no answer');
      assert.equal(message.error?.code, -32602, JSON.stringify(message));
    },
  },
  {
    name: 'slow-reader',
    alone: true,
    async run(cell) {
      const [steps, size] = [1000, 4096];
      const slow = await cell.fresh();
      const play = (call) => {
        for (let n = 1; n <= steps; ++n) call.progress(n, { message: 'x'.repeat(size) });
        call.answer();
      };
      let stream;
      const onResponse = (response) => (stream = response).pause();
      (slow.process?.child.stdout ?? slow.response)?.pause();
      const { sent, call } = await cell.started(slow, 't', { play, token: cell.tag, onResponse });
      assert.ok(call.ended);
      const other = slow.process ? undefined : await cell.fresh();
      // Meanwhile another client is served at the same server.
      for (let n = 0; other && n < 3; ++n) {
        const tag = `${cell.tag}-other${n}`;
        cell.server.play(tag, (one) => one.answer());
        await cell.result(other.call('t', { tag }));
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
      (slow.process?.child.stdout ?? slow.response)?.resume();
      if (cell.place.http) await cell.wait(stream ?? once(sent.request, 'response'), 'the head');
      stream?.resume();
      await cell.result(sent);
      const seen = sent.inbox.items.map(({ message }) => message.params.progress);
      assert.deepEqual([seen.length, seen[0], seen.at(-1)], [steps, 1, steps], 'the progress that came');
      assert.ok(seen.every((n, at) => n === at + 1), 'in order');
    },
  },
];
