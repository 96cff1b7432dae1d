// growth.mjs [--only TEXT]… [--exactly NAME]… [--largest] [--docs] [--repeats N] [--json FILE]: measures every row at n, 2n, 4n and 8n and judges how it
// grows (README.md).
import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { binary } from '../e2e/lib/binary.mjs';
import { bounded } from '../e2e/lib/events.mjs';
import { writeDocs } from './docs.mjs';
import { judge } from './judge.mjs';
import { Meter } from './meter.mjs';
import { program } from './programs.mjs';
import { largest } from './rows/largest.mjs';
import { rows as many } from './rows/many.mjs';
import { rows as messages } from './rows/messages.mjs';
import { rows as one } from './rows/one.mjs';
import { rows as commands } from './rows/commands.mjs';
import { rows as console_ } from './rows/console.mjs';
import { rows as crowds } from './rows/crowds.mjs';
import { rows as lines } from './rows/lines.mjs';
import { rows as policies } from './rows/policies.mjs';
import { rows as sessions } from './rows/sessions.mjs';
import { line, heading } from './table.mjs';

// Findings that wait for other work: they are shown as what they are, and do not fail the run.
const KNOWN = {}; // name of a row: why

const words = process.argv.slice(2);
const all = (name) => words.flatMap((word, at) => (word === `--${name}` ? [words[at + 1]] : []));
const only = all('only');
const exactly = all('exactly');
const repeats = Number(all('repeats')[0] ?? 4);
const ROW_MS = 60_000;
const ENOUGH_MS = 600; // a row that has been repeated for so long is not repeated any more, once it was twice
const SMALL = { instructions: 4_000_000, nanoseconds: 1_000_000 }; // less is measured several times at once
const SIZES = [1, 2, 4, 8];
const MOST_TIMES = 20; // for one figure
// A server that writes more useless lines than this is ended (docs/limits.md): 10,000 at once, then 1,000 a second.
const USELESS = { atOnce: 9_000, aSecond: 900 };

let standing; // the world that is up, and its meter
let unit;

async function up(world) {
  if (standing?.world === world) return standing.meter;
  await down();
  standing = { world, meter: await (world.start ?? Meter.start)(world) };
  unit = standing.meter.unit;
  return standing.meter;
}
async function down() {
  const old = standing;
  standing = undefined;
  await old?.meter.close();
}

/** How many useless lines a server has written lately. The work waits here until it may write its own. */
class UselessLines {
  level = 0;
  at = performance.now();
  async add(lines) {
    const now = performance.now();
    this.level = Math.max(0, this.level - ((now - this.at) / 1000) * USELESS.aSecond) + lines;
    this.at = now;
    if (this.level > USELESS.atOnce) await pause(((this.level - USELESS.atOnce) / USELESS.aSecond) * 1000);
  }
  before(work, lines) {
    return async () => {
      await this.add(lines);
      await work();
    };
  }
}

/** How often the work is done for one figure. */
async function timesFor(meter, work, most = MOST_TIMES) {
  await work();
  const cost = Math.min(await meter.cost(work), await meter.cost(work));
  return Math.max(1, Math.min(most, Math.ceil(SMALL[meter.unit] / Math.max(cost, 1))));
}
async function figure(meter, work, times) {
  const cost = await meter.cost(async () => {
    for (let i = 0; i < times; ++i) await work();
  });
  return cost / times;
}

