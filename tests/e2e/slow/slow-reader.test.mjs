// A client that does not read: no other client notices, memory stays bounded, its call ends and is cancelled. A client
// that reads slowly gets a large answer whole.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { legacyHeaders, MODERN_META, modernHeaders } from '../datasets/bench.mjs';
import { raw } from '../datasets/raw-json.mjs';
import { Inbox } from '../lib/events.mjs';
import { test } from '../lib/test.mjs';
import { serve } from '../transparency/served.mjs';
import { bodyOf, eventually, isSanitized, residentBytes, stalled } from './readers.mjs';

const MIB = 1 << 20;
const PUSHED = 224 * MIB;
const MOST_GROWTH = 64 * MIB;
// Freed memory is kept back by a sanitizer, so it says less: much less than what was pushed it must be all the same.
const MOST_GROWTH_SANITIZED = PUSHED / 2;
const QUICK_MS = 2000;
const LIMIT = { timeout: 180_000 };
const env = { ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:quarantine_size_mb=8` };

const call = (era, id, name, meta = '') => {
  const members = [era === 'modern' ? MODERN_META : '"x":1', meta].filter(Boolean).join(',');
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","_meta":{${members}}}}`;
};

/**
 * Lineward in front of a server of which `tools` are the tools: name → (id, token, process). `strangers`: what concerns
 * the whole session may come before an answer.
 */
async function start(t, era, tools, { strangers = false } = {}) {
  const served = await serve(t, era, { env });
  const session = era === 'legacy' ? await served.session() : undefined;
  const cancels = new Inbox();
  served.onLine = (line, process) => {
    if (raw(line, 'method') === '"notifications/cancelled"') return cancels.put(raw(line, 'params', 'requestId'));
    const token = raw(line, 'params', '_meta', 'progressToken');
    tools[JSON.parse(raw(line, 'params', 'name'))](raw(line, 'id'), token, process);
  };
  const headers = (name) => (session ? legacyHeaders(session) : modernHeaders('tools/call', name));
  return {
    served,
    cancels,
    session,
    stalled: (id, name, meta, more) => stalled(t, served.url, { ...headers(name), ...more }, call(era, id, name, meta)),
    async quick(id) {
      const body = call(era, id, 'quick');
      const began = performance.now();
      const sent = session ? served.legacy(session, body) : served.modern('tools/call', 'quick', body);
      const reply = await sent.done(QUICK_MS, 'the answer to another caller');
      const items = strangers ? reply.messages.items.slice(-1) : reply.messages.items;
      assert.deepEqual(items, [`{"jsonrpc":"2.0","id":${id},"result":${RESULT}}`]);
      return performance.now() - began;
    },
  };
}

const RESULT = '{"resultType":"complete","content":[]}';
const quick = (id, token, process) => process.write(`{"jsonrpc":"2.0","id":${id},"result":${RESULT}}\n`);

/** Writes progress without end, as fast as it is read, whatever the server is told; ends after so many bytes. */
function flooding(bytes, method = 'notifications/progress') {
  const flood = { pushed: 0 };
  flood.done = new Promise((resolve) => (flood.end = resolve));
  const filler = 'x'.repeat(64 * 1024);
  flood.tool = (id, token, process) => {
    flood.id = id;
    const params = `{"progressToken":${token ?? 0},"progress":1,"message":"${filler}"}`;
    const line = `{"jsonrpc":"2.0","method":"${method}","params":${params}}\n`;
    const more = () => {
      if (flood.pushed >= bytes) {
        quick(id, token, process);
        return flood.end();
      }
      process.socket.write(line, () => {
        flood.pushed += line.length;
        more();
      });
    };
    more();
  };
  return flood;
}

/** Calls, one after the other, while the flood that begin() sets going lasts; returns what begin() returned. */
async function othersGoOn({ served, quick: another }, flood, begin, look = () => {}) {
  for (let id = 0; id < 50; id++) await another(id);
  const before = residentBytes(served.pid);
  let most = before;
  let slowest = 0;
  let answers = 0;
  let over = false;
  flood.done.then(() => (over = true));
  const reader = begin();
  while (!over) {
    slowest = Math.max(slowest, await another(answers++));
    most = Math.max(most, residentBytes(served.pid));
    look();
  }
  await another(answers);
  const growth = most - before;
  const bound = isSanitized(served.pid) ? MOST_GROWTH_SANITIZED : MOST_GROWTH;
  assert.ok(flood.pushed >= PUSHED);
  assert.ok(growth < bound, `${growth / MIB} MiB more for ${flood.pushed / MIB} MiB pushed`);
  assert.ok(answers > 20, `only ${answers} answers meanwhile, the slowest after ${slowest} ms`);
  return reader;
}

