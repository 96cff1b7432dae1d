// Draws the cells: a line for each promise, for each road a mark for each server behind a legacy and behind a modern client.
const mark = (cell) => (!cell ? ' ' : cell.empty ? '·' : cell.failed ? '✗' : '✓');

export function draw(roads, eras, kinds, promises, cells) {
  const byId = new Map(cells.map((cell) => [cell.id, cell]));
  const left = Math.max(...promises.map(({ name }) => name.length)) + 2;
  const width = kinds.length * eras.length + 1;
  const shown = roads.filter((road) => cells.some((cell) => cell.road === road));
  const rows = promises.filter((promise) => cells.some((cell) => cell.promise === promise));
  const lines = rows.map(({ name }) => {
    const groups = shown.map((road) =>
      eras.map((era) => kinds.map((kind) => mark(byId.get(`${road.name}/${era}/${kind}/${name}`))).join('')).join(' '),
    );
    return `${name.padEnd(left)}${groups.join('  ')}`.trimEnd();
  });
  const reasons = new Map();
  for (const { empty, promise } of cells) {
    if (!empty) continue;
    const one = reasons.get(empty) ?? { count: 0, promises: new Set() };
    one.count += 1;
    one.promises.add(promise.name);
    reasons.set(empty, one);
  }
  const why = [...reasons].map(([reason, { count, promises: of }]) => {
    const which = of.size > 6 ? `${of.size} promises` : [...of].join(', ');
    return `·  ${String(count).padStart(4)}  ${reason} (${which})`;
  });
  return [
    '',
    `${''.padEnd(left)}${shown.map(({ name }) => name.slice(0, width + 1).padEnd(width)).join('  ')}`.trimEnd(),
    `${''.padEnd(left)}${shown.map(() => eras.map((era) => era.slice(0, kinds.length).padEnd(kinds.length)).join(' ')).join('  ')}`.trimEnd(),
    ...lines,
    '',
    'Each road: four servers behind a legacy client, four behind one of 2026-07-28: legacy stdio, legacy HTTP, modern stdio, modern HTTP.',
    '✓ holds   ✗ failed   · empty, because:',
    ...why,
  ].join('\n');
}
