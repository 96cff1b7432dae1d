// Draws the matrix: rows are features, columns the combinations in the order client, way, server.
const WIDTH = 3;

/** Neighbours with the same label under one heading: [[label, count], …]. */
function runs(labels) {
  const found = [];
  for (const label of labels) {
    if (found.length && found.at(-1)[0] === label) found.at(-1)[1] += 1;
    else found.push([label, 1]);
  }
  return found;
}

const heading = (labels) =>
  runs(labels)
    .map(([label, count]) => label.split('\0')[0].slice(0, count * WIDTH - 1).padEnd(count * WIDTH))
    .join('');

export function table(rows, columns, results) {
  const left = Math.max(...rows.map((row) => row.length), 'client transport'.length) + 2;
  const line = (name, text) => (name.padEnd(left) + text).trimEnd();
  const lines = [
    line('client', heading(columns.map(({ client }) => client.name))),
    line('client transport', heading(columns.map(({ client, way }) => `${way}\0${client.name}`))),
    line('server', heading(columns.map(({ server }, n) => `${server.short}\0${n}`))),
    ...rows.map((row) =>
      line(row, columns.map((column) => (results.get(column)?.[row]?.mark ?? '?').padEnd(WIDTH)).join('')),
    ),
  ];
  return [
    '',
    ...lines,
    '',
    'server: SDK 1.x over 1s stdio, 1h Streamable HTTP, 1e HTTP+SSE; SDK 2.x (2026-07-28 only) over 2s stdio, 2h Streamable HTTP;',
    '        2b SDK 2.x as it is by default (both eras) over Streamable HTTP, with protocolEra: modern',
    '✓ works   – cannot work, what happens instead is checked   ! known failure   ✗ failed',
  ].join('\n');
}
