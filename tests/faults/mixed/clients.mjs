// The clients of the mixed load: of both eras, on every path; patient, hurried, slow and rude.
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const META = 'io.modelcontextprotocol/';
const LATE_MS = 40_000;
// Ends that faults of the load's own making may bring to a call that should have been answered.
const EXCUSED = new Set([
  'upstream_exited', 'upstream_unreachable', 'upstream_protocol', 'circuit_open', 'cancelled_drain', 'queue_full',
  'timeout_queue', 'timeout_startup', 'client_too_slow',
]);

let minted = 0;

/** The fate of each request, by its id; the log is held against it. */
export class Book {
  constructor(report) {
    this.requests = new Map(); // id → {end, reason, what}
    this.report = report;
    this.counts = new Map();
    this.violations = [];
  }
  begin(what) {
    const id = `mixed-${(++minted).toString(36)}`;
    this.requests.set(id, { what });
    return id;
  }
  end(id, end, reason) {
    const one = this.requests.get(id);
    one.end = end;
    one.reason = reason;
    const row = `${one.what.road}\t${one.what.tool}`;
    const ends = this.counts.get(row) ?? new Map();
    const name = reason ? `${end}:${reason}` : end;
    ends.set(name, (ends.get(name) ?? 0) + 1);
    this.counts.set(row, ends);
  }
  violation(text) {
    this.violations.push(text);
    this.report(`violation: ${text}`);
  }
}

/** Posts one message; resolves with {status, session, messages, closed, late}. */
export function post(url, { headers, message, agent, leave, slow, onOpen }) {
  const body = JSON.stringify(message);
  return new Promise((resolve) => {
    let status;
    let session;
    let text = '';
    let left = false;
    let late = false;
    const end = (closed) => {
      clearTimeout(patience);
      clearTimeout(leaving);
      resolve({ status, session, text, closed, left, late });
    };
    const sent = http.request(url, { method: 'POST', agent, headers: { ...headers, 'Content-Length': Buffer.byteLength(body) } }, (response) => {
      status = response.statusCode;
      session = response.headers['mcp-session-id'];
      response.setEncoding('utf8');
      response.on('data', (piece) => {
        text += piece;
        if (!slow) return;
        response.pause();
        setTimeout(() => response.resume(), slow);
      });
      response.on('end', () => end(false));
      response.on('error', () => end(true));
    });
    sent.on('error', () => end(true));
    const patience = setTimeout(() => {
      late = true;
      sent.destroy();
    }, LATE_MS);
    const leaving = leave === undefined ? undefined : setTimeout(() => {
      left = true;
      sent.destroy();
    }, leave);
    sent.end(body, () => onOpen?.());
  });
}

export function messagesOf(text) {
  if (text.startsWith('{')) return [JSON.parse(text)];
  return text.split('\n').filter((line) => line.startsWith('data: {')).map((line) => JSON.parse(line.slice(6)));
}

const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

export class Actor {
  /** road: {name, url, prefix, streams}; random(n): an integer below n */
  constructor(book, roads, random) {
    Object.assign(this, { book, roads, random });
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
  }

  async run(until, pause) {
    while (Date.now() < until) {
      const road = this.roads[this.random(this.roads.length)];
      const dice = this.random(100);
      if (dice < 55) await this.modern(road);
      else if (dice < 62) await this.listen(road);
      else await this.session(road);
      await delay(this.random(2 * pause + 1));
    }
    this.agent.destroy();
  }

