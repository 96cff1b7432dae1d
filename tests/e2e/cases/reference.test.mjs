// The reference texts of the binary: the schema of its configuration, completion, manual pages; and
// healthcheck.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { eventually, lineward, opsOf } from '../lib/operator.mjs';
import { plainFixture } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const skip = DIRECT;
const top = fileURLToPath(new URL('../../..', import.meta.url));

async function schema() {
  const { code, out } = await lineward(['schema']);
  assert.equal(code, 0);
  return new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true }).compile(JSON.parse(out));
}

describe('lineward schema', { skip }, () => {
  test('takes every configuration of conf/', async () => {
    const accepts = await schema();
    const folders = ['conf', 'conf/hooks', 'conf/kubernetes/base'];
    const files = folders.flatMap((folder) =>
      readdirSync(join(top, folder)).filter((name) => /\.(yaml|json)$/.test(name)).map((name) => join(top, folder, name)),
    );
    let taken = 0;
    for (const file of files) {
      const text = readFileSync(file, 'utf8');
      const config = parse(file.endsWith('.json') ? text.replace(/^ *\/\/.*$/gm, '') : text);
      if (!config || !('mcpServers' in config)) continue; // of Kubernetes, not of Lineward
      assert.ok(accepts(config), `${file}: ${JSON.stringify(accepts.errors)}`);
      taken += 1;
    }
    assert.ok(taken >= 6, `only ${taken} files were looked at`);
  });

  // Both judge the same text: what one takes the other takes. `only`: what needs the whole file, which no schema sees.
  const one = 'mcpServers: { a: { command: cat } }\n';
  const server = (text) => `mcpServers: { a: { command: cat, ${text} } }\n`;
  const good = [
    one,
    'servers: { a: { url: "http://127.0.0.1:9/mcp" } }\n',
    'mcpServers: { a: { httpUrl: "http://127.0.0.1:9/mcp", type: streamable-http, headers: { X-A: "1" } } }\n',
    server('args: [x, 1, true]'),
    server('env: { A: "${env:HOME}", B: 5 }'),
    server('timeouts: { request: 1h30m, maxDuration: 2h, progressResets: false }'),
    server('timeouts: { request: "${env:LIMIT:-5s}" }'),
    server('limits: { maxInFlight: 5, maxMessageBytes: 1.5MiB, maxListBytes: 1048576 }'),
    server('inheritEnv: true'),
    server('inheritEnv: [A, B]'),
    server('enabled: false'),
    server('autoApprove: [x], sandboxMode: yes'),
    server('tools: { allow: [a], overrides: { "s*": { timeouts: { request: 2m } } } }'),
    server('tools: { only: readOnly, schema: repaired, overrides: { a: { name: b, title: B, description: does } } }'),
    server('methods: { "prompts/*": { timeouts: { request: 10s } } }'),
    `${one}defaults: { tools: { only: nonDestructive } }\n`,
    server('isolation: session, protocolEra: legacy, cancel: kill'),
    `${one}listen: { address: ":0", allowedOrigins: [https://a.example], maxBodyBytes: 1MiB }\n`,
    `${one}listen:\nops: off\nadmin: off\ninputs: []\n$schema: x\n`,
    `${one}rateLimit: { requests: 5, per: 1s }\n`,
    `${one}plugins: [{ rateLimit: { requests: 5, per: 1s }, name: x, servers: [a] }, { accessLog: {} }]\n`,
    `${one}defaults: { timeouts: { request: 5s }, pool: { prewarm: 1 } }\n`,
    `${one}auth: { anonymous: true }\n`,
  ];
  const bad = [
    'nonsense: 1\n',
    `${one}listen: { adress: ":0" }\n`,
    `${one}listen: 8000\n`,
    `${one}defaults: { command: x }\n`,
    `${one}rateLimit: { requests: 5, every: 1s }\n`,
    `${one}plugins: [{ nothing: {} }]\n`,
    `${one}plugins: { rateLimit: {} }\n`,
    `${one}auth: { anonymous: perhaps }\n`,
    'mcpServers: { "a b": { command: cat } }\n',
    'mcpServers: [cat]\n',
    'mcpServers: { a: { command: cat, type: telnet } }\n',
    server('args: cat'),
    server('timeouts: { request: 30 }'),
    server('timeouts: { request: soon }'),
    server('timeouts: { quest: 5s }'),
    server('limits: { maxInFlight: -1 }'),
    server('limits: { maxInFlight: 10.5 }'),
    server('limits: { maxMessageBytes: 3MB }'),
    server('isolation: none'),
    server('tools: { only: [a] }'),
    server('tools: { schema: fixed }'),
    server('tools: { overrides: { a: {} } }'),
    server('tools: { overrides: { a: { name: "a b" } } }'),
    server('methods: { x: { name: y } }'),
    server('methods: { x: { request: 5s } }'),
    server('pool: { prewarm: 1000000 }'),
    server('disabled: maybe'),
  ];
  test('says what validate says', async (t) => {
    const accepts = await schema();
    const folder = temporaryFolder(t);
    for (const [texts, wanted] of [[good, true], [bad, false]]) {
      for (const [number, text] of texts.entries()) {
        const file = join(folder, `${wanted}-${number}.yaml`);
        writeFileSync(file, text);
        const { code, err } = await lineward(['validate', file], { LIMIT: '5s' });
        assert.equal(code === 0, wanted, `validate: ${text}${err}`);
        assert.equal(accepts(parse(text)), wanted, `schema: ${text}${JSON.stringify(accepts.errors)}`);
      }
    }
  });
});

