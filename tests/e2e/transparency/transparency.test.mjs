// Thousands of generated messages through Lineward, there and back: whatever it need not rewrite is the same byte by
// byte. Rewritten are ids, progress tokens, and on the way into a line the line ends between tokens.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { members, raw, shown } from '../datasets/raw-json.mjs';
import { Inbox } from '../lib/events.mjs';
import { test } from '../lib/test.mjs';
import { Generator, ON_ONE_LINE, randomFrom, WITH_LINE_ENDS } from './generate.mjs';
import { exchange, fill, flat, notification, question } from './messages.mjs';
import { serve } from './served.mjs';

const SEED = Number(process.env.TRANSPARENCY_SEED ?? 20260728);
const CALLS = Number(process.env.TRANSPARENCY_CALLS ?? 1500); // of each era
const IN_FLIGHT = 24;
const QUESTIONS = 150;
const NOTIFICATIONS = 300;
const TRANSLATED = 400;
const LARGE = 16 << 20;
const LIMIT = { timeout: 180_000 };
const ANSWER_MS = 60_000;

/** Equal bytes; a difference is shown around its first byte. */
function same(got, wanted, what) {
  if (got === wanted) return;
  if (got === undefined) assert.fail(`${what}: nothing came, not ${shown(wanted)}`);
  let at = 0;
  while (got[at] === wanted[at]) at++;
  const near = (text) => shown(text.slice(Math.max(0, at - 60), at + 60));
  assert.fail(`${what} differs at byte ${at}:\n  came      …${near(got)}…\n  expected  …${near(wanted)}…`);
}

const OWN_NUMBER = /^(0|[1-9]\d{0,15})$/;

/** Answers with what the exchange in the line wants, some of them in one write and in another order. */
function player(served, exchanges, random) {
  const ready = [];
  const used = new WeakMap(); // by process: the ids that it has seen
  served.onLine = (line, process) => {
    const number = Number(/@(\d+)@/.exec(line)?.[1]);
    const one = exchanges.get(number);
    assert.ok(one && !one.line, `a line that nobody sent, or twice: ${shown(line)}`);
    one.line = line;
    one.sentId = raw(line, 'id');
    one.sentToken = raw(line, 'params', '_meta', 'progressToken');
    assert.match(one.sentId ?? '', OWN_NUMBER, 'the id at the server');
    const ids = used.get(process) ?? new Set();
    assert.ok(!ids.has(one.sentId), `the id ${one.sentId} was used before`);
    used.set(process, ids.add(one.sentId));
    const texts = [...one.notifications, one.answer].map((text) => fill(text, one.sentId, one.sentToken));
    ready.push(() => process.write(texts.map((text) => `${text}\n`).join('')));
    if (ready.length === 1) {
      setImmediate(() => {
        for (const play of random.shuffled(ready.splice(0))) play();
      });
    }
  };
}