  /** The calls, and the behaviour of their clients. */
  plan(road) {
    const dice = this.random(1000);
    const tool = (name) => road.prefix + name;
    if (dice < 5) return { kind: 'kill', name: tool(road.kill), args: road.stdio ? { steps: 'kill' } : {} };
    if (dice < 60) return { kind: 'limit', name: tool('hang'), args: {}, limit: 50 };
    if (dice < 140) return { kind: 'leave', name: tool('hang'), args: {}, leave: this.random(60) };
    if (dice < 180) return { kind: 'leave', name: tool('echo'), args: {}, leave: this.random(4) };
    if (dice < 240) return { kind: 'cancel', name: tool('hang'), args: {}, after: this.random(40) };
    if (dice < 300) return { kind: 'sleep', name: tool('sleep'), args: { ms: this.random(100) } };
    if (dice < 340) return { kind: 'slow', name: tool('echo'), args: { bytes: 1 + this.random(2_000_000) }, slow: 1 + this.random(10) };
    if (dice < 440) {
      const n = this.random(20);
      const args = road.stdio ? { steps: `${'progress:1 '.repeat(n)}answer` } : { n, bytes: this.random(5000) };
      return { kind: 'stream', name: tool(road.stdio ? 'script' : 'stream'), args, token: true, slow: this.random(4) === 0 ? 2 : 0 };
    }
    return { kind: 'echo', name: tool('echo'), args: { bytes: this.random(5) === 0 ? this.random(20_000) : 0 } };
  }

