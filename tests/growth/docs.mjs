// Puts the tables into docs/growth.md, between its marks; the words around them are the file's own.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { shown, stepOf, unitOf } from './table.mjs';

const FILE = fileURLToPath(new URL('../../docs/growth.md', import.meta.url));

const cells = (...all) => `| ${all.join(' | ')} |`;
const safe = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ').slice(0, 200);
const rounded = (ms) => ms.toFixed(ms < 10 ? 1 : 0);
const between = (text, mark, table) => {
  const begin = `<!-- ${mark}: written by make growth -->\n`;
  const end = `<!-- end of ${mark} -->`;
  const from = text.indexOf(begin) + begin.length;
  const to = text.indexOf(end);
  if (from < begin.length || to < from) throw new Error(`docs/growth.md has no place for ${mark}`);
  return `${text.slice(0, from)}\n${table.join('\n')}\n\n${text.slice(to)}`;
};

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
  let text = readFileSync(FILE, 'utf8');
  text = between(text, 'growth', [counted, '', ...table]);
  text = between(text, 'largest', largest);
  writeFileSync(FILE, text);
}
