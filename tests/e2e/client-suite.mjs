// The official suite's client scenarios with Lineward as the client under test, driven by client-suite/driver.mjs.
//
//   ./node.sh client-suite.mjs [SCENARIO[@REVISION]]…
//
// Exits with 1 when a scenario fails.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { conformanceSuite } from './lib/servers.mjs';

const DRIVER = fileURLToPath(new URL('./client-suite/driver.mjs', import.meta.url));
const LIMIT_MS = 60_000;
const AT_ONCE = 2;

const SCENARIOS = [
  'initialize@2025-11-25',
  'tools_call@2025-11-25',
  'tools_call@2026-07-28',
  'sse-retry@2025-11-25',
  'elicitation-sep1034-client-defaults@2025-11-25',
  'request-metadata@2026-07-28',
  'http-standard-headers@2026-07-28',
  'http-custom-headers@2026-07-28',
  'http-invalid-tool-headers@2026-07-28',
  'sep-2322-client-request-state@2026-07-28',
  'json-schema-ref-no-deref@2026-07-28',
  'json-schema-2020-12-preservation@2025-11-25',
  'json-schema-2020-12-preservation@2026-07-28',
  'auth/client-credentials-jwt@',
  'auth/client-credentials-basic@',
];

async function run(entry) {
  const [scenario, revision] = entry.split('@');
  const [node, program] = conformanceSuite();
  const args = [program, 'client', '--command', `${process.execPath} ${DRIVER}`, '--scenario', scenario, '--timeout', '30000'];
  if (revision) args.push('--spec-version', revision);
  const child = spawn(node, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part));
  const code = await new Promise((resolve) => child.once('close', (status, signal) => resolve(signal ?? status)));
  clearTimeout(timer);
  const counts = /Passed: (\d+)\/(\d+), (\d+) failed, (\d+) warnings/.exec(text);
  const passed = code === 0 && counts !== null && Number(counts[2]) > 0;
  return { entry, passed, checks: counts ? `${counts[1]}/${counts[2]}` : '-', text };
}

const wanted = process.argv.slice(2);
const chosen = wanted.length ? SCENARIOS.filter((s) => wanted.some((w) => s === w || s.split('@')[0] === w)) : SCENARIOS;
if (!chosen.length) throw new Error(`no such scenario; there are ${SCENARIOS.join(', ')}`);
const outcomes = [];
const queue = chosen.entries();
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (const [at, entry] of queue) outcomes[at] = await run(entry);
  }),
);
for (const { entry, passed, checks } of outcomes)
  console.log(`${passed ? 'passed' : 'FAILED'}  ${entry.replace(/@$/, '').padEnd(48)} ${checks.padStart(7)} checks`);
for (const { entry, passed, text } of outcomes) {
  if (!passed) console.log(`\n== ${entry}\n${text.slice(-4000)}`);
}
const lost = outcomes.filter(({ passed }) => !passed).length;
console.log(`\nclient suite total: ${outcomes.length - lost} passed, ${lost} failed`);
process.exitCode = lost ? 1 : 0;