/** Runs make(i) for all numbers below n, so many at a time. */
async function several(n, atOnce, run) {
  let next = 0;
  const worker = async () => {
    for (let i; (i = next++) < n;) await run(i);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

async function round(t, era, count) {
  const random = randomFrom(SEED + era.length);
  const make = new Generator(random);
  const served = await serve(t, era);
  const exchanges = new Map();
  player(served, exchanges, random);
  const session = era === 'legacy' ? await served.session() : undefined;
  await several(count, IN_FLIGHT, async (i) => {
    const one = exchange(make, era, i);
    exchanges.set(i, one);
    const body = fill(one.request, one.id, one.token);
    const more = i % 3 === 0 ? { Accept: 'text/event-stream, application/json;q=0.5' } : {};
    const named = ['tools/call', 'prompts/get', 'resources/read'].includes(one.method) ? one.target : undefined;
    const call = session
      ? served.legacy(session, body, more)
      : served.modern(one.method, named, body, more);
    const what = `${era} ${i} (seed ${SEED})`;
    const reply = await call.done(ANSWER_MS, what);
    assert.equal(reply.status, 200, `${what}: ${shown(reply.body)} to ${shown(body)}`);
    if (one.sentToken !== undefined) assert.match(one.sentToken, OWN_NUMBER, `${what}: the token at the server`);
    same(one.line, flat(fill(one.request, one.sentId, one.sentToken)), `${what}: the line at the server`);
    const wanted = [...one.notifications, one.answer].map((text) => fill(text, one.id, one.token));
    const got = reply.messages.items.filter((text) => text !== '');
    assert.equal(got.length, wanted.length, `${what}: came ${got.map(shown).join("\n")}, expected ${wanted.map(shown).join("\n")}`);
    // A bare CR would end a line of an event stream, so it may have become a blank.
    got.forEach((text, k) => same(flat(text), flat(wanted[k]), `${what}: message ${k} at the client`));
    exchanges.delete(i);
  });
  assert.equal(exchanges.size, 0);
}

describe('every byte that need not change', () => {
  test('modern client, modern server', LIMIT, (t) => round(t, 'modern', CALLS));
  test('legacy session, legacy server', LIMIT, (t) => round(t, 'legacy', CALLS));

  test('questions of a legacy server and their answers', LIMIT, async (t) => {
    const make = new Generator(randomFrom(SEED + 1));
    const served = await serve(t, 'legacy');
    const session = await served.session('{"elicitation":{}}');
    for (let i = 0; i < QUESTIONS; i++) {
      const { id, asks, says } = question(make);
      const what = `question ${i} (seed ${SEED})`;
      const answered = new Promise((resolve) => {
        let call;
        served.onLine = (line, process) => {
          if (raw(line, 'method') !== undefined) {
            call = raw(line, 'id');
            process.write(`${fill(asks, id)}\n`);
          } else {
            resolve(line);
            process.write(`{"jsonrpc":"2.0","id":${call},"result":{}}\n`);
          }
        };
      });
      const call = served.legacy(session, `{"jsonrpc":"2.0","id":${i},"method":"tools/call","params":{"name":"q"}}`);
      const [asked] = await call.messages.count(1, what);
      const ours = raw(asked, 'id');
      same(flat(asked), flat(fill(asks, ours)), `${what} at the client`);
      const posted = await served.legacy(session, fill(says, ours)).done();
      assert.equal(posted.status, 202, what);
      same(await answered, flat(fill(says, id)), `${what}: the answer at the server`);
      const end = await call.done(ANSWER_MS, what);
      same(end.messages.items[1], `{"jsonrpc":"2.0","id":${i},"result":{}}`, what);
    }
  });

  test('notifications of a legacy session, both ways', LIMIT, async (t) => {
    const make = new Generator(randomFrom(SEED + 3));
    const served = await serve(t, 'legacy');
    const session = await served.session('{"roots":{"listChanged":true}}');
    const stream = served.listen(session);
    t.after(() => stream.close());
    await stream.head;
    const kinds = ['notifications/tools/list_changed', 'notifications/resources/list_changed', 'notifications/vendor/thing'];
    const heard = new Inbox();
    const event = (i) => (items) => items.find((text) => text.includes(`@down${i}@`));
    for (let i = 0; i < NOTIFICATIONS; i++) {
      const what = `notification ${i} (seed ${SEED})`;
      const down = notification(make, make.random.pick(kinds), `down${i}`, ON_ONE_LINE);
      const up = notification(make, i % 2 ? 'notifications/roots/list_changed' : 'notifications/vendor/other', `up${i}`, WITH_LINE_ENDS);
      served.onLine = (line, process) => {
        heard.put(line);
        process.write(`${down}\n`);
      };
      const posted = await served.legacy(session, up).done();
      assert.equal(posted.status, 202, `${what}: ${shown(posted.body)}`);
      same((await heard.count(i + 1, what))[i], flat(up), `${what} at the server`);
      same(flat(await stream.messages.when(event(i), what)), flat(down), `${what} at the client`);
    }
  });

  test('modern client, legacy server: only members are cut and added', LIMIT, async (t) => {
    const random = randomFrom(SEED + 2);
    const make = new Generator(random);
    const served = await serve(t, 'legacy');
    const exchanges = new Map();
    player(served, exchanges, random);
    const list = (text, ...path) => {
      const value = path.length ? raw(text, ...path) : text;
      return value === undefined ? [] : members(value).map(({ key, start, end }) => `${key}: ${value.slice(start, end)}`);
    };
    await several(TRANSLATED, IN_FLIGHT, async (i) => {
      const one = exchange(make, 'modern', i);
      Object.assign(one, { answer: one.answer.replace(/"resultType"\s*:\s*"complete"/, '"vendor":1.0') });
      exchanges.set(i, one);
      const named = ['tools/call', 'prompts/get', 'resources/read'].includes(one.method) ? one.target : undefined;
      const reply = await served.modern(one.method, named, fill(one.request, one.id, one.token)).done(ANSWER_MS);
      const what = `translated ${i} (seed ${SEED})`;
      assert.equal(reply.status, 200, `${what}: ${shown(reply.body)}`);
      // There: all but the envelope, in order.
      const sent = flat(fill(one.request, one.sentId, one.sentToken));
      const cut = (all) => all.filter((text) => !/^io\.modelcontextprotocol\//.test(text));
      const others = (text) => list(text, 'params').filter((member) => !member.startsWith('_meta: '));
      assert.deepEqual(list(one.line, 'params', '_meta'), cut(list(sent, 'params', '_meta')), what);
      assert.deepEqual(others(one.line), others(sent).filter((text) => !/^(requestState|inputResponses): /.test(text)), what);
      // Back: all that the server wrote, in order, and what a modern client needs.
      const got = flat(reply.messages.items.at(-1));
      const wanted = flat(fill(one.answer, one.id, one.token));
      if (one.fails) return same(got, wanted, what);
      const added = /^(resultType|ttlMs|cacheScope|_meta): /;
      const plain = (text) => list(text, 'result').filter((member) => !added.test(member));
      assert.deepEqual(plain(got), plain(wanted), `${what}: ${shown(got)}`);
      const info = /^io\.modelcontextprotocol\/serverInfo: /;
      const meta = (text) => list(text, 'result', '_meta').filter((member) => !info.test(member));
      assert.deepEqual(meta(got), meta(wanted), what);
      assert.equal(raw(got, 'result', 'resultType'), '"complete"', what);
    });
  });

  for (const era of ['modern', 'legacy']) {
    test(`${era}: results of 16 MiB, as a body and as an event`, LIMIT, async (t) => {
      const served = await serve(t, era);
      const session = era === 'legacy' ? await served.session() : undefined;
      const unit = '{"id":1.0,"\\u0069d":"\\ud800\\/","n":1e400,"progressToken": 7},';
      const data = unit.repeat(Math.ceil(LARGE / unit.length)).slice(0, -1);
      const result = `{"resultType":"complete","content":[${data}],"z":1.0}`;
      served.onLine = (line, process) => {
        const [id, token] = [raw(line, 'id'), raw(line, 'params', '_meta', 'progressToken')];
        const note = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":1.0}}\n`;
        process.write(`${token ? note : ''}{"result":${result},"jsonrpc":"2.0","id":${id}}\n`);
      };
      for (const token of ['', ',"progressToken":"t"']) {
        const envelope = '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}';
        const body = `{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"x","_meta":{${session ? '"x":1' : envelope}${token}}}}`;
        const call = session ? served.legacy(session, body) : served.modern('tools/call', 'x', body);
        const reply = await call.done(ANSWER_MS, 'a large result');
        assert.equal(reply.messages.items.length, token ? 2 : 1);
        same(reply.messages.items.at(-1), `{"result":${result},"jsonrpc":"2.0","id":"big"}`, 'a large result');
      }
    });
  }
});
