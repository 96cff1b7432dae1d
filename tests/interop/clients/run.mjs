// Each client with each server, directly and on each road through Lineward; one table (README.md, one folder up).
//
//   ../../e2e/node.sh run.mjs [--cache FOLDER] [--jobs N] [--values FILE] [--list] [--install] [TEXT…]
//
// TEXT: only cells with all of these in "client / server / road". --values keeps what each cell gave; a cell that FILE has is not run
// again. Exits with 1 when a cell is worse than direct without a reason in
// known.mjs, or when a reason there no longer applies.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { binary } from '../../e2e/lib/binary.mjs';
import { runCell } from './cell.mjs';
import { CLIENTS } from './clients.mjs';
import { compareCell, usable } from './compare.mjs';
import { KNOWN, knownAt } from './known.mjs';
import { install, PACKAGES } from './packages.mjs';
import { baseline, DIRECT, roads } from './roads.mjs';
import { SERVERS } from './servers.mjs';

const { values: options, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    cache: { type: 'string', default: process.env.INTEROP_CACHE ?? join(tmpdir(), 'lineward-interop') },
    jobs: { type: 'string', default: process.env.JOBS ?? '2' },
    values: { type: 'string' },
    list: { type: 'boolean', default: false },
    install: { type: 'boolean', default: false },
  },
});
const cache = resolve(options.cache);
const reasons = new Set();
const NEITHER = '–';

/** The cells that are asked for, without those that cannot be. */
function chosenCells() {
  const cells = [];
  for (const [client, Client] of Object.entries(CLIENTS)) {
    for (const [server, spec] of Object.entries(SERVERS)) {
      for (const road of roads()) {
        const name = `${client} / ${server} / ${road.name}`;
        if (!Client.speaks.includes(road.front) || (road.back === 'http' && !spec.http)) continue;
        if (words.every((word) => name.includes(word))) cells.push({ name, client, Client, server, spec, road });
      }
    }
  }
  return cells;
}

/** Installs the packages of these cells; { package: why not }. */
function installAll(cells) {
  mkdirSync(cache, { recursive: true });
  const missing = {};
  for (const key of new Set(cells.flatMap(({ Client, spec }) => [Client.package, spec.package]).filter(Boolean))) {
    const why = install(cache, key);
    if (why) missing[key] = why;
  }
  return missing;
}

const whyNot = (missing, { Client, spec }) => missing[Client.package] ?? missing[spec.package] ?? spec.missing?.();

/** Runs each direct road once, and each cell. */
async function runAll(cells, base) {
  const runs = new Map();
  const add = (cell, road) => {
    const key = `${cell.client} / ${cell.server} / ${road.name}`;
    if (!runs.has(key)) runs.set(key, { cell, road, key });
    return runs.get(key);
  };
  for (const cell of cells) {
    const direct = baseline(cell.road, cell.Client.speaks, cell.spec);
    cell.direct = direct && add(cell, direct);
    cell.through = add(cell, cell.road);
  }
  // A server may answer otherwise over its other transport: a value that either direct road gave is as direct.
  for (const cell of cells) {
    const keys = DIRECT.map(({ name }) => `${cell.client} / ${cell.server} / ${name}`);
    cell.directs = keys.map((key) => runs.get(key)).filter((one) => one && one !== cell.direct);
  }
  const kept = options.values && existsSync(options.values) ? JSON.parse(readFileSync(options.values, 'utf8')) : {};
  for (const one of runs.values()) one.values = kept[one.key];
  const queue = [...runs.values()].filter(({ values }) => !values);
  const work = async () => {
    for (let one = queue.shift(); one; one = queue.shift()) {
      const begun = Date.now();
      one.values = await runCell({ base, cache, Client: one.cell.Client, server: one.cell.spec, road: one.road });
      kept[one.key] = one.values;
      if (options.values) writeFileSync(options.values, JSON.stringify(kept, null, 1));
      process.stderr.write(`${one.key}: ${((Date.now() - begun) / 1000).toFixed(1)} s, ${queue.length} left\n`);
    }
  };
  await Promise.all(Array.from({ length: Number(options.jobs) }, work));
  return [...runs.values()];
}

