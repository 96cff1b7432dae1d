// lineward doctor: planted faults, each found with the advice that mends it; and servers that are well.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { binary } from '../lib/binary.mjs';
import { authority } from '../lib/certificates.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom, startListener } from '../lib/gateway.mjs';
import { startIssuer } from '../lib/issuer.mjs';
import { eventually, lineward } from '../lib/operator.mjs';
import { tagged } from '../lib/processes.mjs';
import { answer, json, startOrigin } from '../lib/raw-origin.mjs';
import { everything, legacyFixture, memory } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const FIXTURE = fileURLToPath(new URL('../fixtures/faulty-server.mjs', import.meta.url));
const faulty = (...faults) => ({ command: process.execPath, args: [FIXTURE, ...faults.map((word) => `${word}`)] });
const SECRET = 'very-s3cret-value';

/** Runs the doctor over a configuration: {code, find(check), text, all}. None of its processes may be left. */
async function examine(t, config, { args = [], env = {}, patience = '15s' } = {}) {
  const folder = temporaryFolder(t);
  const path = join(folder, 'lineward.json');
  const text = typeof config === 'string' ? config : JSON.stringify({ ops: 'off', listen: { address: '127.0.0.1:0' }, ...config });
  writeFileSync(path, text);
  const tag = `doctor-${folder}`;
  const ours = { DOCTOR_E2E_TAG: tag, XDG_RUNTIME_DIR: folder, ...env };
  const { code, out, err } = await lineward(['doctor', '--format', 'json', '--patience', patience, ...args, path], ours);
  const left = tagged('DOCTOR_E2E_TAG', tag);
  assert.deepEqual(left, [], 'nothing is left running');
  assert.doesNotMatch(out + err, new RegExp(SECRET), 'no secret is shown');
  assert.ok(out.startsWith('{'), out + err);
  const report = JSON.parse(out);
  const find = (check, subject) =>
    report.checks.find((one) => one.check === check && one.status !== 'ok' && (!subject || one.subject === subject));
  return { code, find, out, ok: report.ok, all: report.checks };
}

/** A server with these properties; the fault is wanted with `text` and `fix`. */
async function planted(t, server, check, { status = 'fault', text, fix, where, ...options }) {
  const withTag = server.url ? server : { inheritEnv: ['DOCTOR_E2E_TAG'], ...server };
  const report = await examine(t, { mcpServers: { sick: withTag } }, options);
  const found = report.find(check, 'sick');
  assert.ok(found, `${check} is found in ${report.out}`);
  assert.equal(found.status, status);
  assert.match(found.text, text);
  assert.match(found.fix ?? '', fix);
  if (where) assert.match(found.where ?? '', where);
  assert.equal(report.code, status === 'fault' ? 1 : 0);
}

