// Runs the cases with node's own test runner.
//
//   ./node.sh run.mjs [--direct] [--name PATTERN] [FILE…]
//
// FILE is part of a case's file name. --direct leaves Lineward out, to check the tests themselves.
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { binary } from './lib/binary.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { direct: { type: 'boolean', default: false }, name: { type: 'string' } },
});

const cases = fileURLToPath(new URL('./cases/', import.meta.url));
const files = readdirSync(cases)
  .filter((file) => file.endsWith('.test.mjs'))
  .filter((file) => !positionals.length || positionals.some((part) => file.includes(part)))
  .map((file) => cases + file);

if (!files.length) {
  console.error(`no case has ${positionals.join(' or ')} in its name`);
  process.exit(1);
}
if (!options.direct) {
  try {
    binary();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

const args = ['--test', '--test-concurrency=2', '--test-reporter=spec'];
if (options.name) args.push(`--test-name-pattern=${options.name}`);
const tests = spawn(process.execPath, [...args, ...files], {
  stdio: 'inherit',
  env: { ...process.env, LINEWARD_E2E_DIRECT: options.direct ? '1' : '0' },
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => tests.kill(signal));
tests.on('exit', (code) => (process.exitCode = code ?? 1));