describe('lineward completion', { skip }, () => {
  const complete = (script, words, env = {}) => {
    const asked = spawnSync(
      'bash',
      ['-c', `eval "$SCRIPT"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lineward; printf '%s\\n' "\${COMPREPLY[@]}"`, 'x', ...words],
      { encoding: 'utf8', env: { ...process.env, SCRIPT: script, ...env } },
    );
    assert.equal(asked.status, 0, asked.stderr);
    return asked.stdout.split('\n').filter(Boolean);
  };
  test('bash: commands, their options, and nothing of a server\'s own command', async () => {
    const { code, out } = await lineward(['completion', 'bash']);
    assert.equal(code, 0);
    assert.deepEqual(complete(out, ['lineward', 'he']).sort(), ['healthcheck', 'help']);
    assert.ok(complete(out, ['lineward', 'run', '--li']).includes('--listen'));
    assert.ok(!complete(out, ['lineward', 'run', '--']).includes('--logLevel'), 'words that are only understood');
    assert.deepEqual(complete(out, ['lineward', 'run', '--', 'npx', '--l']), []);
    assert.deepEqual(complete(out, ['lineward', 'run', '--listen', '']), []);
    assert.deepEqual(complete(out, ['lineward', 'completion', 'f']), ['fish']);
  });
  test('bash: the servers of the running gateway, and what can be done with one', async (t) => {
    // In the place of the binary, as the command that is on PATH: it lists as `lineward servers` does.
    const bin = temporaryFolder(t);
    writeFileSync(join(bin, 'lineward'), `#!/bin/sh\n[ "$1" = servers ] && printf 'SERVER  STATE\\ngithub  ready\\ngit-2   ready\\n/mcp    ready\\n'\n`, { mode: 0o755 });
    const { out } = await lineward(['completion', 'bash']);
    const given = (...words) => complete(out, ['lineward', ...words], { PATH: `${bin}:${process.env.PATH}` });
    assert.deepEqual(given('server', ''), ['github', 'git-2']);
    assert.deepEqual(given('server', 'gith'), ['github']);
    assert.deepEqual(given('server', 'github', 're'), ['restart']);
    assert.deepEqual(given('server', 'github', '').sort(), ['drain', 'restart', 'start', 'stop']);
    assert.deepEqual(given('server', 'github', 'stop', ''), []);
    assert.ok(given('server', 'github', '--').includes('--reason'));
    assert.deepEqual(given('ps', '--upstream', 'git-'), ['git-2']);
  });
  test('zsh and fish: every command and option has its line', async () => {
    for (const shell of ['zsh', 'fish']) {
      const { code, out } = await lineward(['completion', shell]);
      assert.equal(code, 0);
      for (const word of ['run', 'healthcheck', 'listen', 'dry-run', 'exit-with-parent']) assert.match(out, new RegExp(`\\b${word}\\b`));
    }
  });
  test('another shell is a mistake', async () => {
    const { code, err } = await lineward(['completion', 'tcsh']);
    assert.equal(code, 2);
    assert.match(err, /bash, zsh or fish/);
  });
});

