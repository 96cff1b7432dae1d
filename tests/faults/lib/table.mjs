// A table for a terminal: cells are broken at words.
const WIDTHS = [2, 30, 62, 44, 7];
const HEAD = ['#', 'fault', 'figure', 'bar', ''];

function broken(text, width) {
  const lines = [''];
  for (const word of String(text).split(/\s+/)) {
    for (let rest = word; ; ) {
      const line = lines.at(-1);
      const joined = line ? `${line} ${rest}` : rest;
      if (joined.length <= width) {
        lines[lines.length - 1] = joined;
        break;
      }
      if (line) lines.push('');
      else {
        lines[lines.length - 1] = rest.slice(0, width);
        lines.push('');
        rest = rest.slice(width);
      }
    }
  }
  return lines;
}

function printRow(cells) {
  const columns = cells.map((cell, i) => broken(cell, WIDTHS[i]));
  const height = Math.max(...columns.map(({ length }) => length));
  for (let i = 0; i < height; ++i)
    console.log(columns.map((lines, c) => (lines[i] ?? '').padEnd(WIDTHS[c])).join(' | ').trimEnd());
}

export function printTable(results) {
  const rule = WIDTHS.map((width) => '-'.repeat(width)).join('-+-');
  console.log('');
  printRow(HEAD);
  console.log(rule);
  for (const { n, fault, figure, bar, state } of results) {
    printRow([n, fault, figure, bar, state]);
    console.log(rule);
  }
}