describe('clients that read slowly, or not at all', () => {
  for (const era of ['modern', 'legacy']) {
    test(`${era}: a stalled reader of a flooding call harms no other client and ends as client_too_slow`, LIMIT, async (t) => {
      const flood = flooding(PUSHED);
      const target = await start(t, era, { quick, flood: flood.tool });
      const { cancels } = target;
      let tooSlow = false;
      const reader = await othersGoOn(target, flood, () => target.stalled('"slow"', 'flood', '"progressToken":"t"'), () => {
        tooSlow ||= /event=call\.end .*target=flood reason=client_too_slow/.test(target.served.stderr());
      });
      assert.ok(tooSlow, 'no call.end with reason client_too_slow in the log');
      await cancels.count(1, 'the cancel at the server');
      assert.deepEqual(cancels.items, [flood.id], 'one cancel, of that call');
      reader.socket.resume();
      await reader.closed; // its stream is cut
    });

    test(`${era}: a result of 16 MiB reaches a slow reader whole`, LIMIT, async (t) => {
      const text = 'abcdefg\\u0041'.repeat(Math.ceil((16 * MIB) / 13));
      const result = `{"resultType":"complete","content":["${text}"]}`;
      const large = (id, token, process) => {
        const note = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":1}}\n`;
        process.write(`${token ? note : ''}{"jsonrpc":"2.0","id":${id},"result":${result}}\n`);
      };
      const { served, stalled, quick: another } = await start(t, era, { quick, large });
      const wanted = `{"jsonrpc":"2.0","id":7,"result":${result}}`;

      // A client that accepts streams gets one after a second, and a sanitizer may need that long.
      const plain = stalled('7', 'large', '', { Accept: 'application/json' });
      await eventually(() => /target=large .*reason=ok/.test(served.stderr()), 'the end of the call');
      await another(1);
      const answer = bodyOf(await plain.readUntil(']}}', 96 * 1024, 60_000));
      assert.ok(answer === wanted, `${answer.length} bytes, not ${wanted.length}`);

      const stream = stalled('7', 'large', '"progressToken":5');
      const twice = () => served.stderr().match(/target=large .*reason=ok/g)?.length === 2;
      await eventually(twice, 'the end of the second call');
      await another(2);
      const events = bodyOf(await stream.readUntil('\r\n0\r\n\r\n', 96 * 1024, 60_000));
      const last = /^data: (.*)$/gm;
      const data = [...events.matchAll(last)].map(([, one]) => one);
      assert.equal(data.length, 2);
      assert.ok(data[1] === wanted, `${data[1].length} bytes, not ${wanted.length}`);
    });
  }

  test("legacy: a stalled GET stream does not hold up its session's calls, nor its memory", LIMIT, async (t) => {
    const flood = flooding(PUSHED, 'notifications/tools/list_changed');
    const target = await start(t, 'legacy', { quick, flood: flood.tool }, { strangers: true });
    const headers = legacyHeaders(target.session, { Accept: 'text/event-stream' });
    let ended;
    const reader = await othersGoOn(target, flood, () => {
      const stream = stalled(t, target.served.url, headers);
      const begun = target.served.legacy(target.session, call('legacy', '"f"', 'flood'));
      ended = begun.done(30_000).catch(() => {}); // how it ends is not the point
      return stream;
    });
    await ended;
    reader.socket.resume();
    await reader.closed; // it is cut
  });

  test('a client that reads gets a burst of 4 MiB whole: it is not slow', LIMIT, async (t) => {
    const count = 64;
    const note = (token) =>
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"message":"${'x'.repeat(65536)}"}}`;
    const burst = (id, token, process) => {
      process.write(`${`${note(token)}\n`.repeat(count)}{"jsonrpc":"2.0","id":${id},"result":${RESULT}}\n`);
    };
    const { served } = await start(t, 'modern', { burst });
    const body = call('modern', 1, 'burst', '"progressToken":"t"');
    const reply = await served.modern('tools/call', 'burst', body).done(20_000, 'the answer after a burst');
    assert.equal(reply.messages.items.length, count + 1);
    assert.equal(reply.messages.items.at(-1), `{"jsonrpc":"2.0","id":1,"result":${RESULT}}`);
  });
});
