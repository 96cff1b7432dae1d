// Small pictures, drawn as SVG: how calls ended in each minute of the last hour, and how long tools take.
import { $, h, s, duration, number, plural, kindOf, KINDS } from './dom.js';

const wide = (box) => Math.max(280, Math.min(900, box.clientWidth - 24)); // one unit is a pixel
const HEIGHT = 130;
const BASE = 112;

/** Sums by kind: of one minute, or of several. */
export function sums(minutes) {
  const out = { kinds: Object.fromEntries(KINDS.map(([kind]) => [kind, 0])), reasons: new Map(), all: 0 };
  for (const { ends } of minutes) {
    for (const [reason, count] of Object.entries(ends)) {
      out.kinds[kindOf(reason)] += count;
      out.reasons.set(reason, (out.reasons.get(reason) ?? 0) + count);
      out.all += count;
    }
  }
  return out;
}

// A round number that the highest bar fits below.
function ceiling(n) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, n)));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= n);
}

export function drawEnds(minutes, choose, chosen) {
  const box = $('ends-chart');
  const WIDTH = wide(box);
  const hour = sums(minutes);
  const high = ceiling(Math.max(1, ...minutes.map((one) => sums([one]).all)));
  const slot = (WIDTH - 34) / 60;
  const bars = [];
  for (const minute of minutes) {
    const { kinds, reasons, all } = sums([minute]);
    if (all === 0) continue;
    const x = 34 + (59 - minute.ago_minutes) * slot;
    const when = minute.ago_minutes === 0 ? 'this minute' : `${minute.ago_minutes} min ago`;
    const group = s('g', {}, s('title'));
    group.firstChild.textContent = `${when}: ${[...reasons].map(([reason, count]) => `${number(count)} ${reason}`).join(', ')}`;
    let y = BASE;
    for (const [kind] of KINDS) {
      if (!kinds[kind]) continue;
      const tall = Math.max(1.5, (kinds[kind] / high) * (BASE - 8));
      y -= tall;
      group.append(s('rect', { class: `k-${kind}`, x: x + 0.75, y, width: slot - 1.5, height: tall, rx: 1 }));
    }
    bars.push(group);
  }
  const label = (x, y, words, anchor = 'middle') => {
    const out = s('text', { x, y, 'text-anchor': anchor });
    out.textContent = words;
    return out;
  };
  const picture = s(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: 'img', 'aria-label': `${plural(hour.all, 'call')} ended in the last hour: ${[...hour.reasons].map(([reason, count]) => `${number(count)} ${reason}`).join(', ') || 'none'}` },
    s('line', { class: 'axis', x1: 34, x2: WIDTH, y1: BASE + 0.5, y2: BASE + 0.5 }),
    s('line', { class: 'axis', x1: 34, x2: WIDTH, y1: 8.5, y2: 8.5, 'stroke-dasharray': '2 4' }),
    label(28, 12, number(high), 'end'), label(28, BASE + 3, '0', 'end'),
    label(34, HEIGHT - 4, '1 h ago', 'start'), label(34 + (WIDTH - 34) / 2, HEIGHT - 4, '30 min'), label(WIDTH, HEIGHT - 4, 'now', 'end'),
    ...bars,
  );
  const order = [...hour.reasons].sort((a, b) => b[1] - a[1]);
  const legend = h(
    'ul',
    { class: 'legend', 'aria-label': 'Show only those that ended so' },
    order.map(([reason, count]) =>
      h('li', {}, h('button', { type: 'button', 'aria-pressed': chosen === reason ? 'true' : 'false', data: { reason }, on: { click: () => choose(chosen === reason ? '' : reason) } },
        h('span', { class: 'tag', 'data-kind': kindOf(reason) }, reason), ` ${number(count)}`))),
  );
  if (order.length === 0) legend.append(h('li', { class: 'quiet' }, 'No call has ended in the last hour.'));
  replace(box, picture, legend);
  const rows = order.map(([reason, count]) => h('tr', {}, h('th', { scope: 'row' }, reason), h('td', { class: 'n' }, number(count))));
  $('reasons-table').tBodies[0].replaceChildren(...rows);
}

