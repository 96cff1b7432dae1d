// The table of calls in flight: only the rows in sight exist, so that thousands of calls scroll without a stutter. Rows
// stay the same elements while they are in sight: focus, selection and the pointer keep what they are on.
import { $, h, text, attribute, clock, duration, number, kindOf } from './dom.js';
import { age, left } from './live.js';

const EXTRA = 6; // rows beyond what is in sight
const SORTS = {
  id: (one) => one.order,
  age: (one) => one.order, // of arrival: ages are read at different moments, and calls that came together would change places
  left: (one) => left(one) ?? Infinity,
  server: (one) => one.upstream,
  what: (one) => one.target || one.method,
  state: (one) => one.state,
  client: (one) => one.client,
};
const OUTCOME = {
  stopped: 'the server has stopped',
  raced: 'it was answered meanwhile',
  ignored: 'the server goes on',
};

const nameOf = (one) => one.target || one.listens || one.method;
const methodOf = (one) => (one.target || one.listens ? one.method : '');
const serverOf = (one) => (one.route ? `${one.upstream} via ${one.route}` : one.upstream);
const clientOf = (one) => (one.principal && one.client ? `${one.principal}, ${one.client}` : one.principal || one.client || one.peer);

// Columns that give up their width one after the other, so that names are whole: [column, its least width].
const STEPS = [['method', 0], ['client', 110], ['state', 130], ['client', 0], ['left', 58], ['state', 96], ['server', 84], ['what', 150]];
const LONGEST = 640; // px: of a name; URIs may have any length
const PADDING = 21; // px: of a cell

/** The outcome of a cancel, in words. */
export function settledText(one) {
  const { cancel } = one;
  if (!cancel) return '';
  if (cancel.told === 'not_sent') return 'stopped before it was sent';
  if (cancel.told === 'others_wait') return 'others wait for the same answer';
  if (cancel.told === 'servers_behind') return 'its servers were told';
  if (cancel.told === 'process_ended') return 'its process has ended';
  return `${OUTCOME[cancel.outcome] ?? cancel.outcome} · ${duration(cancel.after_ms)}`;
}

export class CallTable {
  constructor(live, actions) {
    this.live = live;
    this.actions = actions; // {open(id), cancel(id), operate}
    this.table = $('calls-table');
    this.scroll = $('calls-scroll');
    this.body = this.table.tBodies[0];
    this.rows = new Map(); // id: its row, while it is in sight
    this.picked = new Set();
    this.sort = 'age';
    this.down = false;
    this.list = [];
    this.current = null;
    // A single cell: a span over all columns would let those that a narrow screen hides take room from the others.
    this.head = h('tr', { class: 'pad', 'aria-hidden': 'true' }, h('td'));
    this.foot = h('tr', { class: 'pad', 'aria-hidden': 'true' }, h('td'));
    this.body.replaceChildren(this.head, this.foot);
    this.scroll.addEventListener('scroll', () => this.window(), { passive: true });
    this.narrow = matchMedia('(max-width: 640px)');
    this.widths = new Map(); // text: its pixels
    this.pen = document.createElement('canvas').getContext('2d');
    new ResizeObserver(() => {
      this.height = undefined;
      this.columns();
      this.window();
    }).observe(this.scroll);
    for (const cell of this.table.tHead.rows[0].cells) {
      const key = cell.dataset.sort;
      if (!key) continue;
      const words = cell.textContent;
      cell.replaceChildren(h('button', { type: 'button', on: { click: () => this.order(key) } }, words));
    }
    this.pointer = false;
    this.scroll.addEventListener('pointerenter', () => (this.pointer = true));
    this.scroll.addEventListener('pointerleave', () => (this.pointer = false));
    this.mark();
  }

  order(key) {
    this.down = this.sort === key ? !this.down : false;
    this.sort = key;
    this.mark();
    this.actions.sorted();
  }

  mark() {
    for (const cell of this.table.tHead.rows[0].cells) {
      if (!cell.dataset.sort) continue;
      // The oldest first is a descending age.
      const down = this.sort === 'age' ? !this.down : this.down;
      attribute(cell, 'aria-sort', cell.dataset.sort === this.sort ? (down ? 'descending' : 'ascending') : null);
    }
  }

  /** Puts the list in order anew. `fits(call)`: the filters. */
  show(fits) {
    const key = SORTS[this.sort];
    const all = [...this.live.calls.values()];
    for (const one of all) one.order ??= parseInt(one.id.slice(1), 16) || 0;
    const list = all.filter(fits).map((one) => [key(one), one]);
    const sign = this.down ? -1 : 1;
    list.sort(([a, one], [b, other]) => sign * (a < b ? -1 : a > b ? 1 : one.order - other.order));
    this.list = list.map(([, one]) => one);
    this.at = new Map(this.list.map((one, i) => [one.id, i]));
    for (const id of this.picked) if (!this.live.calls.has(id)) this.picked.delete(id);
    this.table.setAttribute('aria-rowcount', this.list.length + 1);
    this.total = all.length;
    this.columns();
    this.window();
  }