  async modern(road) {
    const plan = this.plan(road);
    if (plan.kind === 'cancel') plan.leave = plan.after;
    const id = this.book.begin({ road: `${road.name} modern`, tool: plan.kind });
    const _meta = {
      [`${META}protocolVersion`]: '2026-07-28',
      [`${META}clientInfo`]: { name: 'mixed', version: '1' },
      [`${META}clientCapabilities`]: {},
      ...(plan.token && { progressToken: id }),
      ...(plan.limit && { 'io.lineward/timeoutMs': plan.limit }),
    };
    const headers = { ...json, 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': plan.name };
    const message = { jsonrpc: '2.0', id, method: 'tools/call', params: { name: plan.name, arguments: { nonce: id, ...plan.args }, _meta } };
    const got = await post(road.url, { headers, message, agent: this.agent, leave: plan.leave, slow: plan.slow });
    this.judge(id, plan, got);
  }

  async listen(road) {
    const id = this.book.begin({ road: `${road.name} modern`, tool: 'listen' });
    const _meta = { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientInfo`]: { name: 'mixed', version: '1' }, [`${META}clientCapabilities`]: {} };
    const headers = { ...json, 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'subscriptions/listen' };
    const message = { jsonrpc: '2.0', id, method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true }, _meta } };
    const got = await post(road.url, { headers, message, leave: 50 + this.random(1500) });
    for (const one of got.text ? messagesOf(got.text.slice(0, got.text.lastIndexOf('\n\n') + 1)) : []) {
      const its = one.method ? one.params?._meta?.[`${META}subscriptionId`] : one.id;
      if (its !== id) this.book.violation(`the listen ${id} got ${JSON.stringify(one).slice(0, 200)}`);
    }
    if (got.late) this.book.violation(`the listen ${id} did not end`);
    this.book.end(id, got.left ? 'left' : 'ended');
  }

  async session(road) {
    const hello = this.book.begin({ road: `${road.name} legacy`, tool: 'initialize' });
    const clientInfo = { name: 'mixed', version: '1' };
    const initialize = { jsonrpc: '2.0', id: hello, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } };
    const opened = await post(road.url, { headers: json, message: initialize, agent: this.agent });
    const first = opened.status === 200 && opened.text ? messagesOf(opened.text).at(-1) : undefined;
    this.judge(hello, { kind: 'initialize' }, opened);
    if (!first?.result || !opened.session) return;
    const headers = { ...json, 'Mcp-Session-Id': opened.session, 'MCP-Protocol-Version': '2025-11-25' };
    await post(road.url, { headers, message: { jsonrpc: '2.0', method: 'notifications/initialized' }, agent: this.agent });
    const stream = this.random(2) === 0 ? this.#stream(road, headers) : undefined;
    const calls = [];
    for (let i = this.random(8); i >= 0; --i) {
      const call = this.legacy(road, headers);
      calls.push(call);
      if (this.random(3) > 0) await call;
    }
    // Some sessions are deleted while calls run.
    if (this.random(4) > 0) await Promise.all(calls);
    await this.#delete(road, headers);
    await Promise.all(calls);
    stream?.destroy();
  }

  #stream(road, headers) {
    const sent = http.request(road.url, { method: 'GET', headers: { ...headers, Accept: 'text/event-stream' } }, (response) => response.resume().on('error', () => {}));
    sent.on('error', () => {});
    return sent.end();
  }

  #delete(road, headers) {
    return new Promise((resolve) => {
      const sent = http.request(road.url, { method: 'DELETE', agent: this.agent, headers }, (response) => response.resume().on('close', resolve));
      sent.on('error', resolve);
      sent.end();
    });
  }

  async legacy(road, headers) {
    const plan = this.plan(road);
    const id = this.book.begin({ road: `${road.name} legacy`, tool: plan.kind });
    const _meta = { ...(plan.token && { progressToken: id }), ...(plan.limit && { 'io.lineward/timeoutMs': plan.limit }) };
    const message = { jsonrpc: '2.0', id, method: 'tools/call', params: { name: plan.name, arguments: { nonce: id, ...plan.args }, _meta } };
    const cancel = async () => {
      await delay(plan.after);
      const params = { requestId: id, reason: 'mixed' };
      // On a busy machine it may overtake its call, which has a connection of its own, and then it means nothing.
      for (let i = 0; i < 10 && !this.book.requests.get(id).end; ++i) {
        await post(road.url, { headers, message: { jsonrpc: '2.0', method: 'notifications/cancelled', params }, agent: this.agent });
        await Promise.race([answered, delay(1500)]);
      }
    };
    let tell;
    const answered = new Promise((resolve) => (tell = resolve));
    const cancelling = plan.kind === 'cancel' ? cancel() : undefined;
    const got = await post(road.url, { headers, message, agent: this.agent, leave: plan.leave, slow: plan.slow });
    this.judge(id, plan, got, true);
    tell();
    await cancelling;
  }

  /** Every call ends once, in one of the ways that its plan allows. */
  judge(id, plan, got, inSession = false) {
    const bad = (why) => {
      this.book.violation(`${plan.kind} ${id}: ${why}; HTTP ${got.status} ${got.text.slice(-300)}`);
      this.book.end(id, 'wrong');
    };
    if (got.late) return bad('no end');
    if (got.left) return this.book.end(id, 'left');
    if (got.status === 404 && inSession) return this.book.end(id, 'session over');
    let messages = [];
    try {
      messages = messagesOf(got.text);
    } catch {
      return bad('no message');
    }
    const answers = messages.filter((one) => one.method === undefined);
    if (answers.length > 1) return bad(`${answers.length} answers`);
    for (const one of messages) {
      if (one.method === 'notifications/progress' && one.params.progressToken !== id) return bad("another call's progress");
    }
    const answer = answers[0];
    if (!answer) {
      if (got.status === 503) return this.book.end(id, 'refused');
      // A cancel by message, or the end of its session.
      if (got.status === 200 && !got.closed && inSession) return this.book.end(id, 'empty');
      return bad('no answer');
    }
    if (answer.id !== id) return bad("another call's answer");
    if (answer.error) {
      const reason = answer.error.data?.['io.lineward/gateway']?.reason;
      const due = plan.kind === 'limit' ? reason === 'timeout_request' : plan.kind === 'kill';
      if (!due && !EXCUSED.has(reason)) return bad('an error');
      return this.book.end(id, 'error', reason);
    }
    if (plan.kind !== 'initialize' && answer.result.content?.[0]?.text !== id) return bad('a wrong result');
    if (['limit', 'cancel', 'leave'].includes(plan.kind) && plan.name.endsWith('hang')) return bad('a result of what never ends');
    this.book.end(id, 'ok');
  }
}
