// The console: puts what the gateway does onto the page that the server has written, and takes keys and clicks.
import { $, h, text, attribute, clock, duration, number, plural } from './dom.js';
import { Live, act, age } from './live.js';
import { CallTable, settledText } from './calls.js';
import { drawEnds, drawTools, sums } from './charts.js';
import { showServers, showListens, showSessions, showEnded, showLog } from './panels.js';
import { Drawer } from './drawer.js';

const RENDER_MS = 250; // what comes meanwhile is drawn together
const operate = document.documentElement.dataset.role === 'operate';
const dirty = new Set(['everything']);
let paused = false;
let dialogOpen = false;

document.documentElement.classList.add('js');
for (const details of document.querySelectorAll('.as-table')) details.open = false;
$('call')?.remove();
$('read-only').hidden = operate;

function say(words) {
  text($('status'), words);
}

// ---- filters, in the page's address: #/call/c9f2?server=github&find=search ----

const FILTERS = ['find', 'server', 'older', 'reason', 'level'];
const filters = { find: '', server: '', older: '', reason: '', level: 'info' };

function address() {
  const [path, query = ''] = location.hash.replace(/^#/, '').split('?');
  return { path, query: new URLSearchParams(query) };
}

function write(path, replace = true) {
  const query = new URLSearchParams();
  for (const name of FILTERS) if (filters[name] && !(name === 'level' && filters[name] === 'info')) query.set(name, filters[name]);
  const words = query.toString();
  const next = `#${path || '/'}${words ? `?${words}` : ''}`;
  if (next === location.hash) return;
  if (replace) history.replaceState(null, '', next);
  else history.pushState(null, '', next);
}

function read() {
  const { path, query } = address();
  for (const name of FILTERS) filters[name] = query.get(name) ?? (name === 'level' ? 'info' : '');
  options();
  for (const name of FILTERS) if ($(name).value !== filters[name]) $(name).value = filters[name];
  const [, kind, id] = path.split('/');
  let what = null;
  try {
    if (kind === 'call' && id) what = { call: decodeURIComponent(id) };
    if (kind === 'server' && id) what = { server: decodeURIComponent(id) };
  } catch {
    // A broken address names nothing.
  }
  drawer.show(what);
  dirty.add('everything');
  render();
}

function filtered() {
  const find = filters.find.trim().toLowerCase();
  const older = Number(filters.older) * 1000;
  const has = (...all) => !find || all.some((one) => one && String(one).toLowerCase().includes(find));
  const mine = (one) => !filters.server || one.upstream === filters.server || one.route === filters.server;
  return {
    find,
    call: (one) => mine(one) && (!older || age(one) >= older) && has(one.id, one.target, one.method, one.upstream, one.client, one.principal, one.peer, one.state, one.rpc_id),
    ended: (one) => mine(one) && (!filters.reason || one.reason === filters.reason) && has(one.id, one.target, one.method, one.upstream, one.client, one.principal, one.reason, one.text),
    server: (one) => (!filters.server || one.name === filters.server),
    listen: (one) => mine(one) && has(one.id, one.upstream, one.client, one.principal, one.listens),
    session: (one) => (!filters.server || one.upstream === filters.server) && has(one.session, one.upstream, one.client, one.principal),
  };
}

function options() {
  const fill = (select, values, first) => {
    const all = [...new Set([...values, filters[select.id]].filter(Boolean))];
    const shape = all.join('\n');
    if (select.dataset.shape === shape) return;
    select.dataset.shape = shape;
    select.replaceChildren(h('option', { value: '' }, first), ...all.map((one) => h('option', { value: one }, one)));
    select.value = filters[select.id];
  };
  fill($('server'), live.servers.map(({ name }) => name), 'all');
  fill($('reason'), sums(live.minutes).reasons.keys(), 'all');
}

// ---- what is done ----

async function cancel(id) {
  const one = live.calls.get(id);
  if (live.cancelling.has(id) || one?.over) return;
  say(`${id}: asked to stop …`);
  try {
    await live.cancel(id);
  } catch (error) {
    say(`${id}: not cancelled: ${error.message}`);
  }
  drawer.look();
}

async function cancelMany(ids) {
  if (ids.length === 0) return;
  if (ids.length === 1) return cancel(ids[0]);
  const answer = await asked(`Cancel ${ids.length} calls?`, [h('p', {}, 'Their clients get an error, and their servers are told to stop.')], `Cancel ${ids.length} calls`);
  if (!answer) return;
  table.picked.clear();
  say(`${ids.length} calls: asked to stop …`);
  let failed = 0;
  // A few at a time: each is a request of its own.
  const waiting = [...ids];
  await Promise.all(Array.from({ length: 4 }, async () => {
    for (let id; (id = waiting.pop()); ) await live.cancel(id, answer.reason).catch(() => failed++);
  }));
  say(failed ? `${ids.length - failed} calls cancelled, ${failed} had ended already` : `${ids.length} calls cancelled`);
}

const WORDS = {
  start: ['Start', 'It is taken back into service.'],
  stop: ['Stop', 'It goes out of service at once and stays so until it is started.'],
  drain: ['Drain', 'It goes out of service; its calls go on to their end. It stays so until it is started.'],
  restart: ['Restart', 'A new form takes its place.'],
};

async function server(name, what) {
  const one = live.servers.find((other) => other.name === name);
  const calls = one?.in_flight ?? 0;
  const sessions = one?.sessions ?? 0;
  const [verb, about] = WORDS[what];
  const parts = [h('p', {}, about)];
  const losses = [calls && plural(calls, 'call'), sessions && plural(sessions, 'session')].filter(Boolean).join(' and ');
  if (what === 'stop') parts.push(h('p', {}, calls ? h('b', {}, `${plural(calls, 'call')} in flight will be cancelled.`) : 'Nothing is in flight.', sessions ? ` ${plural(sessions, 'session')} will end.` : ''));
  if (what === 'drain') parts.push(h('p', {}, calls ? `${plural(calls, 'call')} in flight will go on.` : 'Nothing is in flight.'));
  if (what === 'restart') {
    parts.push(
      h('label', { class: 'choice' }, h('input', { type: 'radio', name: 'how', value: 'after', checked: true }), losses ? `after its calls: ${losses} of the old form go on to their end` : 'when nothing is in flight, which is now'),
      h('label', { class: 'choice' }, h('input', { type: 'radio', name: 'how', value: 'force' }), calls ? `at once: ${plural(calls, 'call')} will be cancelled` : 'at once'),
    );
  }
  const answer = await asked(`${verb} ${name}?`, parts, verb, what === 'stop');
  if (!answer) return;
  try {
    const done = await act(`servers/${encodeURIComponent(name)}/${what}`, { force: answer.how === 'force', ...(answer.reason && { reason: answer.reason }) });
    say(`${name}: ${what} done${done.calls ? `, ${plural(done.calls, 'call')} of it ${what === 'stop' || answer.how === 'force' ? 'cancelled' : 'go on'}` : ''}`);
  } catch (error) {
    say(`${name}: ${error.message}`);
  }
  live.look();
}

/** A question with an optional reason: {reason, how}, or null. */
function asked(title, parts, verb, dangerous = true) {
  const dialog = $('dialog');
  return new Promise((resolve) => {
    const form = h('form', { method: 'dialog' },
      h('h2', { id: 'dialog-title' }, title), ...parts,
      h('label', { for: 'dialog-reason' }, 'Why, for the log (may be empty)'), h('input', { id: 'dialog-reason', type: 'text', name: 'reason', maxlength: 200, autocomplete: 'off' }),
      h('div', { class: 'buttons' }, h('button', { value: 'no', formnovalidate: true }, 'Leave it'), h('button', { value: 'yes', class: dangerous ? 'primary danger' : 'primary' }, verb)));
    // Enter in the field means the verb, not the first button.
    form.querySelector('input[type="text"]').addEventListener('keydown', (event) => {
      if (event.key !== 'Enter') return;
      event.preventDefault();
      form.requestSubmit(form.querySelector('button[value="yes"]'));
    });
    open(form, () => {
      const data = new FormData(form);
      resolve(dialog.returnValue === 'yes' ? { reason: data.get('reason') ?? '', how: data.get('how') } : null);
    });
  });
}

function open(content, closed = () => {}) {
  const dialog = $('dialog');
  if (dialog.open) return;
  const before = document.activeElement;
  dialog.returnValue = '';
  dialog.replaceChildren(content);
  dialogOpen = true;
  dialog.addEventListener('close', () => {
    dialogOpen = false;
    closed();
    // The event follows the end of the dialog: a field that has got the focus meanwhile keeps it.
    const nowhere = [null, document.body].includes(document.activeElement) || dialog.contains(document.activeElement);
    if (nowhere && before?.isConnected) before.focus({ preventScroll: true });
  }, { once: true });
  dialog.showModal();
}

function keys() {
  const all = [['/', 'find'], ['j  k', 'next, previous call'], ['Enter', 'story of the call'], ['c', 'cancel the call, or those selected'], ['x', 'select the call'], ['p', 'hold the page still'], ['Esc', 'close, or leave the field'], ['?', 'this']];
  open(h('form', { method: 'dialog' }, h('h2', { id: 'dialog-title' }, 'Keys'),
    h('dl', {}, all.map(([key, words]) => [h('dt', {}, key.split('  ').map((one) => [h('kbd', {}, one), ' '])), h('dd', {}, words)])),
    h('div', { class: 'buttons' }, h('button', { class: 'primary' }, 'Close'))));
}

// ---- what is shown ----

const live = new Live((what, detail) => {
  if (what === 'settled') {
    say(`${detail.id}: ${settledText(detail)}`);
    what = 'calls';
    drawer.look();
  }
  if (what === 'clock') return tick();
  dirty.add(what);
  schedule();
});
const open_call = (id) => {
  write(`/call/${encodeURIComponent(id)}`, false);
  read();
};
const actions = {
  operate, cancel, server,
  open: open_call,
  openServer: (name) => {
    write(`/server/${encodeURIComponent(name)}`, false);
    read();
  },
  close: () => {
    write('/', false);
    read();
  },
  sorted: () => {
    dirty.add('calls');
    render();
  },
  picked: () => showPicked(),
};
const drawer = new Drawer(live, actions);
const table = new CallTable(live, actions);

let scheduled = false;
let drawn = 0;
function schedule() {
  if (scheduled || paused) return;
  scheduled = true;
  const wait = Math.max(0, RENDER_MS - (performance.now() - drawn));
  setTimeout(() => requestAnimationFrame(() => {
    scheduled = false;
    if (!paused) render();
  }), wait);
}

function render() {
  drawn = performance.now();
  const fits = filtered();
  const every = dirty.has('everything');
  const is = (...what) => every || what.some((one) => dirty.has(one));
  if (is('calls')) showCalls(fits);
  if (is('servers', 'lists')) showServers(live, actions, fits.server);
  if (is('listens')) showListens(live, actions, fits.listen);
  if (is('lists')) showSessions(live, fits.session);
  if (is('ended', 'lists')) showEnded(live, actions, fits.ended);
  if (is('ended', 'lists')) drawEnds(live.minutes, (reason) => {
    filters.reason = reason;
    $('reason').value = reason;
    changed();
  }, filters.reason);
  if (is('lists')) drawTools(live.operations);
  if (is('log')) showLog(live, { ...filters, find: fits.find, stderr: $('stderr').checked, follow: $('follow').checked });
  if (is('lists', 'servers')) options();
  showTiles();
  showLink();
  dirty.clear();
}

function showCalls(fits) {
  table.show(fits.call);
  const going = [...live.calls.values()].filter((one) => !one.over).length;
  const shown = table.list.filter((one) => !one.over).length;
  text($('calls-count'), shown === going ? `${number(going)}` : `${number(shown)} of ${number(going)}`);
  const empty = $('calls-empty');
  empty.hidden = table.list.length > 0;
  if (!empty.hidden) showEmpty(empty, going);
  showPicked();
}

function showEmpty(box, going) {
  const url = live.status?.url ?? '';
  const words = going > 0 ? 'No call fits the filters.' : 'Nothing is in flight.';
  if (box.dataset.words === words + url) return;
  box.dataset.words = words + url;
  box.replaceChildren(h('p', {}, words));
  if (going > 0 || !url.startsWith('http')) return;
  box.append(h('p', {}, 'To see something here:'), h('pre', {}, `curl -s ${url} -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\\n  -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/list' \\\n  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'`));
}

function showPicked() {
  const button = $('cancel-selected');
  button.hidden = table.picked.size === 0;
  text(button, `Cancel ${table.picked.size} selected`);
}

function showTiles() {
  const calls = [...live.calls.values()].filter((one) => !one.over);
  text($('tile-calls'), number(calls.length));
  const waiting = calls.filter(({ state }) => state === 'queued' || state === 'starting').length;
  text($('tile-waiting'), `${number(waiting)} waiting`);
  let oldest = null;
  for (const one of calls) if (!oldest || age(one) > age(oldest)) oldest = one;
  text($('tile-oldest'), oldest ? clock(age(oldest)) : '–');
  text($('tile-oldest-of'), oldest ? oldest.target || oldest.method : '');
  text($('tile-listens'), number(live.listens.size));
  text($('tile-sessions'), plural(live.sessionCount ?? live.sessions.length, 'session'));
  const five = sums(live.minutes.slice(0, 5));
  text($('tile-ended'), number(five.all));
  text($('tile-rate'), five.all ? `${(five.all / 5).toFixed(five.all < 50 ? 1 : 0)}/min` : '');
  const set = (id, count) => {
    text($(id), number(count));
    attribute($(id), 'data-bad', count > 0 ? 'yes' : null);
  };
  set('tile-timeouts', five.kinds.late);
  set('tile-failed', five.kinds.fail);
  text($('tile-cancelled'), number(five.kinds.stop));
  const sick = live.servers.filter(({ state, held }) => !held && !['ready', 'starting', 'disabled'].includes(state)).length;
  const troubles = sick + five.kinds.late + five.kinds.fail;
  const title = `${troubles ? `(${troubles}) ` : ''}Lineward`;
  if (document.title !== title) document.title = title;
  const state = live.status?.draining ? 'draining' : 'serving';
  if (live.status) {
    $('gateway-state').firstElementChild.dataset.state = state;
    text($('gateway-state').lastElementChild, state);
    text($('gateway-url'), live.status.url);
    text($('gateway-uptime'), duration(live.status.uptime_ms + performance.now() - (live.listed ?? performance.now())));
  }
}

function showLink() {
  const link = $('link');
  const lost = live.state === 'lost';
  const old = performance.now() - live.heard;
  link.firstElementChild.dataset.state = paused ? 'paused' : lost ? 'lost' : live.state === 'live' ? 'live' : 'starting';
  text(link.lastElementChild, paused ? 'paused' : lost ? 'no connection' : live.state === 'live' ? 'live' : 'connecting');
  const banner = $('banner');
  if (lost && old > 1500) {
    if (banner.hidden) banner.replaceChildren('The gateway does not answer. What is here is ', h('span', { 'aria-live': 'off' }), ' old. It is asked again and again.');
    banner.hidden = false;
    text(banner.querySelector('span'), duration(Math.floor(old / 1000) * 1000));
  } else if (!lost) banner.hidden = true;
}

/** Each second: clocks run down by themselves. */
function tick() {
  showLink();
  if (paused || document.hidden) return;
  if (live.state !== 'lost') {
    if (live.sweep((id) => table.keeps(id)) > 0 || filters.older) dirty.add('calls');
    if (table.sort === 'left' && table.list.length < 2000) dirty.add('calls');
    if (dirty.size) render();
    table.tick();
    showTiles();
    const fits = filtered();
    showServers(live, actions, fits.server);
    showListens(live, actions, fits.listen);
    showEnded(live, actions, fits.ended);
    showSessions(live, fits.session);
  }
  if (drawer.what && ++tick.count % 2 === 0 && live.state === 'live') drawer.look();
}
tick.count = 0;

// ---- what people do ----

function changed() {
  write(address().path);
  dirty.add('everything');
  $('clear').hidden = !(filters.find || filters.server || filters.older || filters.reason);
  render();
}
for (const name of FILTERS) {
  $(name).addEventListener('input', () => {
    filters[name] = $(name).value;
    changed();
  });
}
$('filters').addEventListener('submit', (event) => event.preventDefault());
$('clear').addEventListener('click', () => {
  for (const name of ['find', 'server', 'older', 'reason']) $(name).value = filters[name] = '';
  changed();
  $('find').focus();
});
for (const name of ['stderr', 'follow']) $(name).addEventListener('change', () => {
  dirty.add('log');
  render();
});
$('cancel-selected').addEventListener('click', () => cancelMany([...table.picked]));
$('help').addEventListener('click', keys);
$('pause').addEventListener('click', pause);
function pause() {
  paused = !paused;
  attribute($('pause'), 'aria-pressed', String(paused));
  say(paused ? 'The page is held still; calls go on.' : 'The page goes on.');
  dirty.add('everything');
  if (!paused) render();
  showLink();
}

const THEMES = ['system', 'light', 'dark'];
function theme(name) {
  if (name === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.dataset.theme = name;
  text($('theme'), `Theme: ${name}`);
  try {
    localStorage.setItem('lineward-theme', name);
  } catch {
    // It is forgotten then.
  }
}
let themed = 'system';
try {
  themed = THEMES.includes(localStorage.getItem('lineward-theme')) ? localStorage.getItem('lineward-theme') : 'system';
} catch {
  // Storage may be off.
}
theme(themed);
$('theme').addEventListener('click', () => {
  themed = THEMES[(THEMES.indexOf(themed) + 1) % THEMES.length];
  theme(themed);
});

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || dialogOpen) return;
  const field = event.target.closest('input:not([type="checkbox"]), select, textarea');
  if (event.key === 'Escape') {
    if (field) field.blur();
    else if (drawer.what) actions.close();
    return;
  }
  if (field) return;
  const id = table.focused() ?? (table.at?.has(table.current) ? table.current : null);
  const does = {
    '/': () => {
      $('find').focus();
      $('find').select();
    },
    j: () => table.step(1),
    k: () => table.step(-1),
    x: () => operate && id && table.pick(id),
    c: () => operate && (table.picked.size ? cancelMany([...table.picked]) : (drawer.what?.call ?? id) && cancel(drawer.what?.call ?? id)),
    p: pause,
    '?': keys,
  };
  if (event.key === 'Enter' && event.target.matches('#calls-table tr')) return actions.open(event.target.dataset.id);
  if (event.key === 'ArrowDown' && table.focused()) does.ArrowDown = does.j;
  if (event.key === 'ArrowUp' && table.focused()) does.ArrowUp = does.k;
  const action = does[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
addEventListener('popstate', read);
addEventListener('hashchange', read);
read();
