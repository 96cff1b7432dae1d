// Every file of tests/data/stdio-lines, written by a server behind Lineward, in one write and byte by byte. The
// readers are a modern client with a neighbour in flight and a listening third, and a legacy session with its GET
// stream.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { bounded } from '../lib/events.mjs';
import { bytesOf, corpus, legacyHeaders, MODERN_META, startBench } from './bench.mjs';
import { send } from './http.mjs';
import { allowed, checkAnswer } from './line-checks.mjs';
import { acknowledgement, answersTwo, done, marker, substitute } from './lines.mjs';
import { raw, shown } from './raw-json.mjs';

const TEST = { timeout: 60_000 };
const EOF_LIMIT_MS = 1000;
const TRIES = 3; // what the machine does to one of them it does not do to three; what the gateway does it does to each
const LISTEN_ID = '"listen:0"';
const FILE_LINES = /tools\/list_changed|notifications\/message/; // a session's own business: it may hear of it

// Two more of our own: both are legal to read, and easily read wrongly.
const OWN = [
  ['own-cr-between-tokens.out', 'deliver', 'a CR between tokens must not end an event', '{"jsonrpc":"2.0",\r"id":1,\r"result":{"resultType":"complete"}}\n'], // prettier-ignore
  ['own-id-wraps.out', 'drop-line', 'an id 2^64 too large is another id', '{"jsonrpc":"2.0","id":{1 + 2^64},"result":{}}\n'], // prettier-ignore
].map(([file, expected, why, text]) => ({ file, expected, why, text }));

const ROUNDS = [
  { name: 'whole', pieces: false, accept: 'application/json, text/event-stream' },
  { name: 'in pieces', pieces: true, accept: 'text/event-stream' },
];

/** The side of one era of one file: a client, its neighbour, and other listeners. */
class Side {
  constructor(bench, row, text) {
    Object.assign(this, { bench, row, text, wrong: [], late: [] });
    this.ends = !text.endsWith('\n');
  }

  problem(round, text) {
    this.wrong.push(`${this.era}, ${round.name}: ${text}`);
  }

  async goodCall(what) {
    const answer = await this.bench.call(this.session, { id: '"good"', name: 'good' }).done(undefined, what);
    assert.equal(answer.status, 200, answer.body);
    assert.deepEqual(answer.messages.items, [done('"good"')], what);
  }

  /** The file is written; returns both answers, whole. */
  async play(round, neighbour) {
    const from = this.bench.lines().length;
    const more = { Accept: round.accept };
    const args = JSON.stringify({ neighbour, pieces: round.pieces });
    const meta = `"progressToken":${this.ids.token}`;
    const b = neighbour && this.bench.call(this.session, { id: this.ids.id2, name: 'neighbour', more });
    const a = this.bench.call(this.session, { id: this.ids.id, name: 'write', args, meta, more });
    const own = this.pid;
    const wrote = await this.bench.recorded(
      ({ pid, line }) => pid === own && /^# (wrote|exits)/.test(line),
      from,
      'the bytes of the file',
    );
    if (!this.ends) {
      const finish = await this.bench.call(this.session, { id: '"f"', name: 'finish' }).done(undefined, 'finish');
      if (finish.messages.items[0] !== done('"f"')) this.problem(round, `finish got ${shown(finish.body)}`);
    }
    const answers = await Promise.all([a.done(undefined, 'the call'), b && b.done(undefined, 'its neighbour')]);
    const took = Date.now() - Number(wrote.line.split(' ')[2]);
    if (this.ends && took > EOF_LIMIT_MS) this.late.push(`${this.era}, ${round.name}: ${took} ms from the end of the server to its answers`);
    return answers;
  }

  check(round, who, answer, which, messages = answer.messages.items) {
    const alternatives = allowed(this.row, this.text, this.ids, which);
    const got = { status: answer.status, body: answer.body, messages };
    checkAnswer(who, got, alternatives, which === 'a' ? this.ids.id : this.ids.id2).forEach((text) =>
      this.problem(round, text),
    );
  }

