// pictures.mjs [--check]: docs/pictures/*.txt as SVG beside them. A picture is what happens between a few who talk, from the top down:
//
//   title  A client leaves
//   who    client, lineward, server
//   client -> lineward   tools/call 7
//   lineward -> server   tools/call 31
//   client -x lineward   closes its stream         (what was lost or cut)
//   note   lineward      the call ends, once
//
// Drawn for a light and a dark page alike: on white.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../docs/pictures', import.meta.url));
const COLUMN = 250;
const ROW = 46;
const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

export function draw(text) {
  const lines = text.split('\n').map((line) => line.trimEnd()).filter(Boolean);
  let title = '';
  let who = [];
  const steps = [];
  for (const line of lines) {
    const [, word, rest] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
    if (word === 'title') title = rest;
    else if (word === 'who') who = rest.split(/,\s*/);
    else if (word === 'note') {
      const [, at, said] = /^(\S+)\s+(.*)$/.exec(rest) ?? [];
      steps.push({ at, said });
    } else {
      const [, from, arrow, to, said] = /^(\S+) (->|-x) (\S+)\s*(.*)$/.exec(line) ?? [];
      if (!from) throw new Error(`what is this: ${line}`);
      steps.push({ from, to, cut: arrow === '-x', said });
    }
  }
  const x = (name) => {
    const at = who.indexOf(name);
    if (at < 0) throw new Error(`${name} is not among: ${who.join(', ')}`);
    return COLUMN * at + COLUMN / 2;
  };
  const width = COLUMN * who.length;
  const height = 92 + ROW * steps.length + 24;
  const out = [];
  who.forEach((name) => {
    out.push(`<line x1="${x(name)}" y1="76" x2="${x(name)}" y2="${height - 12}" stroke="#b8c0ca" stroke-width="1.5"/>`);
    out.push(`<rect x="${x(name) - 80}" y="44" width="160" height="32" rx="6" fill="#eef3f8" stroke="#5b6b7c"/>`);
    out.push(`<text x="${x(name)}" y="65" text-anchor="middle" font-weight="600">${escape(name)}</text>`);
  });
  steps.forEach((step, index) => {
    const y = 92 + ROW * index + 26;
    if (step.at) {
      const w = Math.max(120, step.said.length * 7.4 + 20);
      out.push(`<rect x="${x(step.at) - w / 2}" y="${y - 18}" width="${w}" height="26" rx="4" fill="#fff6dc" stroke="#c9a84b"/>`);
      out.push(`<text x="${x(step.at)}" y="${y}" text-anchor="middle">${escape(step.said)}</text>`);
      return;
    }
    const [a, b] = [x(step.from), x(step.to)];
    const way = Math.sign(b - a);
    const end = step.cut ? (a + b) / 2 : b - 2 * way;
    const ink = step.cut ? '#b3261e' : '#2b3a4a';
    out.push(`<line x1="${a}" y1="${y}" x2="${end}" y2="${y}" stroke="${ink}" stroke-width="1.6"${step.cut ? ' stroke-dasharray="5 4"' : ''}/>`);
    if (step.cut) out.push(`<path d="M${end - 6} ${y - 6}l12 12m0 -12l-12 12" stroke="${ink}" stroke-width="2" fill="none"/>`);
    else out.push(`<path d="M${end} ${y}l${-9 * way} -5v10z" fill="${ink}"/>`);
    out.push(`<text x="${(a + b) / 2}" y="${y - 7}" text-anchor="middle">${escape(step.said)}</text>`);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}" font-family="system-ui, sans-serif" font-size="13" fill="#1b2430">
<title>${escape(title)}</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="${width / 2}" y="26" text-anchor="middle" font-size="15" font-weight="600">${escape(title)}</text>
${out.join('\n')}
</svg>
`;
}

export function stale() {
  const out = [];
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.txt'))) {
    const picture = join(folder, file.replace('.txt', '.svg'));
    const drawn = draw(readFileSync(join(folder, file), 'utf8'));
    let there = '';
    try {
      there = readFileSync(picture, 'utf8');
    } catch {
      // not drawn yet
    }
    if (there !== drawn) out.push({ picture, drawn });
  }
  return out;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const old = stale();
  if (process.argv[2] === '--check' && old.length > 0) {
    console.error(old.map(({ picture }) => `${picture} is not what its text says: node conf/docs/pictures.mjs`).join('\n'));
    process.exit(1);
  }
  for (const { picture, drawn } of old) writeFileSync(picture, drawn);
}
