// The story of one call or server, at the side. Its address is part of the page's, so it can be shared.
import { $, h, bytes, clock, duration, kindOf, number } from './dom.js';
import { age, ask, left } from './live.js';
import { settledText } from './calls.js';

const STEPS = {
  arrived: 'arrived', judging: 'policies decide', judged: 'policies have decided', routed: 'routed to its server',
  queued: 'waits for a place', at_capacity: 'waits for a process', starting: 'waits for its server to start',
  sent: 'sent to its server', repeated: 'came to nothing, is tried again', progress: 'progress', told: 'told something', acknowledged: 'acknowledged',
  asked: 'the server asks its client', answered: 'the client has answered', held: 'held back: the client reads slowly',
  released: 'goes on', answer: 'its server has answered', cancelling: 'given up, the server is told',
  ended: 'its client has what it gets', settled: 'known what became of the cancel', left_out: 'marks left out',
};
const KIND = { sent: 'sent', answer: 'answer', cancelling: 'stop', settled: 'stop', ended: 'end' };
const TOLD = {
  'notifications/cancelled': 'was told by notifications/cancelled', stream_closed: 'was told by closing its stream',
  not_sent: 'never had it', nothing: 'was not told', others_wait: 'was not told', process_ended: 'has ended',
  servers_behind: 'told those behind it',
};

export class Drawer {
  constructor(live, actions) {
    this.live = live;
    this.actions = actions;
    this.box = $('drawer');
    this.what = null;
  }

  /** {call: id} or {server: name}; null closes it. */
  async show(what) {
    const opened = !this.what && what;
    const same = what && this.what && what.call === this.what.call && what.server === this.what.server;
    if (opened) this.before = document.activeElement;
    this.what = what;
    this.box.hidden = !what;
    if (!what) {
      this.box.replaceChildren();
      if (this.before?.isConnected) this.before.focus({ preventScroll: true });
      return;
    }
    if (!same) {
      this.box.replaceChildren(this.top(what.call ? `Call ${what.call}` : what.server), h('p', { class: 'quiet' }, 'looking …'));
      this.box.focus({ preventScroll: true });
    }
    await this.look();
  }

  /** Reads it anew: while it is open, and something has happened to it. */
  async look() {
    const { what } = this;
    if (!what || this.looking) return;
    this.looking = true;
    try {
      const story = await ask(what.call ? `calls/${encodeURIComponent(what.call)}` : `servers/${encodeURIComponent(what.server)}`);
      story.at = performance.now();
      if (what === this.what) this.draw(what.call ? this.call(story) : this.server(story));
    } catch (error) {
      if (what === this.what) this.draw([this.top(what.call ? `Call ${what.call}` : what.server), h('p', {}, `${error.message}.`)]);
    }
    this.looking = false;
  }

  draw(parts) {
    const held = this.box.contains(document.activeElement) ? document.activeElement.dataset.keep : undefined;
    const inside = this.box.contains(document.activeElement);
    this.box.replaceChildren(...parts.flat().filter(Boolean));
    if (inside) (this.box.querySelector(`[data-keep="${held}"]`) ?? this.box).focus({ preventScroll: true });
  }

  top(title, ...more) {
    return h('div', { class: 'top' }, h('h2', { id: 'drawer-title' }, title), ...more,
      h('button', { type: 'button', data: { keep: 'close' }, 'aria-label': 'Close', on: { click: () => this.actions.close() } }, 'Close'));
  }

