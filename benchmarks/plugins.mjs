// The cost of each plugin per call, as the difference to a Lineward without plugins. All run at once in front of one fast
// HTTP origin, measured in turns, 64 clients.
import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './fronts.mjs';
import { inFolder, launcher, lineward, middle, ROUNDS, share, turns } from './turns.mjs';

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

/** The policies of an edge: `jwt`, `rateLimit`, `toolFilter` and `accessLog`, and the headers that its clients send. */
export function policies(folder) {
  const chosen = cases(folder, '').filter(({ name }) => ['jwt', 'rateLimit', 'toolFilter', 'accessLog'].includes(name));
  return { config: Object.assign({}, ...chosen.map(({ config }) => config)), load: ['--header', chosen.find(({ header }) => header).header] };
}

const HOOK = `import { createInterface } from 'node:readline';
createInterface({ input: process.stdin }).on('line', (line) => {
  process.stdout.write('{"id":' + JSON.parse(line).id + ',"verdict":"proceed"}\\n');
});
`;

/** `measure` runs one of our programs and gives its JSON. */
export async function plugins({ build, calls, seconds, measure }) {
  const programs = launcher();
  const { launch } = programs;
  const out = { rows: [], errors: [] };
  return inFolder('plugins', programs, out, async (folder) => {
    writeFileSync(join(folder, 'hook.mjs'), HOOK);
    const origin = await freePort();
    await launch('the origin', [join(build, 'benchmarks/bench-hop-origin'), origin], origin);
    const mcpServers = { origin: { url: `http://127.0.0.1:${origin}/mcp`, protocolEra: 'modern' } };
    const fronts = [];
    for (const { name, config, header } of cases(folder, `http://127.0.0.1:${origin}/v1/traces`)) {
      const port = await freePort();
      try {
        const pid = await launch(name, lineward({ build, folder }, port, { ...config, mcpServers }), port);
        fronts.push({ name, port, pid, options: header ? { header } : {} });
      } catch (error) {
        out.errors.push(String(error.message));
      }
    }
    const each = Math.ceil(calls / 2 / ROUNDS);
    const options = { marker: 'bench-hop-origin-only', era: 'modern', clients: CLIENTS, calls: each };
    const more = { seconds: share(seconds), warmup: Math.min(1000, Math.ceil(each / 5)) };
    await turns(fronts, { ...options, ...more }, { measure, errors: out.errors });
    out.rows.push(...fronts.filter(({ runs }) => runs.length).map(middle));
    const [none] = out.rows;
    for (const row of out.rows) row.added_us = row.cpu_us - none.cpu_us;
  });
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
