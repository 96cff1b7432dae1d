// The HTTP hop: Lineward with an HTTP upstream beside nginx and haproxy. All run at once in front of one fast origin,
// measured in turns so that a busy moment of the machine hits all of them.
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './fronts.mjs';
import { ALL, ONE, pin } from './pin.mjs';
import { flags, inFolder, launcher, median, middle, ROUNDS, share } from './turns.mjs';

/** The table has these calls, each with its most. A single client runs on one processor with the front and the origin. */
const CELLS = [
  { what: '1 client, one CPU', clients: 1, calls: (most) => most / 5 },
  { what: '32 clients', clients: 32, calls: (most) => most },
  { what: '64 clients', clients: 64, calls: (most) => most },
  { what: '1 MiB, one string', clients: 4, names: 'string', calls: (most) => most / 50 },
  { what: '1 MiB, small values', clients: 4, names: 'dense', calls: (most) => most / 50 },
  { what: '1,000 events', clients: 4, names: 'events', progress: 1000, calls: (most) => most / 50 },
];
const ONE_CLIENT = CELLS[0].what;

/** The most that Lineward may take, times what the other one does. */
const BARS = [
  { what: ONE_CLIENT, of: 'cpu_us', ours: 'lineward, log level error', theirs: 'nginx', bar: 1 },
  { what: ONE_CLIENT, of: 'cpu_us', ours: 'lineward', theirs: 'nginx', bar: 1.1 },
  { what: ONE_CLIENT, of: 'p50_us', ours: 'lineward', theirs: 'nginx', bar: 0.95 },
  { what: ONE_CLIENT, of: 'p50_us', ours: 'lineward', theirs: 'haproxy', bar: 1 },
  { what: '32 clients', of: 'cpu_us', ours: 'lineward, log level error', theirs: 'nginx', bar: 0.6 },
  { what: '64 clients', of: 'cpu_us', ours: 'lineward, log level error', theirs: 'nginx', bar: 1 },
  { what: '64 clients', of: 'cpu_us', ours: 'lineward', theirs: 'nginx', bar: 1.1 },
  { what: '1 MiB, one string', of: 'cpu_us', ours: 'lineward', theirs: 'haproxy', bar: 1.1 },
  { what: '1 MiB, small values', of: 'cpu_us', ours: 'lineward', theirs: 'nginx', bar: 1 },
  { what: '1,000 events', of: 'cpu_us', ours: 'lineward', theirs: 'nginx', bar: 2 },
];

