#!/usr/bin/env node
// sbom.mjs ARCH BINARY: CycloneDX JSON of what is in a static binary (conf/scripts/static.sh), on stdout. ARCH is amd64 or arm64. The
// same binary gives the same bytes: the time is SOURCE_DATE_EPOCH, the serial number comes from the contents.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execFileSync } from 'node:child_process';

const top = fileURLToPath(new URL('../..', import.meta.url));
const [arch, binary] = process.argv.slice(2);
const deps = join(top, 'build/static-deps', arch);
const version = execFileSync(join(top, 'conf/scripts/version.sh'), { encoding: 'utf8' }).trim();

// The names that Debian's copyright file has for the licences of a package (DEP 5), in their order; none where it is no such file.
function licences(name) {
  const file = ['root', 'libc'].map((root) => join(deps, root, 'usr/share/doc', name, 'copyright')).find(existsSync);
  if (!file) return [];
  const found = [...readFileSync(file, 'utf8').matchAll(/^License:[ \t]*(\S.*)$/gm)].map((match) => match[1].trim());
  return [...new Set(found)].map((one) => ({ license: { name: one } }));
}

const components = readFileSync(join(deps, 'packages.tsv'), 'utf8').trim().split('\n')
  .map((line) => line.split('\t'))
  .map(([name, packaged, source]) => {
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(packaged)}?arch=${arch}&distro=debian-12&upstream=${encodeURIComponent(source)}`;
    const found = licences(name);
    return { type: 'library', 'bom-ref': purl, name, version: packaged, ...(found.length > 0 && { licenses: found }), purl };
  });
const main = {
  type: 'application', 'bom-ref': 'lineward', name: 'lineward', version, licenses: [{ license: { id: 'Apache-2.0' } }],
  hashes: [{ alg: 'SHA-256', content: createHash('sha256').update(readFileSync(binary)).digest('hex') }],
};
const digest = createHash('sha256').update(JSON.stringify([main, components])).digest('hex');
const epoch = Number(process.env.SOURCE_DATE_EPOCH ?? 0);
process.stdout.write(`${JSON.stringify({
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  serialNumber: `urn:uuid:${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`,
  version: 1,
  metadata: { timestamp: new Date(epoch * 1000).toISOString(), component: main },
  components,
  dependencies: [{ ref: 'lineward', dependsOn: components.map((one) => one['bom-ref']) }, ...components.map((one) => ({ ref: one['bom-ref'] }))],
}, null, 2)}\n`);