  /** The number of counted drops: the file's first line, and a late second answer. */
  drops() {
    const first = this.text.split('\n')[0];
    const late = allowed(this.row, this.text, this.ids, 'a')[0] === 'late';
    return ROUNDS.length * ((this.concernsSession(first) ? 0 : 1) + (late ? 0 : 1));
  }

  concernsSession() {
    return false;
  }

  /** The process that answers now; the file's lines are looked for in its record. */
  async look() {
    const from = this.bench.lines().length;
    await this.goodCall('a good call before');
    this.pid = this.bench.lines().slice(from).find(({ line }) => this.isOwn(line)).pid;
  }

  /** The answers to the server's own question, in lines recorded from there on. */
  answersToServer(from) {
    return this.bench
      .lines()
      .slice(from)
      .filter(({ pid, line }) => pid === this.pid && raw(line, 'method') === undefined && raw(line, 'id') === '"s1"')
      .map(({ line }) => line);
  }
}

class ModernSide extends Side {
  era = 'modern';
  // Equal ids of different clients are normal; what the answers say tells them apart.
  ids = { file: this.row.file, id: '"a\\u0041"', id2: '"a\\u0041"', token: '"t\\"\\u0041"' };
  isOwn = (line) => line.includes(MODERN_META) && line.includes('"good"');

  async listen() {
    const body = `{"jsonrpc":"2.0","id":${LISTEN_ID},"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{${MODERN_META}}}}`;
    this.stream = this.bench.modern('subscriptions/listen', undefined, body);
    await this.stream.messages.count(1, 'the acknowledgement');
  }

  async run() {
    await this.look();
    if (!this.ends) await this.listen();
    for (const round of ROUNDS) {
      const from = this.bench.lines().length;
      const [a, b] = await this.play(round, true);
      this.check(round, 'the caller', a, 'a');
      this.check(round, 'its neighbour', b, 'b');
      await this.goodCall('a good call afterwards');
      if (this.row.expected === 'answer-child') this.checkQuestion(round, from);
      if (this.ends) await this.look();
      else await this.checkStream(round);
    }
    this.stream?.close();
  }

  checkQuestion(round, from) {
    const answers = this.answersToServer(from);
    const codes = answers.map((line) => raw(line, 'error', 'code'));
    if (codes.join() !== '-32601') this.problem(round, `the server's question got ${answers.map(shown).join(' | ')}`);
  }

  async checkStream(round) {
    const rounds = ROUNDS.indexOf(round) + 1;
    const seen = await this.stream.messages.count(1 + rounds, 'the marker on the listen');
    const expected = [acknowledgement(LISTEN_ID), ...Array(rounds).fill(marker(LISTEN_ID))];
    if (seen.join() !== expected.join()) this.problem(round, `the listener got ${seen.map(shown).join(' + ')}`);
  }
}

class LegacySide extends Side {
  era = 'legacy';
  ids = { file: this.row.file, id: '10.0', id2: '"10"', token: '1' };
  isOwn = (line) => !line.includes(MODERN_META) && line.includes('"good"');

  async run() {
    this.session = await this.bench.session('{"sampling":{}}');
    this.stream = send(this.bench.url, 'GET', legacyHeaders(this.session, { Accept: 'text/event-stream' }));
    const head = await bounded(this.stream.head, 10_000, 'the GET stream');
    assert.equal(head.status, 200);
    await this.look();
    for (const round of ROUNDS) {
      const from = this.bench.lines().length;
      const heard = this.stream.messages.items.length;
      // Alone, where the file answers one call: what has no id can then belong to that one only.
      const two = answersTwo(this.text) && !this.row.file.startsWith('result-dup');
      const [a, b] = await this.play(round, two);
      const others = this.ends ? [] : await this.beforeMarker(heard);
      this.check(round, 'the caller', a, 'a', a.messages.items.filter((one) => !this.concernsSession(one)));
      if (b) this.check(round, 'the second caller', b, 'b');
      this.checkOthers(round, [...others, ...a.messages.items.filter((one) => this.concernsSession(one))]);
      const all = [...a.messages.items, ...others];
      if (this.row.expected === 'answer-child') await this.checkQuestion(round, from, all);
      if (this.ends) await this.look();
      await this.goodCall('a good call afterwards');
    }
    this.stream.close();
    await send(this.bench.url, 'DELETE', legacyHeaders(this.session)).done();
  }

