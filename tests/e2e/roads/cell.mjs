// The parts of every cell: its place, clients and server, and the questions that many promises put.
import assert from 'node:assert/strict';
import { bounded } from '../lib/events.mjs';
import { ours } from '../lib/reason.mjs';
import { META, MODERN } from './servers.mjs';

export const WAIT_MS = 20_000; // of a busy machine
let tags = 0;

export const gatewayOf = ({ error }) => ours(error?.data);

export class Cell {
  constructor(road, era, kind, promise) {
    Object.assign(this, { road, era, kind, promise, tag: `x${(tags += 1)}`, mine: [] });
    [this.serverEra, this.over] = kind.split('-');
    this.id = `${road.name}/${era}/${kind}/${promise.name}`;
  }

  get server() {
    return this.place.server;
  }

  /** The place's client, but where the promise or the road wants one of its own. */
  async client() {
    return this.road.reloads ? this.fresh() : this.place.client(this.era);
  }

  async fresh(options) {
    const client = await this.wait(this.place.newClient(this.era, options), 'the start of a client');
    this.mine.push(client);
    return client;
  }

  wait(promise, what = 'what was awaited', limit = WAIT_MS) {
    return bounded(Promise.resolve(promise), limit, what);
  }

  args(more = {}) {
    return { tag: this.tag, ...more };
  }

  /** A call under way: sent, and seen by the server; then comes what the road brings. */
  async started(client, tool = 't', { play = () => {}, tag = this.tag, args = {}, ...options } = {}) {
    this.server.play(tag, play);
    const sent = client.call(tool, { tag, ...args }, options);
    const call = await this.wait(this.arrived(sent, tag), 'the call at the server');
    await this.place.during();
    return { sent, call };
  }

  /** The call at the server, or the answer that came instead as an error. */
  async arrived(sent, tag = this.tag) {
    const refused = sent.answer.then(async ({ message, gone, status }) => {
      await new Promise((resolve) => setTimeout(resolve, 1000)); // both may come at once
      throw new Error(`answered before the server had it: ${gone ? `gone, ${status}` : JSON.stringify(message)}`);
    });
    refused.catch(() => {});
    const seen = this.server.callOf(tag);
    seen.catch(() => {});
    return Promise.race([seen, refused]);
  }

  answerOf(sent, what = 'the answer') {
    return this.wait(sent.answer, what);
  }

  async result(sent) {
    const { message, gone, status } = await this.answerOf(sent);
    assert.ok(!gone, `no answer came (HTTP ${status})`);
    assert.ok(message.result, `an error came: ${JSON.stringify(message.error)}`);
    return message.result;
  }

  /** The answer is an error of Lineward itself, with the server's name in it. */
  async refused(sent, code, reason, { limit, status = 200, begunBefore = false } = {}) {
    const answer = await this.answerOf(sent);
    const { message, gone } = answer;
    assert.ok(!gone, `no answer came (HTTP ${answer.status})`);
    const data = gatewayOf(message);
    assert.ok(data, `no error of Lineward's: ${JSON.stringify(message)}`);
    const reasons = [reason].flat();
    assert.ok(reasons.includes(data.reason), `reason ${data.reason}, not ${reasons.join(' or ')}: ${message.error.message}`);
    assert.equal(message.error.code, code);
    if (answer.status !== undefined) assert.equal(answer.status, status);
    if (limit !== undefined) {
      assert.equal(data.limitMs, limit, 'limitMs');
      assert.ok(begunBefore || answer.ms >= limit - 20, `after ${answer.ms} ms, before its limit of ${limit} ms`);
    }
    return { ...answer, data };
  }

  /** The server was told, in the way of its era and transport, and once. */
  async cancelled(call, { reason } = {}) {
    const { how, params } = await this.wait(call.gone.promise, 'the cancel at the server');
    if (this.serverEra === 'modern' && this.over === 'http') return assert.equal(how, 'closed');
    assert.equal(how, 'message');
    assert.equal(typeof params.reason, 'string', 'the reason of the cancel');
    if (reason) assert.ok(params.reason.includes(reason), `reason of the cancel: ${params.reason}`);
    if (this.serverEra === 'modern') assert.equal(params._meta?.[`${META}protocolVersion`], MODERN, '_meta of the cancel');
    return undefined;
  }

  /** Everything works still, and what was cancelled was so once. */
  async wellAfter(client, ...calls) {
    const tag = `${this.tag}-after`;
    this.server.play(tag, (call) => call.answer());
    await this.result(client.call('t', { tag }));
    for (const call of calls) assert.ok(call.cancels.length <= 1, `cancelled ${call.cancels.length} times`);
  }

  /** Progress at a steady pace until the call is over. */
  static async steps(call, every, until = Infinity) {
    const begun = Date.now();
    for (let n = 1; !call.cancels.length && !call.closed && Date.now() - begun < until; ++n) {
      call.progress(n);
      await new Promise((resolve) => setTimeout(resolve, every));
    }
  }

  async end() {
    for (const call of this.server?.calls.items ?? []) if (call.tag?.startsWith(`${this.tag}-`) || call.tag === this.tag) call.answer();
    for (const client of this.mine) await this.wait(client.close(), 'the end of a client').catch((error) => {
      this.trouble ??= error;
    });
  }
}