/** All figures of a row, by size. */
async function measure(row, count, shift = 1) {
  const sizes = SIZES.map((times) => times * row.n * shift);
  const runs = sizes.map(() => []);
  const began = performance.now();
  const enough = (done) => done >= count || (done >= 2 && performance.now() - began > ENOUGH_MS * (count / repeats));
  let times;
  if (typeof row.world === 'function' || row.inOrder) {
    // Growth stays: the sizes run one after the other, each with a fourth of the time.
    for (const [at, size] of sizes.entries()) {
      const meter = await up(typeof row.world === 'function' ? row.world(size) : row.world);
      const work = await row.at(meter, size, at ? size - sizes[at - 1] : size);
      if (at) await work();
      times ??= await timesFor(meter, work);
      const from = performance.now();
      while (runs[at].length < count && (runs[at].length < 2 || performance.now() - from < ENOUGH_MS / 2)) runs[at].push(await figure(meter, work, times));
      if (typeof row.world === 'function') await down();
    }
    if (row.inOrder) await down(); // opened parts stay open
    return runs;
  }
  const meter = await up(row.world);
  let works = [];
  for (const size of sizes) works.push(await row.at(meter, size));
  let most = MOST_TIMES;
  if (row.useless) {
    meter.useless ??= new UselessLines();
    works = works.map((work, at) => meter.useless.before(work, sizes[at]));
    most = Math.max(1, Math.floor(USELESS.atOnce / 4 / sizes.at(-1)));
  }
  times = await timesFor(meter, works[0], most);
  for (const work of works.slice(1)) await work();
  for (let done = 0; !enough(done); ++done) {
    for (const [at, work] of works.entries()) runs[at].push(await figure(meter, work, times));
  }
  await meter.clean();
  return runs;
}

async function run(row) {
  const began = performance.now();
  const kind = row.kind ?? 'linear';
  const result = { name: row.name, unit: row.unit, n: row.n, kind };
  const judged = async (count, shift) => ({
    ...judge(kind, await bounded(measure(row, count, shift), (ROW_MS * count) / repeats, 'the row'), unit),
    n: row.n * shift,
  });
  try {
    let verdict = await judged(repeats, 1);
    if (!verdict.holds) verdict = await judged(2 * repeats, 1);
    // A step of processor time is made by a cache that is too small, or by a table that grows. Growth is
    // still there one doubling further, and one before; a step is not.
    for (const shift of row.n % 2 ? [2] : [2, 0.5]) {
      if (verdict.holds || kind === 'flat' || unit !== 'nanoseconds') break;
      const other = await judged(2 * repeats, shift).catch(() => down()); // it may be over a limit
      if (other?.holds) verdict = other;
      else if (other) break;
    }
    Object.assign(result, verdict, { state: verdict.holds ? 'pass' : 'fail' });
  } catch (error) {
    Object.assign(result, { state: 'fail', why: error.message });
    if (process.env.GROWTH_DEBUG) console.error(error);
    await down().catch(() => {});
  }
  if (result.state === 'fail' && result.costs && KNOWN[row.name]) result.state = 'known';
  result.seconds = (performance.now() - began) / 1000;
  return result;
}

binary(); // without it, or the counter, no row is worth trying
program('growth-counter');
const wanted = [...messages, ...one, ...many, ...crowds, ...policies, ...sessions, ...lines, ...console_, ...commands].filter(
  ({ name }) => (!only.length && !exactly.length) || exactly.includes(name) || only.some((text) => name.includes(text)),
);
const began = performance.now();
const results = [];
console.log(heading());
for (const row of wanted) {
  const result = await run(row);
  results.push(result);
  console.log(line(result));
}
await down();
const sizes = words.includes('--largest') || words.includes('--docs') ? await largest(words.includes('--docs') ? undefined : only[0]) : [];
for (const { what, ms, wait, why } of sizes)
  console.log(`${what.padEnd(65)} ${why ?? `${ms.toFixed(1).padStart(8)} ms of processor time, others wait ${wait.toFixed(1)} ms`}`);
const seconds = (performance.now() - began) / 1000;
for (const { name, state } of results) if (state === 'fail') console.log(`✗ ${name}`);
for (const { name, state } of results) if (state === 'known') console.log(`known: ${name}: ${KNOWN[name]}`);
if (words.includes('--docs')) writeDocs(results, sizes, unit);
if (all('json')[0]) writeFileSync(all('json')[0], JSON.stringify({ unit, seconds, results, sizes }, null, 1));
const count = (state) => results.filter((one) => one.state === state).length;
console.log(
  `\ngrowth total: ${count('pass')} passed, ${count('fail')} failed, ${count('known')} known to fail; ${4 * results.length} cells in ${Math.round(seconds)} s, counted in ${unit}`,
);
process.exit(count('fail') ? 1 : 0);