  call(one) {
    const over = one.reason !== undefined;
    const facts = [];
    const fact = (name, value) => value !== undefined && value !== '' && value !== null && facts.push(h('dt', {}, name), h('dd', {}, value));
    fact('what', [one.method, one.target].filter(Boolean).join(' '));
    fact('server', one.route ? `${one.upstream}, by the path ${one.route}` : one.upstream);
    fact('client', [one.principal, one.client, one.peer].filter(Boolean).join(' · '));
    fact('its id there', one.rpc_id);
    fact('revision', `${one.revision} (${one.era})`);
    fact('age', duration(age(one)));
    if (!over) fact('left', left(one) === undefined ? undefined : `${clock(left(one))}, then ${one.limit}`);
    fact('waited', one.queued_ms > 0 ? duration(one.queued_ms) : undefined);
    fact('bytes', `${bytes(one.bytes_in)} in${one.bytes_out === undefined ? '' : `, ${bytes(one.bytes_out)} out`}`);
    fact('events', one.events ? number(one.events) : undefined);
    if (over) {
      fact('ended', `${duration(one.ended_ago_ms)} ago${one.code ? `, with error ${one.code}` : ''}`);
      fact('it says', one.text);
      if (one.cancel !== undefined) fact('cancel', one.cancel ? `the server ${TOLD[one.cancel.told] ?? one.cancel.told}; ${settledText(one)}` : 'not known yet what became of it');
    }
    const badge = h('span', { class: 'tag', 'data-kind': over ? kindOf(one.reason) : 'ok' }, over ? one.reason : one.state);
    const cancel = this.actions.operate && !over && h('button', { type: 'button', class: 'danger', data: { keep: 'cancel' }, on: { click: () => this.actions.cancel(one.id) } }, this.live.cancelling.has(one.id) ? 'Asked' : 'Cancel');
    return [
      this.top(`Call ${one.id}`, badge, cancel),
      h('h3', {}, 'Time line'),
      h('ol', { class: 'line' }, (one.timeline ?? []).map((mark) => this.mark(mark, one))),
      h('h3', {}, 'Facts'),
      h('dl', {}, facts),
      h('h3', {}, 'On the command line'),
      h('pre', { class: 'said' }, over ? `lineward ps ${one.id}` : `lineward ps ${one.id}\nlineward cancel ${one.id}`),
    ];
  }

  mark(mark, one) {
    const times = mark.times > 1 ? ` ${number(mark.times)} times, the last at ${duration(mark.last_ms)}` : '';
    let words = STEPS[mark.step] ?? mark.step;
    if (mark.step === 'left_out') words = `${number(mark.times)} marks left out`;
    else words += times;
    if (mark.step === 'sent') words += ` ${one.upstream}`;
    if (mark.step === 'progress' && one.progress?.message) words += `: ${one.progress.message}`;
    if (mark.step === 'ended' && one.reason) words += `: ${one.reason}`;
    if (mark.step === 'settled' && one.cancel) words = settledText(one);
    return h('li', { data: { kind: KIND[mark.step] ?? '' } }, h('time', {}, `+${duration(mark.at_ms)}`), h('i', { 'aria-hidden': 'true' }), h('span', {}, words));
  }

  server(one) {
    const facts = [];
    const fact = (name, value) => value !== undefined && value !== '' && value !== null && facts.push(h('dt', {}, name), h('dd', {}, value));
    fact('state', [one.state, one.why].filter(Boolean).join(': '));
    fact('calls itself', one.server);
    fact('era', [one.era, ...(one.versions ?? [])].filter(Boolean).join(' · '));
    fact('in flight', `${number(one.in_flight)} of ${number(one.max_in_flight)}, ${number(one.waiting)} of ${number(one.max_queue)} wait`);
    fact('listens', number(one.listens));
    fact('sessions', number(one.sessions));
    fact('circuit', one.breaker.state === 'off' ? 'off' : `${one.breaker.state}; opens after ${one.breaker.opens_after} failures, for ${duration(one.breaker.open_for_ms)}`);
    fact('cancels', `it has ${duration(one.cancel_grace_ms)} to stop`);
    for (const process of one.processes) fact(`pid ${process.pid}`, [process.resident_bytes && bytes(process.resident_bytes), process.cpu_seconds !== undefined && `${process.cpu_seconds.toFixed(1)}s of processor`, process.open_fds && `${process.open_fds} descriptors`].filter(Boolean).join(' · '));
    const counts = Object.entries(one.counts ?? {}).map(([name, count]) => [h('dt', {}, name.replaceAll('_', ' ')), h('dd', {}, number(count))]);
    return [
      this.top(one.name, h('span', { class: 'pill' }, h('span', { class: 'dot', data: { state: one.state }, 'aria-hidden': 'true' }), one.state)),
      h('dl', {}, facts),
      h('h3', {}, 'Since the start'), h('dl', {}, counts),
      h('h3', {}, 'Last lines on stderr'),
      h('pre', { class: 'said' }, one.stderr.length ? one.stderr.map(({ time, line }) => `${time.slice(11, 19)}  ${line}`).join('\n') : 'It has said nothing.'),
    ];
  }
}
