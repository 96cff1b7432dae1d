// The gateway's activity, kept up to date: lists are read once, then events report changes.

const API = 'api/v1/';
const LIST_PAGE = 1000;
const MOST_ENDED = 300;
const MOST_LINES = 1000;
const LINGER_MS = 8000; // a call that was cancelled here stays in sight that long after it has ended
const FRESH_MS = 1500; // and any other

export async function ask(path) {
  const response = await fetch(API + path, { headers: { accept: 'application/json' } });
  if (response.status === 401) location.reload();
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.error ?? `the gateway answered ${response.status}`);
  return body;
}

export async function act(path, body = {}) {
  const response = await fetch(API + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `the gateway answered ${response.status}`);
  return answer;
}

/** Lists and events. `changed(what)` is called with a set of words: calls, servers, listens, ended, log, link, … */
export class Live {
  constructor(changed) {
    this.changed = changed;
    this.calls = new Map();
    this.listens = new Map();
    this.servers = [];
    this.sessions = [];
    this.ended = [];
    this.lines = [];
    this.minutes = [];
    this.operations = { operations: [], bucket_seconds: [] };
    this.status = null;
    this.cancelling = new Map(); // id: when it was asked for here
    this.state = 'starting'; // live, lost
    this.heard = performance.now();
    this.cursor = '';
    this.wait = 500;
    this.round = 0;
    this.waiting = null; // events that came while lists are being read
    this.open();
    setInterval(() => this.look(), 5000);
    setInterval(() => this.watch(), 1000);
    document.addEventListener('visibilitychange', () => document.hidden || this.look());
  }

  // ---- the stream ----

  open() {
    clearTimeout(this.again);
    const source = new EventSource(`${API}events${this.cursor ? `?after=${encodeURIComponent(this.cursor)}` : ''}`);
    this.source = source;
    const types = [
      'hello', 'lost', 'log', 'server.state', 'server.gone',
      ...['begin', 'phase', 'progress', 'cancel', 'end', 'settled'].map((one) => `call.${one}`),
      ...['begin', 'phase', 'event', 'cancel', 'end'].map((one) => `listen.${one}`),
      'server.stderr', 'server.spawn', 'server.exit', 'session.open', 'session.close', 'gateway.config.loaded',
    ];
    for (const type of types) source.addEventListener(type, (event) => this.event(type, event));
    source.onerror = () => {
      this.say('lost');
      // The browser comes back by itself, with Last-Event-ID, unless it was refused.
      if (source.readyState !== EventSource.CLOSED) return;
      this.again = setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(this.wait * 2, 10_000);
    };
  }

  event(type, event) {
    this.heard = performance.now();
    if (event.lastEventId) this.cursor = event.lastEventId;
    const data = JSON.parse(event.data);
    if (type === 'hello') {
      this.wait = 500;
      if (this.version && this.version !== data.version) location.reload();
      this.version = data.version;
      this.read();
      return;
    }
    if (type === 'lost') {
      if (data.reason === 'restarted') this.cancelling.clear();
      this.read();
      return;
    }
    if (this.waiting) this.waiting.push([type, data, event.lastEventId]);
    else this.apply(type, data, event.lastEventId);
  }

  apply(type, data, id) {
    const [group, what] = type.split('.');
    if (group === 'call') {
      if (what === 'end') this.callEnded(data);
      else if (what === 'settled') this.callSettled(data);
      else this.put(data);
      this.changed('calls');
    } else if (group === 'listen') {
      if (what === 'end') {
        this.listens.delete(data.id);
        this.remember(stamped(data));
      }
      else this.listens.set(data.id, { ...this.listens.get(data.id), ...stamped(data) });
      this.changed('listens');
    } else if (type === 'server.state') {
      const known = this.servers.find((one) => one.name === data.name);
      if (known) Object.assign(known, { why: undefined, limit_ms: undefined, era: undefined }, data);
      else this.look();
      this.changed('servers');
    } else if (type === 'server.gone') {
      this.servers = this.servers.filter((one) => one.name !== data.name);
      this.changed('servers');
    } else if (type === 'server.stderr') {
      const server = this.servers.find((one) => one.name === data.upstream);
      server?.stderr?.push({ time: data.time, line: data.line ?? '', pid: data.pid });
      if (server?.stderr?.length > 20) server.stderr.shift();
      this.changed('servers');
    } else if (type === 'log') {
      this.line(id, data);
      this.changed('log');
    } else {
      this.soon();
    }
  }

  put(data) {
    const known = this.calls.get(data.id);
    if (known?.reason) return; // it has ended: a phase told late
    this.calls.set(data.id, stamped(data, known));
  }

  callEnded(data) {
    const one = stamped(data, this.calls.get(data.id));
    one.over = performance.now();
    if (data.cancel === null && !this.cancelling.has(data.id)) one.asked = one.over;
    const brief = one.age_ms < 1500 && one.asked === undefined && one.cancel === undefined;
    if (brief) this.calls.delete(data.id);
    else if (this.calls.has(data.id)) this.calls.set(data.id, one);
    this.remember(one);
  }

  callSettled(data) {
    const known = this.calls.get(data.id);
    const one = stamped(data, known);
    one.over = performance.now();
    if (known) this.calls.set(data.id, one);
    this.remember(one);
    if (this.cancelling.delete(data.id)) this.changed('settled', one);
  }

  remember(one) {
    const at = this.ended.findIndex((other) => other.id === one.id);
    if (at >= 0) this.ended[at] = one;
    else {
      this.ended.unshift(one);
      if (this.minutes[0]) this.minutes[0].ends[one.reason] = (this.minutes[0].ends[one.reason] ?? 0) + 1;
      if (this.ended.length > MOST_ENDED) this.ended.length = MOST_ENDED;
    }
    this.changed('ended');
  }

