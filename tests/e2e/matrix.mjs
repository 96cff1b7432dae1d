// Clients of both SDK lines against servers of both, every transport on both sides of Lineward, every feature: one table.
//
//   ./node.sh matrix.mjs [--only TEXT] [--feature TEXT] [--list]
//
// --only takes the columns with that text in their names, --feature the rows; --list names the columns.
import { parseArgs } from 'node:util';
import { binary } from './lib/binary.mjs';
import { bounded } from './lib/events.mjs';
import { CLIENTS } from './matrix/clients.mjs';
import { FEATURES, NOTES } from './matrix/features.mjs';
import { SERVERS, stand, WAYS } from './matrix/stand.mjs';
import { table } from './matrix/table.mjs';
import { KNOWN } from './matrix/known.mjs';

const AT_ONCE = 2;
const CELL_MS = 20_000;
const STAND_MS = 60_000;
const END = 'clean end';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    feature: { type: 'string', default: '' },
    list: { type: 'boolean', default: false },
  },
});

const columns = CLIENTS.flatMap((client) =>
  WAYS.flatMap((way) =>
    SERVERS.filter((server) => (server.for ?? client.version) === client.version).map((server) => ({
      client,
      way,
      server,
      name: `${client.name} over ${way}, SDK ${server.sdk} server over ${server.over}`,
    })),
  ),
).filter(({ name }) => name.includes(options.only));
const features = FEATURES.filter(([name]) => name.includes(options.feature));

/** The entry of the list of known failures that names this cell, if any. */
const knownOf = (feature, { client, server }) =>
  KNOWN.find(
    (one) => one.feature === feature && one.version === client.version && one.servers.includes(server.short),
  );

const tail = (text) => text.split('\n').slice(-12).join('\n');

/** Runs one cell: {mark, note?, error?}. */
async function runCell(feature, column, check, said = () => '') {
  const known = knownOf(feature, column);
  try {
    const note = await bounded(Promise.resolve().then(check), CELL_MS, feature);
    if (known) return { mark: '✗', error: 'passes, although known.mjs lists it as a failure: take it out' };
    return note ? { mark: '–', note } : { mark: '✓' };
  } catch (error) {
    if (known?.error.test(error.message)) return { mark: '!', known };
    return { mark: '✗', error: `${error.stack ?? error}\n${tail(said())}` };
  }
}

async function runColumn(column) {
  const cells = {};
  let place;
  const started = Date.now();
  try {
    place = await bounded(stand(column), STAND_MS, 'the start');
    const version = place.party.speaks();
    if (version !== column.client.version) throw new Error(`the client speaks ${version}`);
  } catch (error) {
    for (const name of [...features.map(([name]) => name), END])
      cells[name] = { mark: '✗', error: `not started: ${error.stack}` };
    await place?.end().catch(() => {});
    return cells;
  }
  for (const [name, check] of features) cells[name] = await runCell(name, column, () => check(place), place.said);
  cells[END] = await runCell(END, column, () => bounded(place.end(), STAND_MS, 'the end'), place.said);
  for (const [name, { mark, error }] of Object.entries(cells))
    if (mark === '✗') console.error(`✗ ${name}: ${column.name}\n${error.replaceAll(/^/gm, '    ')}`);
  if (process.env.MATRIX_TIMES) console.error(`${Date.now() - started} ms ${column.name}`);
  return cells;
}

async function main() {
  if (options.list) return columns.forEach(({ name }) => console.log(name));
  if (!columns.length || !features.length) throw new Error('no column or no row has that in its name');
  binary();
  const started = Date.now();
  const results = new Map();
  const waiting = [...columns];
  const worker = async () => {
    for (let column = waiting.shift(); column; column = waiting.shift()) results.set(column, await runColumn(column));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));

  const cells = [...results.values()].flatMap(Object.values);
  const having = (mark) => cells.filter((cell) => cell.mark === mark).length;
  console.log(table([...features.map(([name]) => name), END], columns, results));
  for (const note of new Set(cells.map((cell) => cell.note).filter(Boolean))) console.log(`–  ${NOTES[note]}`);
  for (const { reason } of new Set(cells.map(({ known }) => known).filter(Boolean))) console.log(`!  ${reason}`);
  console.log(`${((Date.now() - started) / 1000).toFixed(0)} s`);
  const [passed, failed, known] = [having('✓') + having('–'), having('✗'), having('!')];
  console.log(`matrix total: ${passed} passed, ${failed} failed, ${known} known failures`);
  if (failed) process.exitCode = 1;
}

await main();
process.exit(process.exitCode ?? 0);
