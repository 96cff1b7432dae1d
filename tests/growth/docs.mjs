// Writes the tables of a run to build/growth.md. docs/growth.md explains them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shown, stepOf, unitOf } from './table.mjs';

const FILE = fileURLToPath(new URL('../../build/growth.md', import.meta.url));

const cells = (...all) => `| ${all.join(' | ')} |`;
const safe = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ').slice(0, 200);
const rounded = (ms) => ms.toFixed(ms < 10 ? 1 : 0);

export function writeDocs(results, sizes, unit) {
  const name = unitOf(unit);
  const row = ({ name, unit, n, kind, costs, state, why, ...more }) =>
    costs
      ? cells(safe(name), `${n} ${unit ?? ''}`, ...costs.map(shown), stepOf({ kind, ...more }), kind === 'flat' ? 'flat' : 'linear', state === 'pass' ? 'yes' : state === 'known' ? 'not yet' : '**no**')
      : cells(safe(name), `${n} ${unit ?? ''}`, '', '', '', '', '', kind, `**no**: ${safe(why)}`);
  const table = [cells('what grows', 'n', `at n, ${name}`, '2n', '4n', '8n', 'figure', 'may be', 'holds'), '|---|---|---:|---:|---:|---:|---:|---|---|', ...results.map(row)];
  const counted = `Counted in ${unit === 'instructions' ? 'thousands of instructions' : 'microseconds of processor time'}, on ${cpus().length} processors (${cpus()[0].model.trim()}).`;
  const largest = [
    cells('message', 'processor time, ms', 'others wait, ms'),
    '|---|---:|---:|',
    ...sizes.map(({ what, ms, wait, why }) => (why ? cells(safe(what), safe(why), '') : cells(safe(what), rounded(ms), rounded(wait)))),
  ];
  const text = ['# How work grows: a run', '', counted, '', '## Every dimension', '', ...table, '', '## Largest messages', '', ...largest, ''];
  mkdirSync(dirname(FILE), { recursive: true });
  writeFileSync(FILE, text.join('\n'));
}
