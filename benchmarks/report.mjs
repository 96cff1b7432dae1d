// The table, and whether the bar is reached.

/** Lineward's CPU per call over the best peer's, at most. */
export const BAR = 1 / 20;

// Processes that end during a run take their time with them: a short run of a front that starts many may show none.
export const cpuPerCall = (run) => (run?.calls && run.front_cpu > 0 ? (run.front_cpu / run.calls) * 1e6 : undefined);
export const callsPerSecond = (run) => (run?.calls ? run.calls / run.seconds : undefined);

export const groupsOf = (cells) => {
  const groups = new Map();
  for (const cell of cells) {
    const key = `${cell.era} clients, ${cell.server} server`;
    groups.set(key, [...(groups.get(key) ?? []), cell]);
  }
  return [...groups];
};

// A single client is measured twice: see pin.mjs.
const runWith = (cell, clients, pinned = clients === 1) =>
  cell.runs?.find((run) => run.ok && run.clients === clients && Boolean(run.pinned) === pinned);
const clientsOf = (run) => `${run.clients}${run.pinned ? ', one CPU' : ''}`;

/** A verdict for each group and number of clients: Lineward in its best fitting mode (with its log), and the best peer. */
export function verdicts(cells) {
  const out = [];
  for (const [group, members] of groupsOf(cells)) {
    for (const [clients, pinned] of [[1, true], [1, false], [64, false]]) {
      const best = (wanted) =>
        members
          .filter(wanted)
          .map((cell) => ({ front: cell.front, us: cpuPerCall(runWith(cell, clients, pinned)) }))
          .filter(({ us }) => us !== undefined)
          .sort((a, b) => a.us - b.us)[0];
      const ours = best(({ front }) => front === 'lineward' || front === 'lineward, shared');
      const peer = best((cell) => cell.peer);
      if (ours && peer) out.push({ group, clients, pinned, ours, peer, ratio: ours.us / peer.us, passed: ours.us / peer.us <= BAR });
    }
  }
  return out;
}

const number = (value, digits = 0) => (value === undefined ? '–' : value.toFixed(digits));
const mib = (kib) => (kib === undefined ? '–' : (kib / 1024).toFixed(1));

const COLUMNS = [
  ['front', (r) => r.cell.front],
  ['clients', (r) => clientsOf(r.run)],
  ['calls', (r) => String(r.run.calls)],
  ['calls/s', (r) => number(callsPerSecond(r.run))],
  ['CPU/call us', (r) => number(cpuPerCall(r.run), 1)],
  ['x lineward', (r) => (r.base ? number(cpuPerCall(r.run) / r.base, 1) : '–')],
  ['p50 ms', (r) => number(r.run.p50_us / 1000, 2)],
  ['p99 ms', (r) => number(r.run.p99_us / 1000, 2)],
  ['MiB at rest', (r) => mib(r.cell.rest?.pss_kib)],
  ['MiB after', (r) => mib(r.run.pss_kib)],
  ['cancel p50 ms', (r) => cancel(r.cell, 'p50_us')],
  ['p99 ms', (r) => cancel(r.cell, 'p99_us')],
];

function cancel({ cancel: c }, key) {
  if (!c || c.error) return '–';
  if (!c.cancels) return 'never';
  return (c[key] / 1000).toFixed(2) + (c.missed ? ` (${c.missed} lost)` : '');
}

export function table({ cells, verdicts: judged, fronts, calls }) {
  const lines = [];
  for (const [group, members] of groupsOf(cells)) {
    const own = members.find(({ front }) => front === 'lineward');
    const rows = members.flatMap((cell) =>
      (cell.runs ?? [])
        .filter(({ ok }) => ok)
        .map((run) => ({ cell, run, base: own && cpuPerCall(runWith(own, run.clients, Boolean(run.pinned))) })),
    );
    rows.sort((a, b) => a.run.clients - b.run.clients || Number(b.run.pinned ?? 0) - Number(a.run.pinned ?? 0));
    const texts = [COLUMNS.map(([name]) => name), ...rows.map((row) => COLUMNS.map(([, text]) => text(row)))];
    const widths = COLUMNS.map((_, i) => Math.max(...texts.map((row) => row[i].length)));
    lines.push('', `== ${group}`);
    for (const row of texts) {
      lines.push(row.map((text, i) => (i ? text.padStart(widths[i]) : text.padEnd(widths[i]))).join('  '));
    }
    for (const { front, errors } of members) errors.forEach((error) => lines.push(`${front}: ${error}`));
  }
  lines.push('', `== CPU per call against the best peer (bar: 1/${Math.round(1 / BAR)})`);
  for (const v of judged) {
    lines.push(
      `${v.passed ? 'reached' : 'MISSED '}  1/${(1 / v.ratio).toFixed(1)}  ${v.group}, ${v.clients > 1 ? `${v.clients} clients` : v.pinned ? '1 client, one CPU' : '1 client'}: ` +
        `${v.ours.front} ${v.ours.us.toFixed(1)} us, ${v.peer.front} ${v.peer.us.toFixed(1)} us`,
    );
  }
  lines.push('', '== Memory (MiB, PSS) at rest and after the calls of 64 clients, echo server');
  for (const cell of cells) {
    const run = cell.long?.ok ? cell.long : runWith(cell, 64);
    if (cell.server !== 'echo' || !run) continue;
    lines.push(`${cell.era}, ${cell.front}: ${mib(cell.rest?.pss_kib)} at rest, ${mib(run.pss_kib)} after ${run.calls} calls`);
  }
  lines.push('');
  for (const { name, note } of fronts) lines.push(`${name}: ${note}`);
  lines.push(
    `every answer checked (id and nonce); a run ends after ${calls} calls (a tenth of it with one client or the SDK server) or`,
    'its time limit; CPU is user and system of the gateway’s own processes, without the stdio servers; memory is PSS',
  );
  return lines.join('\n');
}
