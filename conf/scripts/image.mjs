#!/usr/bin/env node
// image.mjs DIR ARCH=BINARY…: the image of conf/containers/static.Dockerfile as an OCI layout in DIR, without an engine; one manifest for
// each ARCH (amd64, arm64), whose static binary is BINARY with its NOTICE beside it. The settings are those of the Dockerfile's last
// stage. All bytes depend on the files alone: times are SOURCE_DATE_EPOCH.
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const top = fileURLToPath(new URL('../..', import.meta.url));
const [out, ...binaries] = process.argv.slice(2);
const epoch = Number(process.env.SOURCE_DATE_EPOCH ?? 0);
const created = new Date(epoch * 1000).toISOString();
const version = execFileSync(join(top, 'conf/scripts/version.sh'), { encoding: 'utf8' }).trim();
const authorities = '/etc/ssl/certs/ca-certificates.crt';

function fail(text) {
  process.stderr.write(`image.mjs: ${text}\n`);
  process.exit(2);
}

// The settings of a Dockerfile's last stage, as an image's configuration has them.
function settings(file) {
  const text = readFileSync(file, 'utf8').replace(/^#.*\n/gm, '').replace(/\\\n\s*/g, ' ');
  const lines = text.slice(text.lastIndexOf('\nFROM ') + 1).split('\n').filter(Boolean);
  const pairs = (rest) => [...rest.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)].map(([, name, quoted, plain]) => [name, quoted ?? plain]);
  const nanoseconds = (word) => Number(word.match(/^(\d+)s$/)[1]) * 1e9;
  const config = { Env: ['PATH=/'], Labels: {}, ExposedPorts: {} };
  for (const line of lines) {
    const [, word, rest] = line.match(/^(\w+)\s+(.*)$/);
    if (word === 'ENV') config.Env.push(...pairs(rest).map((pair) => pair.join('=')));
    else if (word === 'LABEL') Object.assign(config.Labels, Object.fromEntries(pairs(rest)));
    else if (word === 'USER') config.User = rest;
    else if (word === 'EXPOSE') for (const port of rest.split(' ')) config.ExposedPorts[`${port}/tcp`] = {};
    else if (word === 'STOPSIGNAL') config.StopSignal = rest;
    else if (word === 'ENTRYPOINT') config.Entrypoint = JSON.parse(rest);
    else if (word === 'CMD') config.Cmd = JSON.parse(rest);
    else if (word === 'HEALTHCHECK') {
      const [, flags, command] = rest.match(/^(.*?)\s*CMD\s+(.*)$/);
      const given = Object.fromEntries([...flags.matchAll(/--([\w-]+)=(\S+)/g)].map(([, name, value]) => [name, nanoseconds(value)]));
      config.Healthcheck = { Test: ['CMD', ...JSON.parse(command)], Interval: given.interval, Timeout: given.timeout, StartPeriod: given['start-period'] };
    } else if (!['FROM', 'ARG', 'COPY'].includes(word)) fail(`${file}: ${word} is not understood here`);
  }
  Object.assign(config.Labels, { 'org.opencontainers.image.version': version, 'org.opencontainers.image.created': created });
  return config;
}

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, 'blobs/sha256'), { recursive: true });

function blob(mediaType, bytes) {
  const digest = createHash('sha256').update(bytes).digest('hex');
  writeFileSync(join(out, 'blobs/sha256', digest), bytes);
  return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
}
const json = (mediaType, object) => blob(mediaType, Buffer.from(JSON.stringify(object)));

// The files of the Dockerfile's COPY lines, and the licences.
function layer(binary) {
  const root = mkdtempSync(join(tmpdir(), 'lineward-image-'));
  try {
    cpSync(join(top, 'conf/containers/root'), root, { recursive: true });
    for (const folder of ['etc/ssl/certs', 'usr/share/doc/lineward', 'tmp']) mkdirSync(join(root, folder), { recursive: true });
    copyFileSync(authorities, join(root, authorities));
    copyFileSync(binary, join(root, 'lineward'));
    copyFileSync(join(top, 'LICENSE'), join(root, 'usr/share/doc/lineward/LICENSE'));
    copyFileSync(join(dirname(binary), 'NOTICE'), join(root, 'usr/share/doc/lineward/NOTICE'));
    execFileSync('chmod', ['-R', 'u=rwX,go=rX', root]);
    chmodSync(join(root, 'lineward'), 0o755);
    chmodSync(join(root, 'tmp'), 0o1777);
    return execFileSync('tar', ['--create', '--sort=name', `--mtime=@${epoch}`, '--owner=0', '--group=0', '--numeric-owner', '--format=gnu', '-C', root, '.'],
      { maxBuffer: 1 << 30 });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

if (binaries.length === 0) fail('name at least one ARCH=BINARY');
const config = settings(join(top, 'conf/containers/static.Dockerfile'));
const manifests = binaries.map((one) => {
  const [, architecture, binary] = one.match(/^(amd64|arm64)=(.+)$/) ?? fail(`'${one}' is not amd64=FILE or arm64=FILE`);
  const tar = layer(binary);
  const diff = `sha256:${createHash('sha256').update(tar).digest('hex')}`;
  const layers = [blob('application/vnd.oci.image.layer.v1.tar+gzip', gzipSync(tar, { level: 9 }))];
  const image = json('application/vnd.oci.image.config.v1+json', {
    created, architecture, os: 'linux', config, rootfs: { type: 'layers', diff_ids: [diff] },
    history: [{ created, created_by: 'conf/scripts/image.mjs' }],
  });
  const manifest = json('application/vnd.oci.image.manifest.v1+json', {
    schemaVersion: 2, mediaType: 'application/vnd.oci.image.manifest.v1+json', config: image, layers,
  });
  return { ...manifest, platform: { os: 'linux', architecture } };
});
const index = json('application/vnd.oci.image.index.v1+json', { schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests });
// A name for all processors, and one for each for tools that take no index.
const named = (descriptor, name) => ({ ...descriptor, annotations: { 'org.opencontainers.image.ref.name': name } });
writeFileSync(join(out, 'index.json'), JSON.stringify({
  schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json',
  manifests: [named(index, version), ...manifests.map((one) => named(one, `${version}-${one.platform.architecture}`))],
}));
writeFileSync(join(out, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
