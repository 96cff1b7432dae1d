// Servers, listens, sessions, what ended lately, and the log.
import { $, h, text, attribute, bytes, clock, duration, number, kindOf } from './dom.js';
import { age } from './live.js';

const NARROW = matchMedia('(max-width: 640px)');
const STATE_WORDS = { open: 'circuit open' };

/** A row for each key, made once and refilled; the order is the list's. */
function rows(body, list, keyOf, make, fill) {
  const known = new Map([...body.rows].filter((row) => row.dataset.key !== undefined).map((row) => [row.dataset.key, row]));
  let before = null;
  for (const one of list) {
    const key = keyOf(one);
    let row = known.get(key);
    if (row) known.delete(key);
    else {
      row = make(one);
      row.dataset.key = key;
    }
    const next = before ? before.nextElementSibling : body.firstElementChild;
    if (next !== row) body.insertBefore(row, next);
    fill(row, one);
    before = row;
  }
  for (const row of known.values()) row.remove();
  for (const row of [...body.rows]) if (row.dataset.key === undefined) row.remove();
}

const cells = (row) => [...row.cells];

// ---- servers ----

export function showServers(live, actions, fits) {
  rows($('servers-table').tBodies[0], live.servers.filter(fits), (one) => one.name, (one) => makeServer(one, actions), fillServer(live, actions));
}

function makeServer({ name }, actions) {
  const button = (act, words) =>
    h('button', { type: 'button', data: { act }, 'aria-label': `${words} ${name}`, on: { click: () => actions.server(name, act) } }, words);
  return h('tr', {},
    h('th', { scope: 'row' }, h('button', { class: 'link', type: 'button', 'aria-label': `About server ${name}`, on: { click: () => actions.openServer(name) } }, name), ' ', h('small')),
    h('td', {}, h('span', { class: 'dot', 'aria-hidden': 'true' }), h('span'), ' ', h('small')),
    h('td', { class: 'n' }, h('span'), h('meter', { min: 0, 'aria-label': `In flight of ${name}` })),
    h('td', { class: 'n' }),
    h('td', { class: 'n' }),
    h('td', {}, h('small')),
    h('td', { class: 'mono' }),
    h('td', { class: 'acts' }, actions.operate ? [button('start', 'Start'), button('restart', 'Restart'), button('drain', 'Drain'), button('stop', 'Stop')] : []));
}

const fillServer = (live) => (row, one) => {
  const [name, state, load, waits, processes, counts, said, acts] = cells(row);
  text(name.lastElementChild, [one.kind === 'together' ? 'all as one' : one.kind, one.era, one.server].filter(Boolean).join(' · '));
  state.firstElementChild.dataset.state = one.state;
  text(state.children[1], STATE_WORDS[one.state] ?? one.state);
  let why = one.why ?? '';
  const passed = performance.now() - (live.at ?? 0);
  if (one.breaker?.left_ms > passed) why = `${clock(one.breaker.left_ms - passed)} left after ${one.breaker.opens_after} failures`;
  else if (one.limit_ms && one.state !== 'ready') why = `${why} ${duration(one.limit_ms)} at most`.trim();
  if (one.held) why = why || 'by an operator';
  text(state.lastElementChild, why);
  attribute(state, 'title', why || null);
  text(load.firstElementChild, `${number(one.in_flight)}/${number(one.max_in_flight)}`);
  const meter = load.lastElementChild;
  meter.max = one.max_in_flight || 1;
  meter.high = (one.max_in_flight || 1) * 0.8;
  meter.value = one.in_flight;
  text(waits, one.max_queue === undefined ? number(one.waiting) : `${number(one.waiting)}/${number(one.max_queue)}`);
  const all = one.processes ?? [];
  const size = all.reduce((sum, { resident_bytes: n = 0 }) => sum + n, 0);
  const cpu = one.cpu === undefined ? '' : ` ${Math.round(one.cpu * 100)}%`;
  text(processes, all.length === 0 ? '' : `${all.length === 1 ? `pid ${all[0].pid}` : `${all.length} processes`}${cpu} ${bytes(size)}`);
  const c = one.counts;
  text(counts.firstElementChild, c ? [`${number(c.calls)} calls`, c.timeouts && `${number(c.timeouts)} timed out`, c.cancelled && `${number(c.cancelled)} cancelled`, c.exits && `${number(c.exits)} exits`, c.starts_failed && `${number(c.starts_failed)} starts failed`].filter(Boolean).join(', ') : '');
  const last = one.stderr?.at(-1)?.line ?? '';
  text(said, last);
  attribute(said, 'title', last || null);
  const off = one.held || one.state === 'disabled';
  for (const button of acts.children) {
    button.hidden = one.kind === 'together' || (button.dataset.act === 'start' ? !off : off);
  }
};

// ---- listens ----

