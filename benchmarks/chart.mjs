// The results as bar charts: plain SVG, a panel for each measure, a block of bars for each server and era.
import { callsPerSecond, cpuPerCall, groupsOf } from './report.mjs';

const WIDTH = 1120;
const MARGIN = 24;
const LABEL = 200;
const VALUE = 90;
const BAR = 15;
const STEP = 20;
const COLOURS = { lineward: '#0b6e99', supergateway: '#c2702b', 'mcp-proxy': '#7d5ba6', nginx: '#4d8b4d', haproxy: '#8a6d3b', direct: '#999', 'bare loop': '#999' };
const colour = (name) => COLOURS[name] ?? '#6fb1cc';

const PANELS = [
  { title: 'CPU of the gateway per call, 64 clients (µs, less is better)', of: (c) => cpuPerCall(run(c, 64)), digits: 1 },
  { title: 'Calls per second, 64 clients (more is better)', of: (c) => callsPerSecond(run(c, 64)), digits: 0 },
  { title: 'p99 latency, 64 clients (ms, less is better)', of: (c) => over1000(run(c, 64)?.p99_us), digits: 2 },
  { title: 'p50 latency, 1 client, one CPU (ms, less is better)', of: (c) => over1000(run(c, 1)?.p50_us), digits: 2 },
  { title: 'Memory after the calls of 64 clients (MiB PSS, less is better)', of: (c) => over1024(run(c, 64)?.pss_kib), digits: 1 },
  {
    title: 'Client gone → server has read the cancel, p50 (ms, less is better)',
    of: (c) => (c.cancel?.cancels ? c.cancel.p50_us / 1000 : undefined),
    digits: 2,
    none: 'never',
  },
];

const run = (cell, clients) => cell.runs?.find((r) => r.ok && r.clients === clients);
const over1000 = (value) => value && value / 1000;
const over1024 = (value) => value && value / 1024;
const escape = (text) => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;');
const text = (x, y, content, more = '') => `<text x="${x}" y="${y}" ${more}>${escape(content)}</text>`;

/** A panel, in one half of the page. */
function panel({ title, of, digits, none = 'no result' }, groups, left, top, width) {
  const out = [text(left, top + 14, title, 'class="title"')];
  const largest = Math.max(...groups.flatMap(([, cells]) => cells.map((cell) => of(cell) ?? 0)), 1e-9);
  const scale = (width - LABEL - VALUE) / largest;
  let y = top + 26;
  for (const [group, cells] of groups) {
    out.push(text(left, y + 14, group, 'class="group"'));
    y += 20;
    for (const cell of cells) {
      const value = of(cell);
      const length = Math.max(1, (value ?? 0) * scale);
      out.push(text(left + LABEL - 8, y + 12, cell.front, 'text-anchor="end"'));
      if (value === undefined) {
        out.push(text(left + LABEL, y + 12, none, 'class="none"'));
      } else {
        out.push(`<rect x="${left + LABEL}" y="${y}" width="${length.toFixed(1)}" height="${BAR}" fill="${colour(cell.front)}"/>`);
        out.push(text((left + LABEL + length + 6).toFixed(1), y + 12, value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })));
      }
      y += STEP;
    }
    y += 8;
  }
  return out;
}

const HOP = [
  { title: 'HTTP hop: p50 latency, 1 client, one CPU (ms, less is better)', what: '1 client, one CPU', of: (row) => row.p50_us / 1000, digits: 3 },
  ...['32 clients', '64 clients', '1 MiB, one string', '1 MiB, small values', '1,000 events'].map((what) => ({
    title: `HTTP hop: CPU per call, ${what} (µs, less is better)`,
    what,
    of: (row) => row.cpu_us,
    digits: 1,
  })),
];

export function svg({ cells, calls, hop }) {
  const hopRows = hop?.rows ?? [];
  const groups = groupsOf(cells);
  const rows = groups.reduce((sum, [, members]) => sum + members.length, 0);
  const high = 26 + groups.length * 28 + rows * STEP + 24;
  const half = (WIDTH - 3 * MARGIN) / 2;
  const hopTop = 70 + Math.ceil(PANELS.length / 2) * high;
  const shown = HOP.map((one) => ({
    ...one,
    rows: hopRows.filter(({ what, front }) => what === one.what && (one === HOP[0] || front !== 'direct')),
  })).filter((one) => one.rows.length);
  const hopHigh = 26 + 28 + Math.max(0, ...shown.map((one) => one.rows.length)) * STEP + 24;
  const height = hopTop + Math.ceil(shown.length / 2) * hopHigh;
  const body = PANELS.flatMap((one, i) =>
    panel(one, groups, MARGIN + (i % 2) * (half + MARGIN), 70 + Math.floor(i / 2) * high, half),
  );
  for (const [i, { rows: bars, ...one }] of shown.entries()) {
    const left = MARGIN + (i % 2) * (half + MARGIN);
    body.push(...panel(one, [['modern clients, HTTP server', bars]], left, hopTop + Math.floor(i / 2) * hopHigh, half));
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}">`,
    '<style>text{font:12px system-ui,"DejaVu Sans",sans-serif;fill:#222}.title{font-weight:700;font-size:13px}',
    '.group{fill:#555;font-style:italic}.none{fill:#a33}.head{font-weight:700;font-size:18px}</style>',
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    text(MARGIN, 34, 'Lineward beside other gateways', 'class="head"'),
    text(MARGIN, 54, `tools/call of an echo tool, stdio servers, up to ${calls.toLocaleString('en')} calls, every answer checked`),
    ...body,
    '</svg>\n',
  ].join('\n');
}
