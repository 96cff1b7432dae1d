// What each plugin costs per call: one Lineward for each, all up at once in front of one fast HTTP origin, measured in
// turns, 64 clients; the difference to the one without plugins is printed.
import { spawn } from 'node:child_process';
import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answers, freePort } from './fronts.mjs';

const ROUNDS = 5;
const CLIENTS = 64;

const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

function token(folder, audience) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' };
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify({ keys: [jwk] }));
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: 'https://issuer.example', sub: 'bench', aud: audience, exp: now + 3600, scope: 'mcp.tools' };
  const text = `${part({ alg: 'ES256', typ: 'at+jwt', kid: 'k' })}.${part(claims)}`;
  const signature = createSign('SHA256').update(text).sign({ key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}

/** Name, what it adds to the configuration, and the header that its clients send. */
function cases(folder, collector) {
  const key = randomBytes(24).toString('hex');
  writeFileSync(join(folder, 'keys.txt'), `bench sha256:${createHash('sha256').update(key).digest('hex')}\n`, { mode: 0o600 });
  const audience = 'https://mcp.example/mcp';
  const jwt = {
    issuer: 'https://issuer.example',
    jwks: { file: join(folder, 'jwks.json') },
    audiences: [audience],
    requiredScopes: ['mcp.tools'],
  };
  const bearer = `Authorization: Bearer ${token(folder, audience)}`;
  return [
    { name: 'none', config: {} },
    { name: 'apiKey', config: { auth: { apiKey: { file: join(folder, 'keys.txt') } } }, header: `X-API-Key: ${key}` },
    { name: 'jwt', config: { auth: { jwt } }, header: bearer },
    { name: 'rateLimit', config: { rateLimit: { requests: 1000000, per: '1s', burst: 1000000 } } },
    { name: 'toolFilter', config: { toolFilter: { allow: ['*'], deny: ['delete_*'] } } },
    { name: 'accessLog', config: { accessLog: { path: join(folder, 'access.log') } } },
    { name: 'redact (wire)', config: { redact: { arguments: ['/password'], where: 'wire' } } },
    { name: 'trace, 1 of 100', config: { trace: { endpoint: collector, sample: '0.01' } } },
    {
      name: 'hook (process)',
      config: { plugins: [{ hook: { command: process.execPath, args: [join(folder, 'hook.mjs')], methods: ['tools/call'] } }] },
    },
  ];
}

const HOOK = `import { createInterface } from 'node:readline';
createInterface({ input: process.stdin }).on('line', (line) => {
  process.stdout.write('{"id":' + JSON.parse(line).id + ',"verdict":"proceed"}\\n');
});
`;

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** `measure` runs one of our programs and gives its JSON. */
export async function plugins({ build, calls, seconds, measure }) {
  const folder = mkdtempSync(join(tmpdir(), 'lineward-plugins-'));
  const stops = [];
  const out = { rows: [], errors: [] };
  const launch = async (name, command, port) => {
    let said = '';
    const child = spawn(String(command[0]), command.slice(1).map(String), { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.setEncoding('utf8').on('data', (text) => (said = (said + text).slice(-2000)));
    let ended = false;
    child.once('exit', () => (ended = true)).once('error', () => (ended = true));
    stops.push(async () => {
      child.kill('SIGTERM');
      for (let i = 0; i < 100 && !ended; ++i) await sleep(100);
      if (!ended) child.kill('SIGKILL');
    });
    const latest = Date.now() + 20_000;
    while (!(await answers(port))) {
      if (ended || Date.now() > latest) throw new Error(`${name} did not start: ${said}`);
      await sleep(50);
    }
    return child.pid;
  };
  try {
    writeFileSync(join(folder, 'hook.mjs'), HOOK);
    const origin = await freePort();
    await launch('the origin', [join(build, 'benchmarks/bench-hop-origin'), origin], origin);
    const fronts = [];
    for (const one of cases(folder, `http://127.0.0.1:${origin}/v1/traces`)) {
      const port = await freePort();
      const path = join(folder, `${port}.json`);
      writeFileSync(
        path,
        JSON.stringify({
          listen: { address: `127.0.0.1:${port}` },
          log: { level: 'error' },
          ...one.config,
          mcpServers: { origin: { url: `http://127.0.0.1:${origin}/mcp`, protocolEra: 'modern' } },
        }),
      );
      try {
        const command = [join(build, 'lineward'), 'run', '--ops', 'off', '--admin', 'off', '--config', path];
        fronts.push({ ...one, port, pid: await launch(one.name, command, port), runs: [] });
      } catch (error) {
        out.errors.push(String(error.message));
      }
    }
    for (let round = 0; round < ROUNDS; ++round) {
      for (const front of fronts) {
        const each = Math.ceil(calls / 2 / ROUNDS);
        const args = { port: front.port, pid: front.pid, marker: 'bench-hop-origin-only', era: 'modern', clients: CLIENTS, calls: each };
        const more = { seconds: Math.max(2, Math.ceil(seconds / ROUNDS)), warmup: Math.min(1000, Math.ceil(each / 5)) };
        const flags = Object.entries({ ...args, ...more, ...(front.header ? { header: front.header } : {}) });
        const result = await measure('bench-load', flags.flatMap(([k, v]) => [`--${k}`, v]), false);
        if (result.ok && result.calls) front.runs.push(result);
        else out.errors.push(`${front.name}: ${result.error}`);
      }
    }
    for (const { name, runs } of fronts) {
      if (!runs.length) continue;
      out.rows.push({
        name,
        calls: runs.reduce((sum, run) => sum + run.calls, 0),
        per_second: median(runs.map((run) => run.calls / run.seconds)),
        cpu_us: median(runs.map((run) => (run.front_cpu / run.calls) * 1e6)),
      });
    }
    const [none] = out.rows;
    for (const row of out.rows) row.added_us = row.cpu_us - none.cpu_us;
  } catch (error) {
    out.errors.push(String(error.message));
  } finally {
    for (const stop of stops.toReversed()) await stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return out;
}

export function pluginTable({ rows, errors }) {
  const lines = ['', '== Plugins: CPU per call of the gateway, modern clients, HTTP server, 64 clients'];
  const line = (name, ...texts) => lines.push(name.padEnd(20) + texts.map((text) => text.padStart(14)).join(''));
  line('plugin', 'calls', 'calls/s', 'CPU/call us', 'added us');
  for (const row of rows) {
    const added = row.name === 'none' ? '' : (row.added_us < 0 ? '' : '+') + row.added_us.toFixed(2);
    line(row.name, String(row.calls), row.per_second.toFixed(0), row.cpu_us.toFixed(2), added);
  }
  return [...lines, ...errors].join('\n');
}