  /** Shares the width out: names of tools and servers are the last to be cut. */
  columns() {
    if (this.narrow.matches) return;
    const widest = (words, bold) => this.list.reduce((most, one) => Math.max(most, this.pixels(words(one), bold)), 0);
    const what = Math.min(LONGEST, widest(nameOf, true)) + PADDING;
    const server = Math.max(84, Math.min(LONGEST, widest(serverOf, false)) + PADDING);
    const wide = {
      fixed: 86 + 66 + 92, // Call, Age, Actions
      what: Math.max(150, what),
      method: widest(methodOf, false) + 4,
      server,
      left: 96,
      state: 200, // "the server has stopped" is read here
      client: Math.max(90, Math.min(260, widest(clientOf, false) + PADDING)),
    };
    const sum = () => Object.values(wide).reduce((a, b) => a + b, 0);
    const room = this.scroll.clientWidth;
    for (const [column, least] of STEPS) {
      const over = sum() - room;
      if (over <= 0) break;
      wide[column] = least === 0 ? 0 : Math.max(Math.min(least, wide[column]), wide[column] - over);
    }
    for (const column of ['server', 'left', 'state', 'client']) this.table.style.setProperty(`--${column}`, `${Math.floor(wide[column])}px`);
    // Beside a method that is cut the name would be, too.
    this.table.classList.toggle('no-method', wide.method === 0);
    this.table.classList.toggle('no-client', wide.client === 0);
    this.table.classList.toggle('no-bar', wide.left < 96);
    this.table.classList.toggle('tight', wide.what < what || wide.server < server);
  }

  /** How wide a text is in a row. */
  pixels(words, bold) {
    const key = `${bold ? 'b' : ''}${words}`;
    let wide = this.widths.get(key);
    if (wide === undefined) {
      if (this.widths.size > 4000) this.widths.clear();
      const { fontFamily, fontSize } = getComputedStyle(this.body);
      this.pen.font = `${bold ? 600 : 400} ${fontSize} ${fontFamily}`;
      this.widths.set(key, (wide = Math.ceil(this.pen.measureText(words).width)));
    }
    return wide;
  }