const script = (t, name, text, mode = 0o755) => {
  const path = join(temporaryFolder(t), name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
};

describe('lineward doctor: planted faults', { skip: DIRECT }, () => {
  test('1 the command is not in PATH, and is found elsewhere', async (t) => {
    const home = temporaryFolder(t);
    mkdirSync(join(home, '.local/bin'), { recursive: true });
    writeFileSync(join(home, '.local/bin/uvx-of-mine'), '#!/bin/sh\n', { mode: 0o755 });
    await planted(t, { command: 'uvx-of-mine', env: { HOME: home } }, 'command', {
      text: /'uvx-of-mine' was not found/,
      fix: new RegExp(`command: ${home}/.local/bin/uvx-of-mine .*found there`),
      where: /^PATH \//,
    });
  });

  test('2 a command that is not executable', async (t) => {
    const path = script(t, 'server', '#!/bin/sh\n', 0o644);
    await planted(t, { command: path }, 'command', { text: /is not executable/, fix: /^chmod \+x \// });
  });

  test('3 a script with the line ends of Windows', async (t) => {
    const path = script(t, 'server', '#!/usr/bin/env node\r\nconsole.log(1)\r\n');
    await planted(t, { command: path }, 'command', { text: /ends as in Windows \(CR LF\)/, fix: /^sed -i 's\/\\r\$\/\/'/ });
  });

  test('4 a program that is built for another machine', async (t) => {
    const path = script(t, 'server', '');
    copyFileSync(process.execPath, path);
    const bytes = readFileSync(path).subarray(0, 4096);
    bytes.writeUInt16LE(bytes.readUInt16LE(18) === 183 ? 62 : 183, 18);
    writeFileSync(path, bytes);
    await planted(t, { command: path }, 'command', { text: /is built for (aarch64|x86_64), this machine is/, fix: /build for this machine/ });
  });

  test('5 a file that no interpreter is named for', async (t) => {
    const path = script(t, 'server.js', 'console.log(1)\n');
    await planted(t, { command: path }, 'command', { text: /neither a program nor a script/, fix: /#!\/usr\/bin\/env node/ });
  });

  test('6 an interpreter that is not there', async (t) => {
    const path = script(t, 'server', '#!/opt/none/python3\n');
    await planted(t, { command: path }, 'command', { text: /interpreter .* is not there: \/opt\/none\/python3/, fix: /install it/ });
  });

  test('7 a working directory that is not there', async (t) => {
    await planted(t, { ...faulty(), cwd: '/nonexistent/folder' }, 'cwd', { text: /working directory is not there/, fix: /change cwd/, where: /nonexistent/ });
  });

  test('8 the wrong Node', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'old', engines: { node: '>=99' } }));
    copyFileSync(FIXTURE, join(folder, 'server.mjs'));
    await planted(t, { command: process.execPath, args: [join(folder, 'server.mjs')] }, 'node', {
      text: /Node v\d+.*, the server wants >=99/,
      fix: /install Node >=99/,
      where: /package\.json$/,
    });
  });

  test('9 a server that ends at its first line; its last words without its secret', async (t) => {
    await planted(t, { ...faulty('--dies'), env: { SECRET_TOKEN: SECRET } }, 'start', {
      text: /exited with code 3 after .*its last words: cannot open the database \*\*\*/,
      fix: /run its command in a shell/,
    });
    await planted(t, { command: process.execPath, args: ['-e', "process.kill(process.pid, 'SIGKILL')"] }, 'start', {
      text: /^it was ended by signal 9 \(Killed\) after \d/,
      fix: /run its command in a shell/,
    });
    // Not the last line, which is Node's version.
    await planted(t, { command: process.execPath, args: ['-e', "throw new Error('there is no token')"] }, 'start', {
      text: /exited with code 1 after .*its last words: Error: there is no token$/,
      fix: /run its command in a shell/,
    });
  });

  test('10 banners on stdout, without its secret', async (t) => {
    await planted(t, { ...faulty('--banner'), env: { SECRET_TOKEN: SECRET } }, 'stdout', {
      status: 'warning',
      text: /no JSON-RPC on stdout: Server started with \*\*\*/,
      fix: /stderr/,
    });
  });

  test('11 a server that ignores cancels', async (t) => {
    await planted(t, faulty('--uncancellable'), 'cancel', {
      status: 'warning',
      text: /ignores cancels: work went on for/,
      fix: /cancel: kill/,
      args: ['--try-cancel', 'work'],
    });
    const good = await examine(t, { mcpServers: { well: faulty('--modern') } }, { args: ['--try-cancel', 'work {"a":1}'] });
    assert.match(good.all.find((one) => one.check === 'cancel').text, /work stopped after/);
  });

  test('12 a server that ignores the end of its stdin', async (t) => {
    const stop = { stdinGrace: '200ms', termGrace: '500ms' };
    await planted(t, { ...faulty('--deaf'), stop }, 'end', { status: 'warning', text: /ignores the end of its stdin.*ends by SIGTERM/, fix: /end when stdin ends/ });
    await planted(t, { ...faulty('--stubborn'), stop }, 'end', { status: 'warning', text: /and SIGTERM for .*killed/, fix: /by SIGTERM/ });
  });

  test('13 a slow start: more than timeouts.startup, and more than five seconds', async (t) => {
    const slow = { ...faulty('--modern', '--slow', '900'), timeouts: { startup: '500ms' } };
    await planted(t, slow, 'startup', { text: /its first answer came after/, fix: /timeouts: \{ startup: / });
    for (const era of [[], ['--backwards'], ['--modern'], ['--modern', '--backwards']])
      await planted(t, faulty(...era, '--slow', '5200'), 'startup', { status: 'warning', text: /after ([5-9]|\d\d)/, fix: /prewarm/ });
  });

  test('14 an era that is not its own, either way', async (t) => {
    await planted(t, { ...faulty(), protocolEra: 'modern' }, 'era', { text: /protocolEra is modern, and the server speaks legacy/, fix: /protocolEra: auto/ });
    await planted(t, { ...faulty('--modern'), protocolEra: 'legacy' }, 'era', { text: /protocolEra is legacy, and the server speaks modern/, fix: /protocolEra: auto/ });
    await planted(t, faulty('--hates-discover'), 'era', { status: 'warning', text: /ends when it is asked server\/discover/, fix: /protocolEra: legacy/ });
  });

  test('15 silence, and a list that does not come', async (t) => {
    const patience = '1500ms';
    await planted(t, faulty('--silent'), 'start', { text: /it answered nothing within 1\.5s/, fix: /--stdio/, patience });
    await planted(t, faulty('--lists-nothing'), 'tools', { text: /did not answer tools\/list/, fix: /waits for/, patience });
  });

  for (const [what, text, fix, make] of [
    ['another name', /certificate .* is not accepted: .*mismatch/, /certificate is made out to in url/, (ca) => ({ tls: ca.certificate('other.test').tls, caFile: ca.caFile })],
    ['an unknown authority', /certificate .* is not accepted/, /caFile/, (ca) => ({ tls: ca.certificate('127.0.0.1').tls })],
    ['an expired certificate', /expired/, /renew the server's certificate/, (ca) => ({ tls: ca.certificate('127.0.0.1', { days: 0 }).tls, caFile: ca.caFile })],
  ]) {
    test(`16 TLS: ${what}`, async (t) => {
      const { tls, ...server } = make(authority(t));
      await sleep(1100); // an expired one expires within the second
      const origin = await startOrigin(t, () => {}, { tls });
      await planted(t, { url: origin.url, ...server }, 'tls', { text, fix });
    });
  }

  test('17 a name without an address; a port without a listener; a proxy that is not there', async (t) => {
    await planted(t, { url: 'http://no-such-host.invalid/mcp' }, 'dns', { text: /no-such-host\.invalid has no address/, fix: /resolv\.conf/ });
    await planted(t, { url: 'http://127.0.0.1:1/mcp' }, 'connect', { text: /cannot connect to 127\.0\.0\.1:1: Connection refused/, fix: /is the server running/ });
    await planted(t, { url: 'http://mcp.example.test/mcp', proxy: `http://u:${SECRET}@127.0.0.1:1` }, 'proxy', { text: /cannot connect to the proxy 127\.0\.0\.1:1/, fix: /NO_PROXY/ });
  });

  test('18 HTTP 401, 404, a page that is no MCP, an era', async (t) => {
    const status = (code) => startOrigin(t, (_, response) => json(response, code, '{}'), { era: 'none' });
    const headers = { Authorization: `Bearer ${SECRET}` };
    await planted(t, { url: (await status(401)).url }, 'auth', { text: /HTTP 401/, fix: /Authorization: "Bearer \$\{env:TOKEN\}"/ });
    await planted(t, { url: (await status(401)).url, headers }, 'auth', { text: /HTTP 401/, fix: /not accepted/ });
    await planted(t, { url: (await status(404)).url }, 'path', { text: /HTTP 404/, fix: /Mostly it is \/mcp/ });
    await planted(t, { url: (await status(200)).url }, 'http', { text: /not as an MCP server/, fix: /is it an MCP server/ });
    const legacy = await startOrigin(t, (_, response) => json(response, 405, ''), { era: 'legacy' });
    await planted(t, { url: legacy.url, protocolEra: 'modern' }, 'era', { text: /protocolEra is modern/, fix: /protocolEra: auto/ });
  });

  test('19 clocks that differ', async (t) => {
    const late = await startOrigin(
      t,
      (_, response, message) =>
        json(response, 200, answer(message.id, { supportedVersions: ['2026-07-28'], capabilities: {} }), {
          date: new Date(Date.now() + 3_600_000).toUTCString(),
        }),
      { era: 'none' },
    );
    await planted(t, { url: late.url }, 'clock', { status: 'warning', text: /3[56]\d\d s ahead of this machine's/, fix: /set-ntp/ });
  });

  test('23 keys of tokens that cannot be had, are none, or are of another time', async (t) => {
    const issuer = await startIssuer(t, {});
    const withKeys = (url) => examine(t, { auth: { jwt: { issuer: issuer.url, jwks: { url } }, resourceMetadata: { resource: 'http://127.0.0.1/mcp' } } });
    const well = await withKeys(`${issuer.url}/jwks`);
    assert.equal(well.code, 0, well.out);
    assert.ok(well.all.some((one) => one.check === 'keys' && one.subject === 'jwt' && one.status === 'ok'), well.out);
    const elsewhere = (await withKeys(`${issuer.url}/keys`)).find('keys', 'jwt');
    assert.match(elsewhere.text, /gives no keys \(HTTP 404\)/);
    assert.match(elsewhere.fix, /jwks_uri/);
    assert.match((await withKeys('http://127.0.0.1:1/jwks')).find('keys').text, /jwks\.url: cannot connect/);
    issuer.behave = (response) => json(response, 200, '{"keys":[]}', { date: new Date(Date.now() - 600_000).toUTCString() });
    const empty = await withKeys(`${issuer.url}/jwks`);
    assert.match(empty.find('keys', 'jwt').text, /gives no keys \(HTTP 200\)/);
    const late = empty.find('clock', 'jwt');
    assert.equal(late.status, 'warning');
    assert.match(late.text, /the token issuer is (59|60)\d s behind this machine's/);
  });

  test('24 a server of HTTP+SSE alone is known, and its era', async (t) => {
    const [command, ...args] = legacyFixture('--sse', '0');
    const server = await startListener(command, args, { strict: false });
    t.after(() => server.stop());
    const well = await examine(t, { mcpServers: { old: { url: server.url } } });
    assert.equal(well.code, 0, well.out);
    assert.ok(well.all.some((one) => one.check === 'era' && /HTTP\+SSE/.test(one.text)), well.out);
    await planted(t, { url: server.url, protocolEra: 'modern' }, 'era', { text: /protocolEra is modern/, fix: /protocolEra: auto/ });
  });

  test('25 answers that are nested without an end', async (t) => {
    for (const deep of ['50000', '200000']) {
      const sick = { ...faulty('--deep', deep), inheritEnv: ['DOCTOR_E2E_TAG'] };
      const report = await examine(t, { mcpServers: { sick } }, { patience: '2s' });
      assert.equal(report.code, 1);
      assert.match(report.find('start').text, /answered nothing within 2s/);
      assert.match(report.find('stdout').text, /no JSON-RPC on stdout: \{"jsonrpc":"2\.0","id":\[\[/);
    }
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'package.json'), `{"name":"deep","engines":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
    copyFileSync(FIXTURE, join(folder, 'server.mjs'));
    const well = await examine(t, { mcpServers: { well: { command: process.execPath, args: [join(folder, 'server.mjs')], inheritEnv: ['DOCTOR_E2E_TAG'] } } });
    assert.equal(well.code, 0, well.out);
  });

  test('26 a server, or another one in its place, repeats a secret', async (t) => {
    const env = { SECRET_TOKEN: SECRET };
    for (const era of [[], ['--modern']]) {
      const named = await examine(t, { mcpServers: { sick: { ...faulty(...era, '--telltale'), env, inheritEnv: ['DOCTOR_E2E_TAG'] } } });
      assert.match(named.all.find((one) => one.check === 'era').text, /, faulty \*\*\* 1$/);
    }
    await planted(t, { ...faulty('--modern', '--refuses'), env }, 'cancel', { status: 'skipped', text: /work was refused before it could be cancelled: no \*\*\*/, fix: /^$/, args: ['--try-cancel', 'work'] });
    const away = await startOrigin(t, (_, response) => json(response, 302, '', { location: `https://elsewhere.test/?token=${SECRET}` }), { era: 'none' });
    await planted(t, { url: away.url, headers: { Authorization: `Bearer ${SECRET}` } }, 'path', { text: /HTTP 302 to https:\/\/elsewhere\.test\/\?token=\*\*\*/, fix: /as url/ });
  });

  test('27 a server that closes its stdout and goes on', async (t) => {
    const begun = Date.now();
    await planted(t, faulty('--closes'), 'start', { text: /^it closed its stdout/, fix: /in a shell/ });
    assert.ok(Date.now() - begun < 12_000, 'nobody waits for what cannot come');
  });

  test('28 --try-cancel of a tool that is not there', async (t) => {
    const args = ['--try-cancel', 'wrk'];
    await planted(t, faulty('--modern'), 'cancel', { text: /it has no tool 'wrk'/, fix: /^--try-cancel work$/, args });
    const two = await examine(t, { mcpServers: { a: faulty('--modern'), b: faulty('--modern') } }, { args });
    assert.equal(two.code, 0, two.out);
    assert.equal(two.all.filter((one) => one.check === 'cancel' && one.status === 'skipped').length, 2);
  });

  test('29 clientCredentials: a token that is issued and accepted, one that is not issued, one that is not accepted', async (t) => {
    const origin = await startOrigin(t, (request, response, message) => {
      const own = (path) => new URL(path, origin.url).href;
      const metadata = own('/.well-known/oauth-protected-resource/mcp');
      if (request.url === '/.well-known/oauth-protected-resource/mcp')
        return json(response, 200, JSON.stringify({ resource: origin.url, authorization_servers: [own('/').slice(0, -1)] }));
      if (request.url === '/.well-known/oauth-authorization-server')
        return json(response, 200, JSON.stringify({ issuer: own('/').slice(0, -1), token_endpoint: own('/token') }));
      if (request.url === '/token') {
        const [, secret] = Buffer.from(request.headers.authorization.slice('Basic '.length), 'base64').toString().split(':');
        if (secret === SECRET) return json(response, 200, JSON.stringify({ access_token: `${SECRET}-token`, token_type: 'Bearer' }));
        return json(response, 401, JSON.stringify({ error: 'invalid_client', error_description: secret }));
      }
      if (request.headers.authorization !== `Bearer ${SECRET}-token` || origin.refuses)
        return json(response, 401, '{}', { 'www-authenticate': `Bearer resource_metadata="${metadata}"` });
      return json(response, 200, answer(message.id, { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: {} }));
    }, { era: 'none' });
    const credentials = (clientSecret) => ({ clientId: 'me', clientSecret, issuer: new URL(origin.url).origin });
    const well = await examine(t, { mcpServers: { o: { url: origin.url, clientCredentials: credentials(SECRET) } } });
    assert.equal(well.code, 0, well.out);
    assert.ok(well.all.some((one) => one.check === 'auth' && one.status === 'ok' && /access token/.test(one.text)), well.out);
    assert.ok(well.all.some((one) => one.check === 'era' && one.text === 'modern'), well.out);
    await planted(t, { url: origin.url, clientCredentials: credentials(`${SECRET}-of-another`) }, 'auth', {
      text: /^its authorization server gives no access token: http:\/\/127\.0\.0\.1:\d+\/token .*invalid_client/,
      fix: /clientId, clientSecret/,
    });
    const gone = { ...credentials(SECRET), tokenUrl: 'http://127.0.0.1:1/token' };
    await planted(t, { url: origin.url, clientCredentials: gone }, 'auth', { text: /gives no access token: http:\/\/127\.0\.0\.1:1\/token /, fix: /give tokens/ });
    origin.refuses = true;
    await planted(t, { url: origin.url, clientCredentials: credentials(SECRET) }, 'auth', { text: /HTTP 401 to the access token/, fix: /resource/ });
  });

  test('20 a second gateway, and a port that another process has', { skip: NOT_PLAIN }, async (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'lineward'), { mode: 0o700 });
    const gateway = await startGatewayFrom(t, { ops: 'off', mcpServers: {} }, { env: { XDG_RUNTIME_DIR: folder } });
    const { host } = new URL(gateway.url);
    const second = await examine(t, { listen: { address: host }, mcpServers: {} }, { env: { XDG_RUNTIME_DIR: folder } });
    const found = second.find('listen', 'machine');
    assert.match(found.text, new RegExp(`another Lineward \\(pid ${gateway.pid}\\) listens on ${host}`));
    assert.match(found.fix, /lineward reload/);
    assert.equal(second.code, 1);
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    t.after(() => other.close());
    const taken = await examine(t, { listen: { address: `127.0.0.1:${other.address().port}` }, mcpServers: {} });
    assert.match(taken.find('listen').text, new RegExp(`is in use by pid ${process.pid} \\(`));
    assert.match(taken.find('listen').fix, /choose another listen\.address/);
  });

  test('30 Unix sockets that are in use, and what stands at their paths', async (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'front.sock');
    const env = { XDG_RUNTIME_DIR: folder };
    mkdirSync(join(folder, 'lineward'), { mode: 0o700 });
    const gateway = spawn(binary(), ['run', '--listen', `unix:${path}`, '--ops', 'off', '--', ...legacyFixture()], {
      env: { ...process.env, ...env },
      stdio: 'ignore',
    });
    const ended = once(gateway, 'exit');
    t.after(() => gateway.kill('SIGTERM') && ended);
    await eventually(() => [path, join(folder, 'lineward', `${gateway.pid}.sock`)].every(existsSync), 'the sockets of a gateway');
    const second = await examine(t, { listen: { address: `unix:${path}` }, mcpServers: {} }, { env });
    assert.match(second.find('listen', 'machine').text, new RegExp(`another Lineward \\(pid ${gateway.pid}\\) listens on unix:${path} already`));
    assert.equal(second.code, 1);
    const other = createServer().listen(join(folder, 'other.sock'));
    await once(other, 'listening');
    t.after(() => other.close());
    const taken = await examine(t, { admin: { address: `unix:${folder}/other.sock` }, mcpServers: {} });
    assert.match(taken.find('admin').text, new RegExp(`other\\.sock is in use by pid ${process.pid} \\(`));
    assert.match(taken.find('admin').fix, /choose another admin\.address/);
    writeFileSync(join(folder, 'file.sock'), '');
    const file = await examine(t, { ops: { address: `unix:${folder}/file.sock` }, mcpServers: {} });
    assert.match(file.find('ops').text, /file\.sock is there, and no socket/);
    const free = await examine(t, { admin: { address: `unix:${folder}/free.sock` }, mcpServers: {} });
    assert.ok(free.ok, free.out);
    assert.ok(free.all.some((one) => one.check === 'admin' && /free\.sock is free/.test(one.text)), free.out);
  });

  test('31 one address for two', async (t) => {
    const twice = await examine(t, { listen: { address: '127.0.0.1:18999' }, ops: { address: '127.0.0.1:18999' }, mcpServers: {} });
    assert.equal(twice.code, 1);
    assert.match(twice.find('config').text, /ops\.address 127\.0\.0\.1:18999 is listen\.address too/);
  });

  test('21 too few descriptors', async (t) => {
    const path = join(temporaryFolder(t), 'c.json');
    writeFileSync(path, '{"mcpServers":{}}');
    const inner = script(t, 'few', `#!/bin/sh\nulimit -n 256\nexec '${binary()}' "$@"\n`);
    const { out } = await lineward(['doctor', '--format', 'json', path], {}, inner);
    const found = JSON.parse(out).checks.find((one) => one.check === 'descriptors');
    assert.equal(found.status, 'warning');
    assert.match(found.text, /^256 may be open/);
    assert.match(found.fix, /LimitNOFILE=\d+/);
  });

  test('22 errors of the configuration with their places; a variable that is not set', async (t) => {
    const bad = await examine(t, '{\n  "mcpServers": {\n    "a": { "command": "x", "env": { "T": "${env:NOT_SET_HERE}" },\n      "timeouts": { "request": 60 } } }\n}');
    assert.equal(bad.code, 1);
    const found = bad.all.filter((one) => one.check === 'config');
    assert.match(found.map((one) => one.text).join('\n'), /NOT_SET_HERE/);
    assert.ok(found.some((one) => /no unit/.test(one.text) && /lineward\.json:4:\d+$/.test(one.where) && /60s/.test(one.fix)), bad.out);
  });
});

describe('lineward doctor', { skip: DIRECT }, () => {
  test('published servers are well, in text for people', async (t) => {
    const { code, out, err } = await lineward(['doctor', '--', ...everything()], { XDG_RUNTIME_DIR: temporaryFolder(t) });
    assert.equal(code, 0, out + err);
    assert.match(out, /✓ era +legacy "2025-11-25", mcp-servers\/everything/);
    assert.match(out, /✓ tools +\d\d/);
    assert.match(out, /✓ end +it ended/);
    assert.doesNotMatch(out, /\x1b/);
    const two = await examine(t, { mcpServers: { memory: { command: memory()[0], args: memory().slice(1) }, off: { command: 'x', disabled: true } } });
    assert.ok(two.ok, two.out);
  });

  test('a server that writes without an end, on stderr or stdout, does not hold up doctor', async (t) => {
    const silent = { text: /answered nothing within 2s/, fix: /--patience/, patience: '2s' };
    for (const [to, found] of [
      ['>&2', { text: /^it flooded its stderr \(more than 8 MiB a second\); its last words: a line/, fix: /in a shell/ }],
      ['>&1', silent],
    ]) {
      const noisy = script(t, 'noisy', `#!/bin/sh\nyes 'a line that is no JSON' ${to}  # the shell keeps its stdout\n`);
      const begun = Date.now();
      await planted(t, { command: noisy }, 'start', found);
      assert.ok(Date.now() - begun < 40_000, `${Date.now() - begun} ms`);
    }
  });

  test('a message over limits.maxMessageBytes ends the server, as in a gateway', async (t) => {
    const args = ['-e', "process.stdin.once('data', () => console.log('x'.repeat(1e6)))"];
    await planted(t, { command: process.execPath, args, limits: { maxMessageBytes: '64KiB' } }, 'start', {
      text: /^it sent a message over limits\.maxMessageBytes \(65536 bytes\)/,
      fix: /run its command in a shell/,
    });
  });

  test('what does not fit together', async () => {
    for (const [args, said] of [
      [['doctor', '--patience', '5'], /--patience: /],
      [['doctor', '--try-cancel', 'x {a}', '--', 'x'], /--try-cancel: write TOOL/],
      [['doctor', 'a', '--config', 'b'], /named twice/],
      [['doctor', '-H', 'a: b', '--', 'x'], /-H belongs to --url/],
    ]) {
      const { code, err } = await lineward(args);
      assert.equal(code, 2, err);
      assert.match(err, said);
    }
  });
});
