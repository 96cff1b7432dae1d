// The OCI layout of conf/scripts/image.mjs: every digest is right, and umoci unpacks it. The result runs by its settings: in
// namespaces of its own as process 1, unprivileged, with a read-only root. Run by image.sh.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';

const arch = process.arch === 'x64' ? 'amd64' : 'arm64';
const work = mkdtempSync(join(tmpdir(), 'lineward-image-'));
const layout = join(work, 'layout');
execFileSync('sh', ['-c', `mkdir "$1" && tar -xf "$2" -C "$1"`, 'sh', layout, process.env.LINEWARD_ARTEFACT]);
process.on('exit', () => rmSync(work, { recursive: true, force: true }));

const free_port = () => new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});
const bytes = (digest) => readFileSync(join(layout, 'blobs', digest.replace(':', '/')));
const json = (digest) => JSON.parse(bytes(digest));
const index = JSON.parse(readFileSync(join(layout, 'index.json')));
const of_arch = (name) => json(index.manifests.find((one) => one.annotations['org.opencontainers.image.ref.name'].endsWith(`-${name}`)).digest);
const config = json(of_arch(arch).config.digest);

test('every blob is what its name says, of the size that it is named with, and none is left over', () => {
  const reached = new Set();
  const visit = ({ digest, size }) => {
    const blob = bytes(digest);
    assert.equal(`sha256:${createHash('sha256').update(blob).digest('hex')}`, digest);
    assert.equal(blob.length, size);
    reached.add(digest.slice(7));
    return blob;
  };
  for (const one of index.manifests) {
    const document = JSON.parse(visit(one));
    for (const manifest of document.manifests?.map((inner) => JSON.parse(visit(inner))) ?? [document]) {
      const image = JSON.parse(visit(manifest.config));
      manifest.layers.forEach((layer, i) => {
        assert.equal(`sha256:${createHash('sha256').update(gunzipSync(visit(layer))).digest('hex')}`, image.rootfs.diff_ids[i]);
      });
    }
  }
  assert.deepEqual([...reached].sort(), readdirSync(join(layout, 'blobs/sha256')).sort());
});

test('the settings are those of the Dockerfile', () => {
  assert.equal(config.config.User, '65532:65532');
  assert.deepEqual(config.config.Entrypoint, ['/lineward']);
  assert.deepEqual(config.config.Cmd, ['run']);
  assert.deepEqual(config.config.Healthcheck.Test, ['CMD', '/lineward', 'healthcheck']);
  assert.ok(config.config.Env.includes('LINEWARD_LISTEN_ADDRESS=0.0.0.0:8000'));
  assert.equal(config.config.StopSignal, 'SIGTERM');
});

test('the container runs: ready, healthy, orphans waited for, SIGTERM ends it with 0', { timeout: 120_000 }, async (t) => {
  const bundle = join(work, 'bundle');
  const version = config.config.Labels['org.opencontainers.image.version'];
  execFileSync('umoci', ['unpack', '--image', `${layout}:${version}-${arch}`, bundle], { stdio: 'inherit' });
  const root = join(bundle, 'rootfs');
  assert.equal(statSync(join(root, 'lineward')).mode & 0o7777, 0o755);
  assert.ok(existsSync(join(root, 'etc/ssl/certs/ca-certificates.crt')));

  // As an engine would: process 1 of a namespace, the root read-only but for /proc, the image's user and environment, no capability.
  mkdirSync(join(root, 'proc'));  // an engine makes it
  const ops = `127.0.0.1:${await free_port()}`;
  const env = { ...Object.fromEntries(config.config.Env.map((one) => one.split(/=(.*)/s))), LINEWARD_LISTEN_ADDRESS: '127.0.0.1:0', LINEWARD_OPS_ADDRESS: ops };
  const become = '/usr/bin/mount --bind "$0" "$0" && /usr/bin/mount -o remount,bind,ro "$0" && /usr/bin/mount -t proc proc "$0/proc" && exec /usr/sbin/chroot --userspec=65532:65532 --groups= "$0" "$@"';
  const container = spawn('/usr/bin/unshare', ['--mount', '--pid', '--fork', '--kill-child=SIGKILL', '/usr/bin/setpriv', '--no-new-privs', '/bin/sh', '-c', become, root,
    ...config.config.Entrypoint, ...config.config.Cmd], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [container.stdout, container.stderr]) stream.on('data', (chunk) => { said += chunk; });
  const over = new Promise((resolve) => container.once('exit', (code, signal) => resolve({ code, signal })));
  t.after(async () => { container.kill('SIGKILL'); await over; });
  await Promise.race([over.then((how) => assert.fail(`${JSON.stringify(how)} ${said}`)), new Promise((resolve) => container.stderr.on('data', () => /"listen"/.test(said) && resolve()))]);

  const children = (pid) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  const [first] = children(container.pid);
  assert.match(readFileSync(`/proc/${first}/status`, 'utf8'), /^NSpid:\s+\d+\s+1$/m);
  assert.match(readFileSync(`/proc/${first}/status`, 'utf8'), /^Uid:\s+65532\s/m);
  assert.match(readFileSync(`/proc/${first}/status`, 'utf8'), /^CapEff:\s+0+$/m);

  const inside = (...command) => spawnSync('/usr/bin/nsenter', ['--mount', '--pid', '--target', first, '/usr/sbin/chroot', '--userspec=65532:65532', root, ...command], { env, encoding: 'utf8' });
  const healthy = inside(...config.config.Healthcheck.Test.slice(1));
  assert.equal(healthy.status, 0, healthy.stderr + said);

  // An orphaned child becomes process 1's, and must not stay as a zombie.
  const orphan = spawnSync('/usr/bin/nsenter', ['--pid', '--target', first, '/bin/sh', '-c', '(/bin/sh -c "echo \\$\\$; exec /bin/sleep 0.2" &) '], { encoding: 'utf8' });
  assert.match(orphan.stdout, /^\d+$/m, orphan.stderr);
  const zombies = () => children(first).filter((pid) => /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')));
  const adopted = () => children(first).length;
  for (const until = Date.now() + 10_000; adopted() !== 1; await pause(20)) assert.ok(Date.now() < until, `children of process 1: ${children(first)}, zombies: ${zombies()}`);

  process.kill(Number(first), 'SIGTERM');
  assert.deepEqual(await over, { code: 0, signal: null }, said);
});