  /** Makes the rows that are in sight, and no others. */
  window() {
    if (!this.at) return;
    // A moved element loses the focus, and a key would have no target.
    const held = this.body.contains(document.activeElement) ? document.activeElement : null;
    const height = this.rowHeight();
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / height) - EXTRA);
    const last = Math.min(this.list.length, first + Math.ceil(this.scroll.clientHeight / height) + 2 * EXTRA);
    const wanted = new Set();
    for (let i = first; i < last; i++) wanted.add(this.list[i].id);
    // The row with the focus stays, wherever it is: it goes with its neighbours.
    for (const [id, row] of this.rows) {
      if (wanted.has(id)) continue;
      if (row.contains(document.activeElement)) {
        const at = this.at.get(id);
        this.scroll.focus({ preventScroll: true });
        if (at === undefined) this.current = this.list[Math.min(this.list.length - 1, first)]?.id ?? null;
      }
      row.remove();
      this.rows.delete(id);
    }
    this.head.cells[0].style.height = `${first * height}px`;
    this.foot.cells[0].style.height = `${(this.list.length - last) * height}px`;
    let before = this.head;
    for (let i = first; i < last; i++) {
      const one = this.list[i];
      let row = this.rows.get(one.id);
      if (!row) this.rows.set(one.id, (row = this.make(one.id)));
      if (before.nextSibling !== row) before.after(row);
      attribute(row, 'aria-rowindex', String(i + 2));
      this.fill(row, one);
      before = row;
    }
    if (held?.isConnected && document.activeElement !== held) held.focus({ preventScroll: true });
  }

  rowHeight() {
    return (this.height ??= parseFloat(getComputedStyle(this.table).getPropertyValue('--row')) || 34);
  }

  make(id) {
    const parts = {};
    const part = (name, element) => (parts[name] = element);
    const row = h(
      'tr',
      { tabindex: '-1', 'aria-selected': 'false', data: { id }, on: { click: (event) => event.target.closest('button, input, a') || this.actions.open(id) } },
      h('th', { scope: 'row' },
        this.actions.operate && part('pick', h('input', { type: 'checkbox', 'aria-label': `Select ${id}`, on: { change: () => this.pick(id) } })),
        h('button', { class: 'link mono', 'aria-label': `Story of call ${id}`, on: { click: () => this.actions.open(id) } }, id)),
      part('age', h('td', { class: 'n' })),
      h('td', { class: 'n' }, h('span', { class: 'left' }, part('bar', h('span', { class: 'bar', 'aria-hidden': 'true' }, part('fill', h('i')))), part('left', h('span')))),
      h('td', { class: 'what' }, part('target', h('b')), ' ', part('method', h('span', { class: 'method' })), part('at', h('small', { class: 'at', 'aria-hidden': 'true' }))),
      h('td', {}, part('server', h('span', { class: 'server' }))),
      h('td', {}, part('step', h('span', { class: 'bar step', 'aria-hidden': 'true', hidden: true }, part('done', h('i')))), part('state', h('span'))),
      part('client', h('td')),
      h('td', { class: 'acts' },
        this.actions.operate && part('cancel', h('button', { class: 'danger', 'aria-label': `Cancel ${id}`, on: { click: () => this.actions.cancel(id) } }, 'Cancel'))),
    );
    row.parts = parts;
    return row;
  }

  fill(row, one) {
    const parts = row.parts;
    text(parts.age, clock(age(one)));
    const rest = one.over ? undefined : left(one);
    text(parts.left, rest === undefined ? '' : rest < 0 ? 'due' : clock(rest));
    parts.bar.hidden = rest === undefined;
    if (rest !== undefined) {
      const part = Math.max(0, Math.min(1, rest / Math.max(1, rest + age(one))));
      parts.fill.style.transform = `scaleX(${part.toFixed(3)})`;
      attribute(parts.fill, 'data-late', part < 0.1 ? 'very' : part < 0.35 ? 'soon' : null);
      attribute(parts.left, 'title', one.limit ? `until ${one.limit}` : null);
    }
    text(parts.server, serverOf(one));
    attribute(parts.server, 'title', serverOf(one));
    text(parts.at, this.narrow.matches ? serverOf(one) : '');
    text(parts.target, nameOf(one));
    text(parts.method, methodOf(one));
    attribute(parts.target.parentNode, 'title', `${nameOf(one)} ${methodOf(one)}`.trim());
    text(parts.client, clientOf(one));
    attribute(parts.client, 'title', clientOf(one));
    this.fillState(parts, one);
    row.classList.toggle('over', Boolean(one.over));
    attribute(row, 'aria-selected', this.picked.has(one.id) ? 'true' : 'false');
    if (parts.pick) parts.pick.checked = this.picked.has(one.id);
    attribute(row, 'tabindex', this.current === one.id ? '0' : '-1');
  }

  fillState(parts, one) {
    const progress = one.progress;
    const known = !one.over && one.asked === undefined && progress?.total > 0 && progress.progress !== null;
    parts.step.hidden = !known;
    let words = one.state;
    let kind = null;
    if (known) {
      parts.done.style.transform = `scaleX(${Math.max(0, Math.min(1, progress.progress / progress.total)).toFixed(3)})`;
      words = `${progress.progress}/${progress.total} ${progress.message ?? ''}`;
    } else if (progress && (progress.message || progress.progress !== null)) {
      words = `${progress.progress ?? ''} ${progress.message ?? ''}`;
    }
    if (one.state === 'queued') words = one.ahead ? `queued, ${number(one.ahead)} ahead` : 'queued, next';
    if (one.state === 'input') words = 'waits for its client';
    if (one.over && one.reason) [kind, words] = [kindOf(one.reason), one.reason];
    if (one.asked !== undefined || (one.over && one.cancel !== undefined)) {
      kind = 'stop';
      words = one.cancel ? settledText(one) : 'asked to stop …';
      if (one.cancel?.outcome === 'ignored') kind = 'late';
    }
    text(parts.state, words.trim());
    attribute(parts.state, 'class', kind ? 'tag' : null);
    attribute(parts.state, 'data-kind', kind);
    attribute(parts.state.parentNode, 'title', words.trim());
    if (!parts.cancel) return;
    const asked = one.asked !== undefined;
    const label = asked && !one.cancel ? 'Asked' : 'Cancel';
    text(parts.cancel, label);
    parts.cancel.hidden = Boolean(one.over) && (!asked || Boolean(one.cancel));
    attribute(parts.cancel, 'aria-disabled', asked ? 'true' : null);
  }

  /** The clocks of what is in sight, nothing else. */
  tick() {
    for (const [id, row] of this.rows) {
      const one = this.live.calls.get(id);
      if (one) this.fill(row, one);
    }
  }

  /** Not removed while it has the focus or the pointer. */
  keeps(id) {
    const row = this.rows.get(id);
    if (!row) return false;
    return row.contains(document.activeElement) || (this.pointer && row.matches(':hover')) || (this.pointer && performance.now() - this.live.calls.get(id).over < 4000);
  }

  pick(id) {
    if (!this.picked.delete(id)) this.picked.add(id);
    this.tick();
    this.actions.picked();
  }

  /** j and k. */
  step(by) {
    if (this.list.length === 0) return;
    const at = this.at.get(this.current);
    const next = at === undefined ? (by > 0 ? 0 : this.list.length - 1) : Math.max(0, Math.min(this.list.length - 1, at + by));
    this.go(next);
  }

  go(at) {
    this.current = this.list[at].id;
    const height = this.rowHeight();
    const head = this.table.tHead.offsetHeight;
    const top = at * height;
    if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
    else if (top + height > this.scroll.scrollTop + this.scroll.clientHeight - head)
      this.scroll.scrollTop = top + height - this.scroll.clientHeight + head;
    this.window();
    this.rows.get(this.current)?.focus({ preventScroll: true });
    this.scroll.scrollIntoView({ block: 'nearest' });
  }

  focused() {
    const row = document.activeElement?.closest?.('#calls-table tr[data-id]');
    return row?.dataset.id ?? null;
  }
}
