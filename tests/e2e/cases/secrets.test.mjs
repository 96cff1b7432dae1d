// Twenty secrets are planted wherever one can stand; none is found in a log, a metric, an error, ps or a process list.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { startIssuer } from '../lib/issuer.mjs';
import { freePort } from '../lib/ports.mjs';
import { answer, call, json, startOrigin } from '../lib/raw-origin.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const planted = new Map();
/** A secret that cannot be guessed, by its place. */
function plant(place) {
  const secret = `S3cr3t${randomBytes(12).toString('hex')}`;
  planted.set(place, secret);
  return secret;
}

function assertClean(where, text) {
  for (const [place, secret] of planted) {
    for (const form of [secret, Buffer.from(secret).toString('base64').slice(2, -4), encodeURIComponent(secret)])
      assert.ok(!text.includes(form), `${where} shows the secret of ${place}`);
  }
}

const run = (args, input) => {
  try {
    return execFileSync(binary(), args, { encoding: 'utf8', input, stdio: ['pipe', 'pipe', 'pipe'], timeout: 20_000 });
  } catch (error) {
    return `${error.stdout}${error.stderr}`;
  }
};

/** The command lines of all processes, as `ps` shows them to all users. */
function processList() {
  const lines = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return lines
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    })
    .filter((line) => line.includes('lineward'))
    .join('\n');
}

describe('secrets', { skip: DIRECT }, () => {
  test('twenty of them are found nowhere', { skip: NOT_PLAIN }, async (t) => {
    planted.clear();
    const folder = temporaryFolder(t);
    const opsPort = await freePort();
    const port = await freePort();
    const resource = `http://127.0.0.1:${port}/mcp`;
    const issuer = await startIssuer(t, { resource });
    const origin = await startOrigin(t, (incoming, response, message) => {
      if (message.params?.name === 'refuse') return response.writeHead(500).end('no');
      return json(response, 200, answer(message.id, { content: [], resultType: 'complete' }));
    });
    const key = plant('an API key');
    writeFileSync(join(folder, 'keys.txt'), `alice sha256:${createHash('sha256').update(key).digest('hex')}\n`, { mode: 0o600 });
    writeFileSync(join(folder, 'header.txt'), plant('a header from a file'), { mode: 0o600 });
    writeFileSync(join(folder, 'server.env'), `ENV_FILE_TOKEN=${plant('an env file')}\n`, { mode: 0o600 });
    const config = {
      listen: { address: `127.0.0.1:${port}` },
      ops: { address: `127.0.0.1:${opsPort}` },
      admin: { address: `unix:${join(folder, 'admin.sock')}` },
      log: { level: 'debug', format: 'json' },
      auth: {
        apiKey: { file: join(folder, 'keys.txt') },
        jwt: { issuer: issuer.url, jwks: { url: `${issuer.url}/jwks` } },
        resourceMetadata: { resource },
      },
      plugins: [
        { accessLog: { path: join(folder, 'access.log'), format: 'json' } },
        { rateLimit: { requests: 1000, per: '1m', redis: { url: `redis://:${plant('a Redis password')}@127.0.0.1:1/0` } } },
        { trace: { endpoint: `http://127.0.0.1:1/v1/traces`, headers: { 'X-Key': plant('a collector header') } } },
        { redact: { arguments: ['/password', '/user/token'], where: 'log' } },
        { hook: { command: process.execPath, args: ['-e', 'process.stdin.on("data", () => {})'], env: { HOOK_TOKEN: plant('a hook environment') }, timeout: '200ms', onError: 'open', tools: ['hooked'] } },
      ],
      mcpServers: {
        up: {
          url: `${origin.url}?key=${plant('a query of a URL')}`,
          protocolEra: 'modern',
          headers: { Authorization: `Bearer ${plant('a header')}`, 'X-Api-Key': '${file:' + join(folder, 'header.txt') + '}' },
        },
        dead: { url: `http://127.0.0.1:1/mcp?token=${plant('a URL of a dead server')}`, headers: { 'X-Key': plant('a header of a dead server') } },
        proxied: { url: 'http://mcp.invalid/mcp', proxy: `http://user:${plant('a proxy password')}@127.0.0.1:1` },
        oauth: { url: `${origin.url}`, clientCredentials: { clientId: 'me', clientSecret: plant('a client secret'), tokenUrl: 'http://127.0.0.1:1/token' } },
        process: { command: '/bin/false', env: { TOKEN: plant('an environment variable') }, envFile: join(folder, 'server.env') },
      },
    };
    const gateway = await startGatewayFrom(t, config, { args: [], env: { LINEWARD_SOME_TOKEN: plant('the environment') } });
    const seen = [];
    const note = async (where, path, params, headers) => {
      const reply = await call(`${resource}/${path}`, 'tools/call', params, { headers });
      seen.push([`an error of ${where}`, JSON.stringify(reply.message ?? {}) + [...reply.headers].join('\n')]);
      return reply;
    };
    const withKey = { 'x-api-key': key };
    const token = issuer.token({ jti: plant('a claim of a token') });
    planted.set('a token', token.split('.')[2]);
    assert.equal((await note('a call', 'up', { name: 'x', arguments: { password: plant('an argument') } }, withKey)).status, 200);
    await note('a bad key', 'up', { name: 'x' }, { 'x-api-key': plant('a wrong key') });
    await note('a bad token', 'up', { name: 'x' }, { authorization: `Bearer ${plant('a wrong token')}` });
    await note('a foreign session', 'up', { name: 'x' }, { ...withKey, 'mcp-session-id': plant('a session id') });
    await note('a token', 'up', { name: 'x', arguments: { user: { token: plant('a nested argument') } } }, { authorization: `Bearer ${token}` });
    await note('a cookie', 'up', { name: 'hooked' }, { ...withKey, cookie: `sid=${plant('a cookie')}` });
    await note('a server that fails', 'up', { name: 'refuse' }, withKey);
    for (const path of ['dead', 'proxied', 'oauth', 'process']) await note(path, path, { name: 'x' }, withKey);
    await fetch(`${resource}/up?access_token=${plant('a query of a client')}`, { method: 'POST', body: '{}' });

    assert.ok(planted.size >= 20, `${planted.size} planted`);
    const socket = ['--admin', `unix:${join(folder, 'admin.sock')}`];
    for (const words of [['ps', '--all'], ['ps', '--all', '--format', 'json'], ['status'], ['status', '--format', 'json']]) {
      const text = run([...words, ...socket]);
      assert.ok(text.includes('dead'), `${words.join(' ')}: ${text}`);
      assertClean(words.join(' '), text);
    }
    const metrics = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    assert.ok(metrics.includes('lineward_auth_failures_total'));
    assertClean('/metrics', metrics);
    assertClean('/readyz', await (await fetch(`http://127.0.0.1:${opsPort}/readyz?verbose`)).text());
    assert.ok(processList().includes('lineward'));
    assertClean('the process list', processList());
    for (const [where, text] of seen) assertClean(where, text);
    // A file that is refused is shown with what is wrong, and without its secrets.
    const broken = join(folder, 'broken.json');
    writeFileSync(broken, JSON.stringify({ ...config, bogus: 1, mcpServers: { ...config.mcpServers, worse: { comand: 'x', env: { TOKEN: planted.get('a header') } } } }, null, 2));
    const report = run(['validate', broken]);
    assert.ok(report.includes('comand'), report);
    assertClean('validate', report);
    await gateway.stop();
    assertClean('the log', gateway.stderr());
    assert.ok(gateway.stderr().includes('call.end'));
    assertClean('the access log', readFileSync(join(folder, 'access.log'), 'utf8'));
  });
});