  concernsSession(message) {
    const method = raw(message, 'method') ?? '';
    return method === '"sampling/createMessage"' || FILE_LINES.test(method);
  }

  /** The messages on the GET stream in this round. */
  async beforeMarker(from) {
    const at = await this.stream.messages.when((items) => {
      const found = items.indexOf(marker(), from);
      return found < 0 ? undefined : found;
    }, 'the marker on the GET stream');
    return this.stream.messages.items.slice(from, at);
  }

  /** Messages for the session as a whole: those of the file, at most once, byte for byte, and nothing else. */
  checkOthers(round, messages) {
    const lines = substitute(this.text, this.ids).split('\n').filter((line) => this.concernsSession(line));
    for (const message of messages) {
      const theirs = raw(message, 'method') === '"sampling/createMessage"';
      const at = lines.findIndex((line) => (theirs ? raw(line, 'params') === raw(message, 'params') : line === message));
      if (at < 0) this.problem(round, `somebody in the session got ${shown(message)}`);
      else lines.splice(at, 1);
    }
  }

  /** The session may carry the question; then the client answers it. Else Lineward has answered by itself. */
  async checkQuestion(round, from, messages) {
    const question = messages.find((message) => raw(message, 'method') === '"sampling/createMessage"');
    const result = '{"role":"assistant","content":{"type":"text","text":"1.0"},"model":"m","n":1.0}';
    if (question) {
      const body = `{"jsonrpc":"2.0","id":${raw(question, 'id')},"result":${result}}`;
      const answer = await this.bench.legacy(this.session, body).done();
      if (answer.status !== 202) this.problem(round, `the client's answer got ${answer.status}`);
    }
    await this.goodCall('a good call behind the answer');
    const answers = this.answersToServer(from);
    const got = answers[0] ?? '';
    const fits = question ? raw(got, 'result') === result : raw(got, 'error', 'code') === '-32601';
    if (answers.length !== 1 || !fits) {
      this.problem(round, `the server's question got ${answers.map(shown).join(' | ') || 'no answer'}`);
    }
  }
}

async function judge(row, tries = TRIES) {
  const text = row.text ?? bytesOf(row.path);
  const bench = await startBench('line-server.mjs', (folder) => {
    if (row.path) return [row.path];
    writeFileSync(join(folder, row.file), row.text, 'latin1');
    return [join(folder, row.file)];
  });
  const sides = [new ModernSide(bench, row, text), new LegacySide(bench, row, text)];
  await Promise.all(
    sides.map((side) => side.run().catch((error) => side.wrong.push(`${side.era}: ${error.stack ?? error}`))),
  );
  const wrong = sides.flatMap((side) => side.wrong);
  await bench.stop().catch((error) => wrong.push(`the end: ${error.message}`));
  const stderr = bench.gateway.stderr();
  // Progress that a session may know from a task is dropped there.
  const drops = stderr.match(/event=(upstream|session)\.dropped/g)?.length ?? 0;
  const wanted = sides.reduce((sum, side) => sum + side.drops(), 0);
  if (row.expected === 'drop-line' && drops < wanted) wrong.push(`${drops} drops in the log, not ${wanted}`);
  const control = /[\x00-\x08\x0b-\x1f\x7f].{0,60}/.exec(stderr);
  if (control) wrong.push(`control bytes in the log: ${shown(control[0])}`);
  const late = sides.flatMap((side) => side.late);
  if (wrong.length === 0 && late.length > 0 && tries > 1) return judge(row, tries - 1);
  wrong.push(...late);
  assert.ok(wrong.length === 0, `${row.file} (${row.expected}: ${row.why}):\n    ${wrong.join('\n    ')}`);
}

describe('stdio-lines', { concurrency: 3 }, () => {
  for (const row of [...corpus('stdio-lines'), ...OWN]) {
    it(`${row.file}: ${row.expected}`, TEST, () => judge(row));
  }
});
