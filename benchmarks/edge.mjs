// Lineward as the edge beside nginx: TLS handshakes, full and resumed, and calls over HTTP/1.1 and HTTP/2 with TLS, with
// the same certificate, protocols and ciphers, in front of one fast origin. Both run at once and are measured in turns.
//
//   node benchmarks/edge.mjs BUILD [--rounds N] [--seconds N] [--calls N]
//
// Needs nginx, h2load (nghttp2-client) and openssl. CPU is that of the front's own processes.
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from './fronts.mjs';
import { inFolder, launcher, median } from './turns.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    calls: { type: 'string', default: '8000' },
  },
});
const build = resolve(positionals[0] ?? 'build');
const CIPHERS =
  'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305';

/** Seconds of processor time of a process and all its children that live. */
function cpu(pid) {
  const parents = new Map();
  const times = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      parents.set(Number(name), Number(fields[1]));
      times.set(Number(name), Number(fields[11]) + Number(fields[12]));
    } catch {
      // it has ended
    }
  }
  let sum = 0;
  for (const [one, ticks] of times) {
    for (let at = one; at; at = parents.get(at)) if (at === pid) sum += ticks;
  }
  return sum / 100;
}

function files(folder) {
  const key = join(folder, 'key.pem');
  const certificate = join(folder, 'cert.pem');
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30', ...subject, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const body = join(folder, 'call.json');
  writeFileSync(body, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { nonce: 'n' }, _meta } }));
  return { key, certificate, body };
}

function lineward(folder, port, origin, { key, certificate }) {
  const path = join(folder, 'lineward.json');
  writeFileSync(
    path,
    JSON.stringify({
      listen: { address: `127.0.0.1:${port}`, tls: { certificate, key } },
      log: { level: 'error' },
      ops: { address: 'off' },
      admin: 'off',
      mcpServers: { origin: { url: `http://127.0.0.1:${origin}/mcp`, protocolEra: 'modern' } },
    }),
  );
  return [join(build, 'lineward'), 'run', '--config', path];
}

function nginx(folder, port, origin, { key, certificate }) {
  const path = join(folder, 'nginx.conf');
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((what) => `${what}_temp_path ${folder};`);
  writeFileSync(
    path,
    `worker_processes 1; daemon off; pid ${folder}/nginx.pid; error_log /dev/null crit;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 100000000; ${temp.join(' ')}
  ssl_certificate ${certificate}; ssl_certificate_key ${key};
  ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers ${CIPHERS}; ssl_prefer_server_ciphers off;
  ssl_session_cache shared:s:10m; ssl_session_tickets on;
  upstream origin { server 127.0.0.1:${origin}; keepalive 64; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port} ssl http2;
    location /mcp {
      proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
    }
    location / { return 404; }
  }
}
`,
  );
  return ['nginx', '-e', '/dev/null', '-p', folder, '-c', path];
}

/** Handshakes for some seconds; each is followed by a GET that is refused. */
function handshakes(port, how) {
  const args = ['s_time', '-connect', `127.0.0.1:${port}`, how, '-www', '/nothing', '-time', values.seconds];
  const { stdout } = spawnSync('openssl', args, { encoding: 'utf8' });
  const count = Number(/(\d+) connections in \d+ real seconds/.exec(stdout)?.[1]);
  if (!count) throw new Error(`openssl s_time: ${stdout}`);
  return count;
}

/** Calls over 32 connections, or over four with eight streams each. */
function calls(port, body, http1) {
  const shape = http1 ? ['--h1', '-c', '32'] : ['-c', '4', '-m', '8'];
  const headers = ['content-type: application/json', 'accept: application/json, text/event-stream', 'mcp-protocol-version: 2026-07-28', 'mcp-method: tools/call', 'mcp-name: echo'];
  const args = ['-n', values.calls, ...shape, '-t', '1', '-d', body, ...headers.flatMap((one) => ['-H', one]), `https://127.0.0.1:${port}/mcp`];
  const { stdout } = spawnSync('h2load', args, { encoding: 'utf8' });
  const count = Number(/(\d+) 2xx/.exec(stdout)?.[1]);
  if (count !== Number(values.calls)) throw new Error(`h2load: ${stdout}`);
  return count;
}

const SCENARIOS = [
  ['full handshake, TLS 1.3', (port) => handshakes(port, '-new')],
  ['resumed handshake, TLS 1.3', (port) => handshakes(port, '-reuse')],
  ['call, HTTP/1.1 over TLS, 32 connections', (port, { body }) => calls(port, body, true)],
  ['call, HTTP/2 over TLS, 4 x 8 streams', (port, { body }) => calls(port, body, false)],
];

const programs = launcher({ silent: true });
const out = { errors: [] };
await inFolder('edge', programs, out, async (folder) => {
  const given = files(folder);
  const origin = await freePort();
  await programs.launch('the origin', [join(build, 'benchmarks/bench-hop-origin'), origin], origin);
  const fronts = [];
  for (const [name, command] of [['lineward', lineward], ['nginx', nginx]]) {
    const port = await freePort();
    fronts.push({ name, port, pid: await programs.launch(name, command(folder, port, origin, given), port) });
  }
  await sleep(1000);
  const seen = new Map();
  for (let round = 0; round < Number(values.rounds); ++round) {
    for (const [what, run] of SCENARIOS) {
      for (const { name, port, pid } of fronts) {
        const before = cpu(pid);
        const began = performance.now();
        const count = run(port, given);
        const row = { cpu: ((cpu(pid) - before) / count) * 1e6, rate: count / ((performance.now() - began) / 1000) };
        const key = `${what} ${name}`;
        seen.set(key, [...(seen.get(key) ?? []), row]);
      }
    }
  }
  for (const [what] of SCENARIOS) {
    const of = (name, field) => median(seen.get(`${what} ${name}`).map((row) => row[field]));
    const ours = of('lineward', 'cpu');
    const theirs = of('nginx', 'cpu');
    console.log(
      `${what.padEnd(42)} lineward ${ours.toFixed(1).padStart(7)} us, ${of('lineward', 'rate').toFixed(0).padStart(6)}/s   ` +
        `nginx ${theirs.toFixed(1).padStart(7)} us, ${of('nginx', 'rate').toFixed(0).padStart(6)}/s   ${(ours / theirs).toFixed(2)} x`,
    );
  }
});
for (const error of out.errors) console.error(error);
process.exitCode = out.errors.length ? 1 : 0;