describe('lineward man', { skip }, () => {
  for (const page of ['lineward', 'lineward.yaml']) {
    test(`${page} is a page that groff reads without a warning`, async () => {
      const { code, out } = await lineward(['man', page]);
      assert.equal(code, 0);
      assert.match(out, /^\.TH LINEWARD/);
      assert.match(out, page === 'lineward' ? /\\-\\-exit\\-with\\-upstream/ : /mcpServers\.NAME\.timeouts\.request/);
      const groff = spawnSync('groff', ['-man', '-ww', '-z', '-Kutf8'], { input: out, encoding: 'utf8' });
      if (groff.error) return console.log('groff is not here: nobody has read the page');
      assert.equal(groff.stderr, '');
    });
  }
});

describe('lineward healthcheck', { skip }, () => {
  const server = (command, more = {}) => ({ command: command[0], args: command.slice(1), ...more });
  test('ready, not ready, live, no gateway', async (t) => {
    const file = join(temporaryFolder(t), 'go');
    const gateway = await startGatewayFrom(t, {
      ops: { address: '127.0.0.1:0' },
      admin: 'off',
      mcpServers: { slow: server(plainFixture('--until', file), { required: true, protocolEra: 'auto' }) },
    });
    const ops = await eventually(() => opsOf(gateway), 'the line with the ops address');
    const early = await lineward(['healthcheck', '--ops', ops]);
    assert.equal(early.code, 1);
    assert.match(early.err, /upstream slow/);
    assert.deepEqual(await lineward(['healthcheck', '--live', '--ops', ops]), { code: 0, out: 'live\n', err: '' });
    writeFileSync(file, '');
    await eventually(async () => (await lineward(['healthcheck'], { LINEWARD_OPS_ADDRESS: ops })).code === 0, 'ready');
    const nobody = await lineward(['healthcheck', '--ops', '127.0.0.1:1']);
    assert.equal(nobody.code, 69);
    assert.match(nobody.err, /no gateway answers at 127\.0\.0\.1:1/);
  });
  test('over a Unix socket, and invalid arguments', async (t) => {
    const path = join(temporaryFolder(t), 'ops.sock');
    await startGatewayFrom(t, { ops: { address: `unix:${path}` }, admin: 'off', mcpServers: { one: server(plainFixture()) } });
    await eventually(async () => (await lineward(['healthcheck', '--ops', `unix:${path}`])).out === 'ready\n', 'ready');
    assert.equal((await lineward(['healthcheck', '--ops', 'off'])).code, 2);
    const none = await lineward(['healthcheck'], { LINEWARD_OPS_ADDRESS: 'foo' });
    assert.equal(none.code, 2);
    assert.match(none.err, /^error: 'foo' is no address: write host:port, :port, \[::1\]:port or unix:\/path\n/);
    assert.equal((await lineward(['healthcheck', '--timeout', '5'])).code, 2);
  });
  test('a limit of weeks is one of weeks', async (t) => {
    const late = createServer((socket) => {
      socket.on('error', () => {});
      setTimeout(() => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n'), 1500);
    });
    t.after(() => late.close());
    await new Promise((listening) => late.listen(0, '127.0.0.1', listening));
    // 2^32 ms and half a second: as a number of 32 bits no more than that.
    const asked = await lineward(['healthcheck', '--ops', `127.0.0.1:${late.address().port}`, '--timeout', '4294967796ms']);
    assert.deepEqual(asked, { code: 0, out: 'ready\n', err: '' });
  });
});
