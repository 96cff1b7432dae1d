// Every promise on every road: clients of both eras, servers of both over stdio and HTTP, and each way on which Lineward can
// stand between them. Raw bytes on both sides; no SDK.
//
//   ./node.sh roads.mjs [--only ROAD/CLIENT/SERVER/PROMISE | TEXT]… [--list] [--times]
//
// --only takes the cell of that name, or all with that text in their names.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { binary } from './lib/binary.mjs';
import { bounded } from './lib/events.mjs';
import { Cell } from './roads/cell.mjs';
import { draw } from './roads/draw.mjs';
import { whyEmpty } from './roads/empty.mjs';
import { ENDS } from './roads/ends.mjs';
import { LIMITS } from './roads/limits.mjs';
import { Place, ROADS } from './roads/places.mjs';
import { startHub } from './roads/servers.mjs';
import { TALK } from './roads/talk.mjs';

const PLACES_AT_ONCE = 6;
const CELLS_AT_ONCE = 6;
const CELL_MS = 45_000;
const ERAS = ['legacy', 'modern'];
const KINDS = ['legacy-stdio', 'legacy-http', 'modern-stdio', 'modern-http'];
const PROMISES = [...LIMITS, ...ENDS, ...TALK];

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    list: { type: 'boolean', default: false },
    times: { type: 'boolean', default: false },
  },
});

const all = ROADS.flatMap((road) =>
  ERAS.flatMap((era) => KINDS.flatMap((kind) => PROMISES.map((promise) => new Cell(road, era, kind, promise)))),
);
const exact = new Set(all.map(({ id }) => id));
const wanted = ({ id }) => options.only.some((text) => (exact.has(text) ? id === text : id.includes(text)));
const cells = options.only.length ? all.filter(wanted) : all;
for (const cell of cells) cell.empty = whyEmpty(cell);

/** Runs tasks, so many at once. */
async function pool(tasks, atOnce) {
  const waiting = [...tasks];
  const worker = async () => {
    for (let task = waiting.shift(); task; task = waiting.shift()) await task();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

function failed(cell, error, place) {
  cell.failed = error;
  const log = place?.gateways.flatMap((gateway) => gateway.log.items.slice(-4)) ?? [];
  const text = [error.stack.split('\n').slice(0, 6).join('\n'), ...log].join('\n').slice(0, 4000);
  console.error(`✗ ${cell.id}\n${text.replaceAll(/^/gm, '    ')}`);
}

async function runCell(cell, place) {
  const begun = Date.now();
  cell.place = place;
  try {
    await bounded(cell.promise.run(cell), CELL_MS, 'the cell');
    await cell.end();
    if (cell.trouble) throw cell.trouble;
  } catch (error) {
    failed(cell, error, place);
    await cell.end();
  }
  cell.done = true;
  cell.ms = Date.now() - begun;
}

/** Cells that end Lineward do it together, when each of them is ready. */
async function runLast(last, place) {
  let ready = 0;
  let stop;
  const stopped = new Promise((resolve) => (stop = resolve));
  const arrive = () => {
    if ((ready += 1) < last.length) return;
    for (const gateway of place.gateways) if (gateway.code === undefined) gateway.terminate();
    stop();
  };
  const runs = [];
  for (const cell of last) {
    let arrived = false;
    // Up to that point they run one after the other: at a reload, a session without a call would
    // end.
    await new Promise((next) => {
      cell.terminate = () => {
        if (!arrived) arrive();
        arrived = true;
        next();
        return stopped;
      };
      runs.push(runCell(cell, place).then(cell.terminate));
    });
  }
  await Promise.all(runs);
}

async function runPlace(hub, base, group) {
  const [{ road, kind, promise }] = group;
  const begun = Date.now();
  const place = new Place(hub, base, road, kind, promise.variant ?? 'main');
  try {
    await bounded(place.start(), CELL_MS, 'the start');
  } catch (error) {
    for (const cell of group) failed(cell, error, place);
  }
  const left = group.filter((cell) => !cell.failed);
  const alone = left.filter(({ promise: { alone: lonely, last } }) => !last && (lonely || road.reloads));
  const together = left.filter((cell) => !cell.promise.last && !alone.includes(cell));
  await pool(together.map((cell) => () => runCell(cell, place)), CELLS_AT_ONCE);
  for (const cell of alone) await runCell(cell, place);
  const last = left.filter((cell) => cell.promise.last);
  if (last.length) await runLast(last, place);
  await bounded(place.end(), CELL_MS, 'the end').catch((error) => {
    const ending = group.find((cell) => !cell.failed) ?? group[0];
    failed(ending, error, place);
  });
  if (options.times) console.error(`${Date.now() - begun} ms ${road.name} ${kind} ${place.variant}, ${group.length} cells`);
}

async function main() {
  if (options.list) return cells.forEach(({ id, empty }) => console.log(empty ? `${id}  (empty: ${empty})` : id));
  if (!cells.length) throw new Error('no cell has that in its name');
  binary();
  const begun = Date.now();
  const base = mkdtempSync(join(tmpdir(), 'lineward-roads-'));
  const hub = await startHub(join(base, 'hub.sock'));
  const groups = new Map();
  for (const cell of cells.filter(({ empty }) => !empty)) {
    const key = [cell.road.name, cell.kind, cell.promise.variant ?? 'main'].join(' ');
    groups.set(key, [...(groups.get(key) ?? []), cell]);
  }
  // The longest first: where each cell is alone.
  const length = (group) => group.length + (group[0].road.reloads ? 100 : 0);
  const order = [...groups.values()].sort((a, b) => length(b) - length(a));
  await pool(order.map((group) => () => runPlace(hub, base, group)), PLACES_AT_ONCE);
  hub.end();
  rmSync(base, { recursive: true, force: true });

  console.log(draw(ROADS, ERAS, KINDS, PROMISES, cells));
  const count = (fits) => cells.filter(fits).length;
  const [passed, bad, empty] = [count((cell) => cell.done && !cell.failed), count((cell) => cell.failed), count((cell) => cell.empty)];
  console.log(`${((Date.now() - begun) / 1000).toFixed(0)} s`);
  console.log(`roads total: ${passed} passed, ${bad} failed, ${empty} empty (with reasons)`);
  if (bad) process.exitCode = 1;
}

await main();
process.exit(process.exitCode ?? 0);