export function showListens(live, actions, fits) {
  const box = $('listens-tree');
  const servers = new Map();
  for (const one of live.listens.values()) {
    if (!fits(one)) continue;
    if (!servers.has(one.upstream)) servers.set(one.upstream, []);
    servers.get(one.upstream).push(one);
  }
  if (servers.size === 0) {
    if (!box.querySelector('p')) box.replaceChildren(h('p', { class: 'quiet' }, 'No client listens.'));
    return;
  }
  // Rebuilt only when a client joins or leaves; else numbers are written into the present rows.
  const shape = [...servers].map(([name, list]) => `${name}:${list.map(({ id, listens, filter }) => id + listens + (filter?.uri_count ?? '')).join()}`).join(';');
  if (box.dataset.shape !== shape) {
    const closed = new Set([...box.querySelectorAll('details:not([open])')].map((one) => one.dataset.name));
    const held = box.contains(document.activeElement) ? document.activeElement.parentNode.dataset.name : undefined;
    box.dataset.shape = shape;
    box.replaceChildren(h('ul', {}, [...servers].map(([name, list]) => {
      const clients = new Set(list.map((one) => one.client + one.peer)).size;
      const branch = h('details', { open: !closed.has(name), data: { name } },
        h('summary', {}, h('b', {}, name), ' ', h('small', {}, `${clients === 1 ? '1 client' : `${clients} clients`}, ${list.length === 1 ? '1 listen' : `${list.length} listens`}`)),
        h('ul', {}, list.slice(0, 200).map((one) => listen(one, actions))));
      return h('li', {}, branch);
    })));
    if (held) box.querySelector(`details[data-name="${CSS.escape(held)}"] > summary`)?.focus();
  }
  for (const item of box.querySelectorAll('li[data-id]')) {
    const one = live.listens.get(item.dataset.id);
    if (one) text(item.querySelector('.count'), `${clock(age(one))} · ${number(one.events)} events`);
  }
}

function listen(one, actions) {
  const { filter } = one;
  const hears = filter
    ? [filter.tools && 'tools', filter.prompts && 'prompts', filter.resources && 'resources', ...filter.uris.slice(0, 8), filter.uri_count > 8 && `${filter.uri_count - 8} more`].filter(Boolean)
    : (one.listens ?? '').split(', ').filter(Boolean);
  return h('li', { data: { id: one.id } },
    h('a', { href: `#/call/${one.id}`, class: 'mono' }, one.id), ' ', one.principal || one.client || one.peer, ' ',
    h('small', {}, `under id ${one.rpc_id}${one.route ? ` via ${one.route}` : ''} · `, h('span', { class: 'count' })), ' ',
    h('span', { class: 'chips' }, hears.map((word) => h('span', { class: 'chip' }, word))), ' ',
    actions.operate && h('button', { type: 'button', class: 'danger small', 'aria-label': `Cancel listen ${one.id}`, on: { click: () => actions.cancel(one.id) } }, 'Cancel'));
}

// ---- sessions ----

export function showSessions(live, fits) {
  const passed = performance.now() - (live.at ?? performance.now());
  const list = live.sessions.filter(fits).slice(0, 300);
  const body = $('sessions-table').tBodies[0];
  if (list.length === 0) return body.replaceChildren(h('tr', {}, h('td', { colspan: 7, class: 'quiet' }, 'No sessions. Clients of 2026-07-28 need none.')));
  rows(body, list, (one) => one.id,
    () => h('tr', {}, h('th', { scope: 'row', class: 'mono' }), h('td'), h('td'), h('td'), ...[1, 2, 3].map(() => h('td', { class: 'n' }))),
    (row, one) => {
      const all = [one.session, one.upstream, one.principal || one.client, one.revision, clock(one.age_ms + passed), clock(one.idle_ms + passed), number(one.calls)];
      cells(row).forEach((cell, i) => text(cell, all[i]));
    });
}

// ---- what ended lately ----

export function showEnded(live, actions, fits) {
  const list = live.ended.filter(fits).slice(0, 120);
  const body = $('ended-table').tBodies[0];
  if (list.length === 0) return body.replaceChildren(h('tr', {}, h('td', { colspan: 6, class: 'quiet' }, 'None.')));
  rows(body, list, (one) => one.id,
    (one) => h('tr', {},
      h('th', { scope: 'row' }, h('button', { class: 'link mono', type: 'button', 'aria-label': `Story of call ${one.id}`, on: { click: () => actions.open(one.id) } }, one.id)),
      h('td', { class: 'what' }, h('b'), ' ', h('span', { class: 'method' }), h('small', { class: 'at', 'aria-hidden': 'true' })), h('td'), h('td', {}, h('span', { class: 'tag' })), h('td', { class: 'n' }), h('td', { class: 'n' })),
    (row, one) => {
      const [, what, server, reason, took, ago] = cells(row);
      const [name, method, at] = what.children;
      text(reason.firstChild, one.reason);
      attribute(reason.firstChild, 'data-kind', kindOf(one.reason));
      attribute(reason, 'title', one.text ?? null);
      text(took, duration(one.age_ms));
      text(server, one.upstream);
      text(name, one.target || one.method);
      text(method, one.target ? one.method : '');
      text(at, NARROW.matches ? one.upstream : '');
      text(ago, clock(one.ended_ago_ms + performance.now() - one.at));
    });
}

// ---- log ----

const LEVELS = { info: 0, warn: 1, error: 2 };
const SHOWN = 400;

export function showLog(live, { level, stderr, follow, find, server }) {
  const box = $('log-scroll');
  const least = LEVELS[level] ?? 0;
  const wanted = live.lines.filter(({ line }) =>
    (LEVELS[line.level] ?? 0) >= least && (stderr || line.event !== 'upstream.stderr') && (!server || line.upstream === server) &&
    (!find || JSON.stringify(line).toLowerCase().includes(find))).slice(-SHOWN);
  const end = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
  rows($('log-table').tBodies[0], wanted, (one) => one.id, ({ line }) => {
    const more = [];
    for (const [key, value] of Object.entries(line)) {
      if (['time', 'level', 'event'].includes(key)) continue;
      more.push(`${key}=`, h('b', {}, typeof value === 'string' ? value : JSON.stringify(value)), ' ');
    }
    return h('tr', { data: { level: line.level } }, h('th', { scope: 'row', title: line.time }, (line.time ?? '').slice(11, 23)), h('td', {}, line.level), h('td', {}, line.event), h('td', {}, more));
  }, () => {});
  if (follow && end) box.scrollTop = box.scrollHeight;
}
