// Every file of tests/data/mcp-bodies in front of one Lineward, as a modern request and in a legacy session. Status,
// code, ids and lines match byte for byte, the server gets no refused request, and neighbours are unharmed.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { descendants, leftovers, processOf } from '../lib/processes.mjs';
import { bytesOf, corpus, legacyHeaders, MODERN_META, modernHeaders, startBench } from './bench.mjs';
import { checkBody, checkLine } from './body-checks.mjs';
import { argumentsOf, echoed, errorWith } from './fake-answers.mjs';
import { send } from './http.mjs';
import { raw } from './raw-json.mjs';

const TEST = { timeout: 30_000 };
const rows = corpus('mcp-bodies');
const META = /"_meta":\s*\{\s*"io\.modelcontextprotocol[^{}]*\{\}\s*\}/g;
const ALL_HEADERS = { ...modernHeaders('tools/call', 'echo') };

let bench;
let fences = 0;

before(async () => (bench = await startBench('fake-server.mjs')), TEST);
after(() => bench?.stop(), { timeout: 60_000 });

/** A plain good call; resolves with the index of its line in the record. */
async function goodCall(session) {
  const args = `{"fence":${++fences}}`;
  const id = `"fence-${fences}"`;
  const answer = await bench.call(session, { id, name: 'echo', args }).done(undefined, 'a plain good call');
  assert.equal(answer.status, 200, answer.body);
  assert.deepEqual(answer.messages.items, [echoed(id, 'echo', args)]);
  return bench.lines().findLastIndex(({ line }) => argumentsOf(line) === args);
}

/** Sends one request, then a good one behind it: what the server got in between is what the first one brought. */
async function judge(row, body, session, start) {
  const from = bench.lines().length;
  const answer = await start().done(undefined, row.file);
  const fence = await goodCall(session);
  const lines = bench.lines().slice(from, fence);
  const wrong = checkBody(row, body, answer, lines.map(({ line }) => line));
  if (!session && answer.headers.has('mcp-session-id')) wrong.push('an answer with Mcp-Session-Id');
  assert.ok(wrong.length === 0, `${row.file} (${row.why}):\n    ${wrong.join('\n    ')}`);
}

const withOverrides = (headers, row) => ({ ...headers, ...JSON.parse(row.header_overrides) });

describe('mcp-bodies, 2026-07-28', () => {
  before(() => goodCall(), TEST);

  for (const row of rows) {
    it(row.file, TEST, async () => {
      const body = bytesOf(row.path);
      assert.equal(body.length, Number(row.bytes));
      await judge(row, body, undefined, () => send(bench.url, 'POST', withOverrides(ALL_HEADERS, row), body));
    });
  }

  it('all that are accepted, at the same time', TEST, async () => {
    const good = rows.filter(({ expected, header_overrides }) => expected === 'accept' && header_overrides === '{}');
    const bodies = good.map(({ path }) => bytesOf(path)).filter((body) => raw(body, 'method') === '"tools/call"');
    const answers = await Promise.all(bodies.map((body) => bench.modern('tools/call', 'echo', body).done()));
    answers.forEach((answer, i) => {
      const line = bodies[i].replace(/[\r\n]/g, ' ');
      assert.deepEqual(answer.messages.items, [echoed(raw(line, 'id'), 'echo', argumentsOf(line))]);
    });
  });

  for (const token of ['"a\\"\\u0041\\n\u00c3\u00a9"', '0', '"7"', '9007199254740993']) {
    it(`the progress token ${token.replace(/[^ -~]/g, '?')} comes back byte for byte`, TEST, async () => {
      const from = bench.lines().length;
      const meta = `"progressToken":${token},${MODERN_META}`;
      const body = `{"jsonrpc":"2.0","id":${token},"method":"tools/call","params":{"_meta":{${meta}},"name":"echo"}}`;
      const { messages } = await bench.modern('tools/call', 'echo', body).done();
      assert.deepEqual(messages.items, [
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":0.50}}`,
        echoed(token, 'echo', '{}'),
      ]);
      assert.deepEqual(checkLine(body, bench.lines()[from].line), []);
    });
  }

  for (const [code, status] of [
    [-32601, 404], [-32020, 400], [-32021, 400], [-32022, 400], // prettier-ignore
    [-32602, 200], [-32603, 200], [-32002, 200], [-32042, 200], [-32000, 200], [0, 200], [404, 200], [1234, 200], // prettier-ignore
  ]) {
    it(`a server's error ${code} is ${status}`, TEST, async () => {
      const answer = await bench.call(undefined, { id: '"e"', name: 'fail', args: `{"code":${code}}` }).done();
      assert.deepEqual(answer.messages.items, [errorWith('"e"', code)]);
      assert.equal(answer.status, status);
    });
  }
});

// ---- legacy ---------------------------------------------------------------------------------------------------------

/** The meaning of a row in a legacy session; undefined for a row of 2026-07-28 alone. */
function legacyRow(row) {
  const { file } = row;
  if (/"Mcp-|MCP-|Mcp_/.test(row.header_overrides) && file !== 'method-unknown.json') return undefined;
  if (/^bad-meta-|^ok-server-discover/.test(file)) return undefined;
  const legacy = { ...row, header_overrides: file === 'method-unknown.json' ? '{}' : row.header_overrides };
  if (file === 'method-unknown.json') return { ...legacy, http_status: '200' };
  if (/^bad-client-/.test(file)) return { ...legacy, http_status: '202,400', why: 'answers nothing that was asked' };
  return legacy;
}

/** The same bytes without the envelope that makes a request a modern one. */
const legacyBody = (body) => body.replace(META, '"_meta":{}');

describe('mcp-bodies, in a session of 2025-11-25', () => {
  let session;
  before(async () => {
    session = await bench.session();
    await goodCall(session);
  }, TEST);

  for (const row of rows.map(legacyRow).filter(Boolean)) {
    it(row.file, TEST, async () => {
      const body = legacyBody(bytesOf(row.path));
      const headers = withOverrides(legacyHeaders(session), row);
      await judge(row, body, session, () => send(bench.url, 'POST', headers, body));
    });
  }

  for (const code of [-32700, -32600, -32601, -32602, -32603, -32002, -32020, -32021, -32022, -32042, 0, 404, 500, -1]) {
    it(`a server's error ${code} is 200`, TEST, async () => {
      const answer = await bench.call(session, { id: '"e"', name: 'fail', args: `{"code":${code}}` }).done();
      assert.deepEqual(answer.messages.items, [errorWith('"e"', code)]);
      assert.equal(answer.status, 200);
    });
  }

  const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const NOTE = '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}';
  const REPLY = '{"jsonrpc":"2.0","id":1,"result":{}}';
  const stranger = () => legacyHeaders('0123456789abcdef0123456789abcdef');
  for (const [what, method, headers, body, status] of [
    ['a request of an unknown session', 'POST', stranger, PING, 404],
    ['a notification of an unknown session', 'POST', stranger, NOTE, 404],
    ['an answer of an unknown session', 'POST', stranger, REPLY, 404],
    ['a GET of an unknown session', 'GET', stranger, '', 404],
    ['a DELETE of an unknown session', 'DELETE', stranger, '', 404],
    ['a request of two sessions', 'POST', () => legacyHeaders([session, session]), PING, 404],
    ['a request of no session and no era', 'POST', () => legacyHeaders(undefined), PING, 400],
    ['an answer of no session', 'POST', () => legacyHeaders(undefined), REPLY, 400],
    ['a GET of no session', 'GET', () => legacyHeaders(undefined), '', 405],
    ['a DELETE of no session', 'DELETE', () => legacyHeaders(undefined), '', 405],
    ['a PUT', 'PUT', () => legacyHeaders(session), '', 405],
  ]) {
    it(`${what} is ${status}, and reaches no server`, TEST, async () => {
      const from = bench.lines().length;
      const answer = await send(bench.url, method, headers(), body).done();
      const fence = await goodCall(session);
      assert.deepEqual(bench.lines().slice(from, fence), []);
      assert.equal(answer.status, status, answer.body);
    });
  }

  it('DELETE ends the session and its process: 404 from then on', TEST, async () => {
    const fence = await goodCall(session);
    const server = processOf(bench.lines()[fence].pid);
    const ended = await send(bench.url, 'DELETE', legacyHeaders(session)).done();
    assert.ok([200, 202, 204].includes(ended.status), `status ${ended.status}`);
    const late = await bench.legacy(session, PING).done();
    assert.equal(late.status, 404, late.body);
    assert.deepEqual(await leftovers(() => [server], 10_000), []);
    await goodCall();
  });
});

describe('after all of them', () => {
  it('the modern server is one process still, and a good call works', TEST, async () => {
    const fence = await goodCall();
    assert.deepEqual([...new Set(pidsOfModernCalls())], [bench.lines()[fence].pid]);
  });

  it('Lineward ends with 0 and leaves no process behind', { timeout: 60_000 }, async () => {
    assert.ok(descendants(bench.gateway.pid).length > 0);
    await bench.stop();
  });
});

const pidsOfModernCalls = () =>
  bench
    .lines()
    .filter(({ line }) => line.includes(MODERN_META) && raw(line, 'method') === '"tools/call"')
    .map(({ pid }) => pid);