function reasonFor(place) {
  const known = knownAt(...place);
  if (known) reasons.add(known);
  return known?.reason;
}

/** The cell's mark, with a line for each difference. */
function judgeCell(cell, lines) {
  const direct = cell.direct?.values;
  if (direct && !usable(direct) && !usable(cell.through.values)) return NEITHER;
  const marks = new Set();
  const better = [];
  const compare = (before) => compareCell({ direct: before, through: cell.through.values, road: cell.road, isNewer: cell.Client.isNewer });
  const asOther = cell.directs.flatMap(({ values }) => compare(values)).filter(({ mark }) => mark === '=');
  const also = new Set(asOther.map(({ operation }) => operation));
  for (const { operation, mark: first, lines: found } of compare(direct)) {
    const mark = first === '!' && also.has(operation) ? '=' : first;
    const reason = mark === '!' && reasonFor([cell.client, cell.server, cell.road.name, operation]);
    marks.add(mark === '!' && !reason ? '✗' : mark);
    if (mark === '+') better.push([operation, ...found].join(': '));
    if (mark !== '!') continue;
    const why = reason ? `   (${reason})` : '';
    lines.push(`${reason ? '!' : '✗'} ${cell.name}: ${[operation, ...found].join(': ')}${why}`);
  }
  if (better.length) lines.push(`+ ${cell.name}: ${better.join(', ')}`);
  return ['✗', '!', '+', '='].find((mark) => marks.has(mark)) ?? '=';
}

function printTable(cells) {
  const columns = roads().map(({ name }) => name);
  const width = (text, size) => text.padEnd(size);
  console.log(`\n${width('client', 16)}${width('server', 12)}${columns.map((name) => width(name, 15)).join('')}`);
  for (const client of Object.keys(CLIENTS)) {
    for (const server of Object.keys(SERVERS)) {
      const own = cells.filter((cell) => cell.client === client && cell.server === server);
      if (!own.length) continue;
      const marks = columns.map((name) => own.find(({ road }) => road.name === name)?.mark ?? '·');
      console.log(`${width(client, 16)}${width(server, 12)}${marks.map((mark) => width(mark, 15)).join('')}`.trimEnd());
    }
  }
  console.log('= as direct   + better, or only so   ! worse, explained   ✗ worse   – works neither way here   · not asked for, or no such transport');
}

async function main() {
  const chosen = chosenCells();
  if (options.list) return chosen.forEach(({ name }) => console.log(name));
  if (!chosen.length) throw new Error('no cell has these words in its name');
  if (!options.install) binary();
  const missing = installAll(chosen);
  if (options.install) {
    for (const [key, why] of Object.entries(missing)) console.log(`${PACKAGES[key].name} cannot be installed: ${why}`);
    return;
  }
  const base = mkdtempSync(join(tmpdir(), 'lineward-interop-'));
  const here = chosen.filter((cell) => !whyNot(missing, cell));
  const absent = chosen.filter((cell) => whyNot(missing, cell));
  const runs = await runAll(here, base);
  rmSync(base, { recursive: true, force: true });

  const lines = [];
  for (const cell of here) cell.mark = judgeCell(cell, lines);
  for (const cell of absent) cell.mark = NEITHER;
  for (const { key, values } of runs.filter(({ road, values: got }) => road.name.startsWith('direct') && !usable(got)))
    console.log(`  ${key} does not work: ${JSON.stringify(values.start ?? values.connect ?? values.list).slice(0, 200)}`);
  console.log(lines.join('\n'));
  for (const why of new Set(absent.map((cell) => `${cell.client} / ${cell.server}: ${whyNot(missing, cell)}`))) console.log(`– ${why}`);
  printTable(chosen);
  const stale = words.length || absent.length ? [] : KNOWN.filter((known) => !reasons.has(known));
  for (const { at } of stale) console.log(`known.mjs names ${at.join(' / ')}, which is no worse`);
  const count = (wanted) => chosen.filter(({ mark }) => wanted.includes(mark)).length;
  const [passed, bad] = [count('=+!'), count('✗') + stale.length];
  console.log(`\ninterop total: ${passed} passed, ${bad} failed, ${count(NEITHER)} skipped`);
  process.exitCode = bad || !passed ? 1 : 0;
}

await main();
