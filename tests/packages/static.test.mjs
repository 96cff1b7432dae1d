// The static binary in folders that hold nothing but what each test puts there: names, authorities, what a machine's own C library
// would load, plugins. Run by static.sh.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';

const binary = process.env.LINEWARD_ARTEFACT;
const dns = '127.123.0.53';  // a loopback address of its own
const run = promisify(execFile);

// A world with the binary at its root and these files.
function world(t, files = {}) {
  const root = mkdtempSync(join(tmpdir(), 'lineward-world-'));
  t.after(() => {
    if (existsSync(join(root, 'proc/self'))) execFileSync('umount', ['-l', join(root, 'proc')]);
    rmSync(root, { recursive: true, force: true });
  });
  copyFileSync(binary, join(root, 'lineward'));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}
// The output and the exit code of the binary in that world.
async function inside(root, args, env = {}) {
  try {
    const done = await run('/usr/sbin/chroot', [root, '/lineward', ...args], { env, timeout: 60_000 });
    return { code: 0, out: done.stdout, err: done.stderr };
  } catch (error) {
    return { code: error.code, signal: error.signal, out: error.stdout, err: error.stderr };
  }
}
// A server that speaks a little MCP: it counts clients.
async function origin(t, secure) {
  const seen = [];
  const answer = (request, response) => {
    let body = '';
    request.on('data', (chunk) => { body += chunk; });
    request.on('end', () => {
      seen.push(request.headers.host);
      const call = body ? JSON.parse(body) : {};
      const result = call.method === 'tools/list' ? { tools: [{ name: 'far', inputSchema: { type: 'object' } }], resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
        : { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: { name: 'origin', version: '1' }, resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: call.id, result }));
    });
  };
  const server = secure ? https.createServer(secure, answer) : http.createServer(answer);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => { server.closeAllConnections(); server.close(); });
  return { seen, port: server.address().port };
}
// A name server with one name, which it has the address 127.0.0.1 for.
async function name_server(t, name) {
  const socket = createSocket('udp4');
  const asked = [];
  socket.on('message', (query, from) => {
    const labels = [];
    let at = 12;
    for (; query[at] !== 0; at += query[at] + 1) labels.push(query.toString('latin1', at + 1, at + 1 + query[at]));
    const question = query.subarray(12, at + 5);
    const type = query.readUInt16BE(at + 1);
    asked.push(labels.join('.'));
    const known = labels.join('.') === name;
    const found = known && type === 1;
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(known ? 0x8180 : 0x8183, 2);
    head.writeUInt16BE(found ? 1 : 0, 6);
    head.fill(0, 8, 12);
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
    socket.send(Buffer.concat([head, question, ...(found ? [record] : [])]), from.port, from.address);
  });
  await new Promise((resolve) => socket.bind(53, dns, resolve));
  t.after(() => socket.close());
  return asked;
}
// Authorities of the test's own, and what a server with the name needs.
function authority(t, name) {
  const folder = mkdtempSync(join(tmpdir(), 'lineward-ca-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const openssl = (...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=test', '-days', '2');
  openssl('req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'key', '-out', 'request', '-subj', `/CN=${name}`);
  writeFileSync(join(folder, 'names'), `subjectAltName=DNS:${name}\n`);
  openssl('x509', '-req', '-in', 'request', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-out', 'cert', '-days', '2', '-extfile', 'names');
  const read = (file) => readFileSync(join(folder, file), 'utf8');
  return { ca: read('ca.pem'), server: { key: read('key'), cert: read('cert') } };
}

test('it runs where nothing else is, and needs no loader', async (t) => {
  const version = await inside(world(t), ['--version']);
  assert.equal(version.code, 0, version.err);
  assert.match(version.out, /\d+\.\d+\.\d+/);
  const headers = execFileSync('readelf', ['-ld', binary], { encoding: 'utf8' });
  assert.doesNotMatch(headers, /INTERP|NEEDED/);
  assert.match(headers, /DYN/);  // its addresses are random
  assert.match(execFileSync('readelf', ['-n', binary], { encoding: 'utf8' }), /Build ID: [0-9a-f]{40}/);
  assert.match(execFileSync('readelf', ['-S', binary], { encoding: 'utf8' }), /gnu_debuglink/);
});

test('a name of /etc/hosts', async (t) => {
  const one = await origin(t);
  const root = world(t, { '/etc/hosts': '127.0.0.1 origin.test\n' });
  const done = await inside(root, ['tools', `http://origin.test:${one.port}/mcp`]);
  assert.match(done.out, /far/, done.err);
  assert.ok(one.seen.includes(`origin.test:${one.port}`));
});

test('names of resolv.conf, with search domains, whatever nsswitch.conf wants to be loaded', { skip: process.arch !== 'x64' }, async (t) => {
  const one = await origin(t);
  const asked = await name_server(t, 'origin.search.example');
  // A library that is loaded ends the process with 99.
  const folder = mkdtempSync(join(tmpdir(), 'lineward-nss-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'trap.c'), '__attribute__((constructor)) void trap(void) { __asm__ volatile("syscall" : : "a"(231), "D"(99)); }\n');
  execFileSync('gcc', ['-shared', '-fPIC', '-nostdlib', '-o', join(folder, 'trap.so'), join(folder, 'trap.c')]);
  const trap = readFileSync(join(folder, 'trap.so'));
  const traps = Object.fromEntries(['mymachines', 'resolve', 'myhostname', 'files', 'dns'].flatMap((name) =>
    ['/lib', '/lib/x86_64-linux-gnu', '/usr/lib/x86_64-linux-gnu', '/lib64', '/usr/lib64'].map((lib) => [`${lib}/libnss_${name}.so.2`, trap])));
  for (const resolver of ['nameserver 127.123.0.53\nsearch nowhere.example search.example\n']) {
    const root = world(t, { ...traps, '/etc/nsswitch.conf': 'hosts: mymachines resolve [!UNAVAIL=return] files myhostname dns\n', '/etc/resolv.conf': resolver });
    const done = await inside(root, ['tools', `http://origin:${one.port}/mcp`]);
    assert.match(done.out, /far/, JSON.stringify(done));
    assert.deepEqual([...new Set(asked)], ['origin.nowhere.example', 'origin.search.example']);
  }
  const nobody = await inside(world(t, { ...traps, '/etc/nsswitch.conf': 'hosts: resolve\n', '/etc/resolv.conf': 'nameserver 127.123.0.53\n' }), ['tools', 'http://nobody.example:1/mcp']);
  assert.notEqual(nobody.code, 99);
  assert.match(nobody.err, /nobody\.example/);
});

test('the authorities of each distribution, and of SSL_CERT_FILE and SSL_CERT_DIR', async (t) => {
  const { ca, server } = authority(t, 'secure.test');
  const one = await origin(t, server);
  const hosts = { '/etc/hosts': '127.0.0.1 secure.test\n' };
  const url = `https://secure.test:${one.port}/mcp`;
  const nobody = await inside(world(t, hosts), ['tools', url]);
  assert.notEqual(nobody.code, 0);
  assert.match(nobody.err, /certificate/i);
  assert.equal(one.seen.length, 0);
  for (const path of ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem']) {
    const done = await inside(world(t, { ...hosts, [path]: ca }), ['tools', url]);
    assert.match(done.out, /far/, `${path}: ${done.err}`);
  }
  const named = await inside(world(t, { ...hosts, '/my.pem': ca }), ['tools', url], { SSL_CERT_FILE: '/my.pem' });
  assert.match(named.out, /far/, named.err);
  const other = await inside(world(t, { ...hosts, '/etc/ssl/cert.pem': ca, '/other.pem': authority(t, 'x').ca }), ['tools', url], { SSL_CERT_FILE: '/other.pem' });
  assert.notEqual(other.code, 0, 'what SSL_CERT_FILE names is all that is trusted');
});

test('a plugin that is a shared object is refused when the configuration is read, with the reason', async (t) => {
  const root = world(t, { '/plugin.so': 'x', '/lineward.yaml': 'plugins:\n  - path: /plugin.so\nmcpServers:\n  a: { url: "http://127.0.0.1:1/mcp" }\n' });
  const done = await inside(root, ['run', '--listen', '127.0.0.1:0', '--ops', 'off', '/lineward.yaml']);
  assert.equal(done.code, 78, JSON.stringify(done));
  assert.match(done.err + done.out, /static binary.*no shared objects/s);
});

test('a stdio server, here the binary itself, in front of another server', async (t) => {
  const one = await origin(t);
  const root = world(t);
  mkdirSync(join(root, 'proc'));
  execFileSync('mount', ['-t', 'proc', 'proc', join(root, 'proc')]);
  const gateway = spawn('/usr/sbin/chroot', [root, '/lineward', 'run', '--listen', '127.0.0.1:0', '--ops', 'off', '--admin', 'off', '--', '/lineward', 'stdio', `http://127.0.0.1:${one.port}/mcp`], { stdio: ['ignore', 'ignore', 'pipe'] });
  const over = new Promise((resolve) => gateway.once('exit', (code, signal) => resolve({ code, signal })));
  t.after(async () => {
    gateway.kill('SIGKILL');
    await over;
  });
  let said = '';
  const url = await new Promise((resolve, reject) => {
    gateway.stderr.on('data', (chunk) => {
      const found = (said += chunk).match(/http:\/\/127\.0\.0\.1:\d+\/mcp/);
      if (found) resolve(found[0]);
    });
    over.then((how) => reject(new Error(`${JSON.stringify(how)} ${said}`)));
  });
  const done = await inside(root, ['tools', url]);
  assert.match(done.out, /far/, done.err + said);
  gateway.kill('SIGTERM');
  assert.deepEqual(await over, { code: 0, signal: null }, said);
});