  line(id, line) {
    if (id && this.lines.at(-1)?.id === id) return;
    this.lines.push({ id, line });
    if (this.lines.length > MOST_LINES) this.lines.splice(0, this.lines.length - MOST_LINES);
  }

  // ---- lists ----

  /** Everything anew: at the start, and when something was missed. */
  async read() {
    const round = ++this.round;
    this.waiting = [];
    try {
      const [calls, listens, log, ends] = await Promise.all([
        this.all('calls'), this.all('listens'), ask('log?limit=500'), ask('ends?limit=256'), this.lists(),
      ]);
      if (round !== this.round) return;
      const kept = [...this.calls.values()].filter((one) => one.reason && this.cancelling.has(one.id));
      const plain = calls.filter((one) => one.method !== 'subscriptions/listen').map((one) => stamped(one));
      this.calls = new Map([...kept, ...plain].map((one) => [one.id, one]));
      this.listens = new Map(listens.map((one) => [one.id, stamped(one)]));
      this.lines = log.lines.slice(-MOST_LINES);
      this.ended = ends.ends.map((one) => stamped(one));
      const missed = this.waiting;
      this.waiting = null;
      const newest = this.lines.at(-1)?.id;
      for (const [type, data, id] of missed) if (type !== 'log' || !newest || later(id, newest)) this.apply(type, data, id);
      this.say('live');
      this.changed('everything');
    } catch {
      if (round !== this.round) return;
      this.waiting = null;
      this.say('lost');
      this.again = setTimeout(() => this.read(), 1500);
    }
  }

  async all(name) {
    const out = [];
    for (let after = ''; ; ) {
      const page = await ask(`${name}?limit=${LIST_PAGE}${after && `&after=${after}`}`);
      out.push(...page[name]);
      if (!page.next || out.length >= 20_000) return out;
      after = page.next;
    }
  }

  async lists() {
    const [status, servers, sessions, minutes, operations] = await Promise.all([
      ask('status'), ask('servers'), ask('sessions?limit=300'), ask('ends/minutes'), ask('operations?limit=100'),
    ]);
    this.status = status;
    const before = new Map(this.servers.map((one) => [one.name, one]));
    this.at = performance.now();
    this.servers = servers.servers;
    for (const one of this.servers) share(one, before.get(one.name), this.at);
    this.sessions = sessions.sessions;
    this.sessionCount = sessions.total;
    this.minutes = minutes.minutes;
    this.operations = operations;
    this.listed = performance.now();
  }

  /** The facts that no event reports. */
  async look() {
    if (document.hidden || this.state !== 'live' || this.looking) return;
    this.looking = true;
    try {
      await this.lists();
      this.changed('lists');
    } catch {
      // The stream soon reports that the gateway is away.
    }
    this.looking = false;
  }

  soon() {
    this.later ??= setTimeout(() => {
      this.later = undefined;
      this.look();
    }, 400);
  }

  watch() {
    const now = performance.now();
    // The gateway writes at least every 15 seconds; a comment is no event, but then the browser says it is open.
    if (this.source.readyState === EventSource.OPEN && this.state === 'live') this.heard = Math.max(this.heard, now - 1000);
    this.changed('clock');
  }

  /** Takes those out of sight that ended a while ago. `keep(id)`: not yet. */
  sweep(keep) {
    const now = performance.now();
    let gone = 0;
    for (const [id, one] of this.calls) {
      if (!one.over || this.cancelling.has(id) || keep(id)) continue;
      const mine = one.asked !== undefined || one.cancel !== undefined;
      // A call that was over in a moment was hardly visible.
      if (now - one.over < (mine ? LINGER_MS : one.age_ms < 1500 ? 0 : FRESH_MS)) continue;
      this.calls.delete(id);
      gone++;
    }
    return gone;
  }

  say(state) {
    if (state === this.state) return;
    this.state = state;
    this.changed('link');
  }

  // ---- what is done ----

  async cancel(id, reason = '') {
    this.cancelling.set(id, performance.now());
    const known = this.calls.get(id);
    if (known) known.asked = performance.now();
    this.changed('calls');
    try {
      const answer = await act(`calls/${encodeURIComponent(id)}/cancel`, reason ? { reason } : {});
      // Known at once: it had not been sent, say.
      if (answer.cancel && this.cancelling.has(id)) this.callSettled(answer);
      return answer;
    } catch (error) {
      this.cancelling.delete(id);
      if (known) known.asked = undefined;
      this.changed('calls');
      throw error;
    }
  }
}

/** When it was true what it says, so that its clocks go on by themselves. */
function stamped(data, before) {
  data.at = performance.now();
  if (before?.asked !== undefined) data.asked = before.asked;
  return data;
}

const later = (a, b) => {
  const number = (id) => Number(/(\d+)$/.exec(id ?? '')?.[1] ?? 0);
  return number(a) > number(b);
};

/** Which part of a processor its processes took between two looks. */
function share(server, before, now) {
  server.seen = now;
  const sum = (one) => (one?.processes ?? []).reduce((all, { cpu_seconds: cpu = 0 }) => all + cpu, 0);
  if (before?.seen === undefined) return;
  const passed = (now - before.seen) / 1000;
  server.cpu = passed > 1 ? Math.max(0, (sum(server) - sum(before)) / passed) : before.cpu;
}

export const age = (one) => one.age_ms + (one.over ? 0 : performance.now() - one.at);
export const left = (one) => (one.left_ms === undefined ? undefined : one.left_ms - (performance.now() - one.at));