// A redrawn element keeps the focus of the previous one.
function replace(box, ...children) {
  const held = box.contains(document.activeElement) ? document.activeElement.dataset.reason : undefined;
  box.replaceChildren(...children);
  if (held !== undefined) [...box.querySelectorAll('[data-reason]')].find((one) => one.dataset.reason === held)?.focus();
}

const FROM = 1; // ms
const TO = 600_000;
const NAMES = 150;
const place = (ms, WIDTH) => NAMES + ((Math.log(Math.max(FROM, Math.min(TO, ms))) - Math.log(FROM)) / (Math.log(TO) - Math.log(FROM))) * (WIDTH - NAMES - 10);
const cut = (words, most) => (words.length > most ? `${words.slice(0, most - 1)}…` : words);

export function drawTools({ operations }) {
  const box = $('tools-chart');
  const shown = operations.filter(({ method, calls }) => calls > 0 && (method === 'tools/call' || method === 'prompts/get' || method === 'resources/read'));
  const list = (shown.length ? shown : operations).slice(0, 8);
  if (list.length === 0) {
    box.replaceChildren(h('p', { class: 'quiet' }, 'Nothing has been called yet.'));
  } else {
    const WIDTH = wide(box);
    const tall = 34;
    const high = list.length * tall + 22;
    const parts = [];
    for (const [words, ms] of [['10 ms', 10], ['100 ms', 100], ['1s', 1000], ['10s', 10_000], ['1m', 60_000]]) {
      const x = place(ms, WIDTH);
      const mark = s('text', { x, y: high - 4, 'text-anchor': 'middle' });
      mark.textContent = words;
      parts.push(s('line', { class: 'axis', x1: x, x2: x, y1: 2, y2: high - 18 }), mark);
    }
    list.forEach((one, i) => {
      const y = i * tall + 13;
      const name = s('text', { class: 'strong', x: 0, y: y });
      // A line of its own: names are longer than what stands beside a bar.
      name.textContent = cut(one.name === '_other' ? `${one.method} (others)` : one.name || one.method, Math.floor(WIDTH / 7));
      const about = s('text', { x: 0, y: y + 13 });
      about.textContent = cut(`${one.upstream}  ${plural(one.calls, 'call')}${one.failed ? `, ${number(one.failed)} failed` : ''}`, 26);
      const title = s('title');
      title.textContent = `${one.name || one.method} of ${one.upstream}: ${plural(one.calls, 'call')}, ${one.failed} failed; half within ${duration(one.p50_ms)}, 95 % within ${duration(one.p95_ms)}, 99 % within ${duration(one.p99_ms)}`;
      parts.push(
        s('g', {}, title, name, about,
          s('line', { class: 'range', x1: place(one.p50_ms, WIDTH), x2: place(one.p95_ms, WIDTH), y1: y + 9, y2: y + 9 }),
          s('line', { class: 'p99', x1: place(one.p99_ms, WIDTH), x2: place(one.p99_ms, WIDTH), y1: y + 4, y2: y + 14 }),
          s('circle', { class: 'p50', cx: place(one.p50_ms, WIDTH), cy: y + 9, r: 4 })),
      );
    });
    const about = `Latency of ${plural(list.length, 'tool')}: ${list.map((one) => `${one.name || one.method} ${duration(one.p50_ms)} to ${duration(one.p95_ms)}`).join(', ')}`;
    box.replaceChildren(
      s('svg', { viewBox: `0 0 ${WIDTH} ${high}`, width: WIDTH, height: high, role: 'img', 'aria-label': about }, ...parts),
      h('p', { class: 'quiet' }, 'dot: half are done by then · line: up to 95 % · mark: 99 %'),
    );
  }
  const rows = operations.map((one) =>
    h('tr', {}, h('th', { scope: 'row' }, one.name || one.method), h('td', {}, one.upstream),
      ...[number(one.calls), number(one.failed), duration(one.p50_ms), duration(one.p95_ms), duration(one.p99_ms)].map((words) => h('td', { class: 'n' }, words))));
  $('tools-table').tBodies[0].replaceChildren(...rows);
}