function find(name) {
  for (const folder of [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']) {
    if (folder && existsSync(join(folder, name))) return join(folder, name);
  }
  return undefined;
}

function lineward({ build, folder, port, origin }, name, level) {
  const path = join(folder, `${name}.json`);
  const config = {
    listen: { address: `127.0.0.1:${port}` },
    log: { level },
    mcpServers: { origin: { url: `http://127.0.0.1:${origin}/mcp` } },
  };
  writeFileSync(path, JSON.stringify(config));
  return [join(build, 'lineward'), 'run', '--config', path];
}

function nginx({ folder, port, origin }) {
  const path = join(folder, 'nginx.conf');
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((what) => `${what}_temp_path ${folder};`);
  writeFileSync(
    path,
    `worker_processes 1; daemon off; pid ${folder}/nginx.pid; error_log /dev/null crit;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 100000000; ${temp.join(' ')}
  upstream origin { server 127.0.0.1:${origin}; keepalive 64; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
    }
  }
}
`,
  );
  return [find('nginx'), '-e', '/dev/null', '-p', folder, '-c', path];
}

function haproxy({ folder, port, origin }) {
  const path = join(folder, 'haproxy.cfg');
  writeFileSync(
    path,
    `global
  nbthread 1
  maxconn 1000
defaults
  mode http
  http-reuse always
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend front
  bind 127.0.0.1:${port}
  default_backend back
backend back
  server origin 127.0.0.1:${origin}
`,
  );
  return [find('haproxy'), '-db', '-q', '-f', path];
}

const FRONTS = [
  { name: 'lineward', note: 'a log line for each call, to /dev/null', command: (o) => lineward(o, 'info', 'info') },
  { name: 'lineward, log level error', note: 'without it', command: (o) => lineward(o, 'error', 'error') },
  { name: 'nginx', note: '1 worker, keepalive 64, proxy_buffering off, no logs', needs: 'nginx', command: nginx },
  { name: 'haproxy', note: '1 thread, http-reuse always, no logs', needs: 'haproxy', command: haproxy },
];

const version = (path, args) => {
  try {
    return execFileSync(path, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).split('\n')[0];
  } catch {
    return '';
  }
};

/** The additional columns of this table. */
function rowOf(front, what, runs) {
  const of = (key) => median(runs.map((run) => run[key]));
  return { front, what, ...middle({ name: front, runs }), p99_us: of('p99_us'), pss_kib: of('pss_kib') };
}

/** `measure` runs one of our programs and gives its JSON. */
export async function hop({ build, calls, seconds, measure }) {
  const programs = launcher({ silent: true });
  const { launch } = programs;
  const out = { rows: [], skipped: [], errors: [], notes: [] };
  return inFolder('hop', programs, out, async (folder) => {
    const origin = await freePort();
    const originPid = await launch('the origin', [join(build, 'benchmarks/bench-hop-origin'), origin], origin);
    const fronts = [{ name: 'direct', note: 'no hop: the origin itself', port: origin, pid: originPid }];
    for (const front of FRONTS) {
      if (front.needs && !find(front.needs)) {
        out.skipped.push(`${front.name} is not installed (Debian package ${front.needs === 'nginx' ? 'nginx-light' : front.needs})`);
        continue;
      }
      const port = await freePort();
      try {
        const pid = await launch(front.name, front.command({ build, folder, port, origin }), port);
        fronts.push({ ...front, port, pid });
      } catch (error) {
        out.errors.push(String(error.message));
      }
      if (front.needs) out.notes.push(version(find(front.needs), ['-v']));
    }
    out.notes.push(...fronts.map(({ name, note }) => `${name}: ${note}`));
    await sleep(1500);
    const runs = new Map(fronts.map((front) => [front, CELLS.map(() => [])]));
    for (let round = 0; round < ROUNDS; ++round) {
      for (const [i, { what, clients, calls: most, ...asked }] of CELLS.entries()) {
        for (const front of fronts) {
          const each = Math.ceil(most(calls) / ROUNDS);
          const args = { port: front.port, pid: front.pid, marker: 'bench-hop-origin-only', era: 'modern', clients, calls: each, ...asked };
          const more = { seconds: share(seconds), warmup: Math.min(1000, Math.ceil(each / 5)) };
          const pinned = what === ONE_CLIENT;
          for (const pid of [originPid, front.pid]) pin(pid, pinned ? ONE : ALL);
          const result = await measure('bench-load', flags({ ...args, ...more }), pinned);
          if (result.ok && result.calls) runs.get(front)[i].push(result);
          else out.errors.push(`${front.name}, ${what}: ${result.error}`);
        }
      }
    }
    for (const [i, { what }] of CELLS.entries()) {
      for (const [front, groups] of runs) if (groups[i].length) out.rows.push(rowOf(front.name, what, groups[i]));
    }
    const direct = out.rows.find(({ front, what }) => front === 'direct' && what === ONE_CLIENT);
    for (const row of out.rows) {
      if (row.what !== ONE_CLIENT || row.front === 'direct' || !direct) continue;
      row.added_p50_us = row.p50_us - direct.p50_us;
      row.added_p99_us = row.p99_us - direct.p99_us;
    }
    out.verdicts = verdicts(out.rows);
  });
}

function verdicts(rows) {
  const value = (front, { what, of }) => rows.find((row) => row.front === front && row.what === what)?.[of];
  const out = [];
  for (const { ours, theirs, bar, ...cell } of BARS) {
    const [own, other] = [value(ours, cell), value(theirs, cell)];
    if (own === undefined || other === undefined) continue;
    const what = `${cell.what}: ${cell.of === 'cpu_us' ? 'CPU' : 'p50'} of ${ours} against ${theirs}`;
    out.push({ what, ours: own, theirs: other, ratio: own / other, bar, passed: own / other <= bar });
  }
  return out;
}

const number = (value, digits) => (value === undefined ? '–' : value.toFixed(digits));

export function hopTable({ rows = [], verdicts: judged = [], skipped = [], errors = [], notes = [] }) {
  const columns = [
    ['', (r) => r.what],
    ['front', (r) => r.front],
    ['calls', (r) => String(r.calls)],
    ['calls/s', (r) => number(r.per_second, 0)],
    ['CPU/call us', (r) => (r.front === 'direct' ? '–' : number(r.cpu_us, 1))],
    ['p50 ms', (r) => number(r.p50_us / 1000, 3)],
    ['p99 ms', (r) => number(r.p99_us / 1000, 3)],
    ['added p50 ms', (r) => number(r.added_p50_us && r.added_p50_us / 1000, 3)],
    ['added p99 ms', (r) => number(r.added_p99_us && r.added_p99_us / 1000, 3)],
    ['MiB', (r) => (r.front === 'direct' ? '–' : number(r.pss_kib / 1024, 1))],
  ];
  const texts = [columns.map(([name]) => name)];
  for (const row of rows) texts.push(columns.map(([, text]) => text(row)));
  const widths = columns.map((_, i) => Math.max(...texts.map((line) => line[i].length)));
  const lines = ['', '== HTTP hop, modern clients, HTTP server'];
  for (const line of texts) lines.push(line.map((text, i) => (i > 1 ? text.padStart(widths[i]) : text.padEnd(widths[i]))).join('  '));
  for (const v of judged) {
    lines.push(`${v.passed ? 'reached' : 'MISSED '}  ${v.ratio.toFixed(2)} (bar ${v.bar})  ${v.what}: ${v.ours.toFixed(1)} us, ${v.theirs.toFixed(1)} us`);
  }
  lines.push(...skipped.map((text) => `skipped: ${text}`), ...errors, ...notes.filter(Boolean));
  return lines.join('\n');
}
