// Certificates made for one test by the openssl program.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './events.mjs';

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** An authority: {caFile, ca, certificate(name, {days})}; a certificate has its files, and tls for node's servers. */
export function authority(t) {
  const folder = temporaryFolder(t);
  const at = (file) => join(folder, file);
  const openssl = (...args) => execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: folder });
  openssl('req', '-x509', ...KEY, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=lineward test ca');
  let made = 0;
  function certificate(name, { days = 2 } = {}) {
    const file = `c${++made}`;
    const san = /^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`;
    openssl('req', ...KEY, '-keyout', `${file}.key`, '-out', `${file}.csr`, '-subj', `/CN=${name}`);
    writeFileSync(at(`${file}.ext`), `subjectAltName=${san}\n`);
    const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', `${file}.ext`];
    openssl('x509', '-req', '-in', `${file}.csr`, ...signing, '-out', `${file}.pem`, '-days', String(days));
    const [certFile, keyFile] = [at(`${file}.pem`), at(`${file}.key`)];
    return { certFile, keyFile, tls: { cert: readFileSync(certFile), key: readFileSync(keyFile) } };
  }
  return { caFile: at('ca.pem'), ca: readFileSync(at('ca.pem')), certificate };
}
