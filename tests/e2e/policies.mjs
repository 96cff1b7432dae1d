// Policies are a boundary: rules × spellings × methods × roads × eras. For any input of a client, a server of an official SDK
// behind Lineward never works on a forbidden request. The reading of each spelling by the SDKs is measured directly.
//
//   ./node.sh policies.mjs [--only TEXT]… [--times]      TEXT: of a place's name (rules-legacy-stdio-many …)
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { binary } from './lib/binary.mjs';
import { bounded } from './lib/events.mjs';
import { ask, METHODS, spellingsOf, TASKS } from './policies/ask.mjs';
import { asDirectly } from './policies/direct.mjs';
import { isForbidden, Judge } from './policies/judge.mjs';
import { KEYS, Place, POLICIES } from './policies/places.mjs';
import { keepsSecrets, spillsNothing } from './policies/secrets.mjs';

const PLACES_AT_ONCE = 3;
const ASKED_AT_ONCE = 16;
const PLACE_MS = 170_000;
const WAIT_MS = 30_000;
const ERAS = ['legacy', 'modern'];
const KINDS = ['legacy-stdio', 'legacy-http', 'modern-stdio', 'modern-http'];
const PLAIN = { name: 'plain', write: (key, value) => `${JSON.stringify(key)}:${JSON.stringify(value)}` };

const { values: options } = parseArgs({
  options: { only: { type: 'string', multiple: true, default: [] }, times: { type: 'boolean', default: false } },
});

const results = { asked: 0, passed: 0, failed: [] };
let tags = 0;

async function pool(tasks, atOnce) {
  const waiting = [...tasks];
  const worker = async () => {
    for (let task = waiting.shift(); task; task = waiting.shift()) await task();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

const check = (place, name, run) => {
  try {
    run();
    results.passed += 1;
  } catch (error) {
    results.failed.push(`${place.name}: ${name}`);
    const log = place.gateways.flatMap((gateway) => gateway.log.items.slice(-3));
    console.error(`✗ ${place.name}: ${name}\n${[String(error.message).slice(0, 2000), ...log].join('\n').replaceAll(/^/gm, '    ')}`);
  }
};

/** The names that this road has for a thing of the server. */
function pair(road, { key }) {
  tags += 1;
  const write = { name: (word) => `${word}_${tags}`, taskId: (word) => `task-${word}_${tags}`, uri: (word) => `file:///${word}/${tags}` }[key];
  const shown = (word) => (!road.prefixed ? write(word) : key === 'uri' ? `alpha+${write(word)}` : `alpha__${write(word)}`);
  return { forbidden: shown('secret'), allowed: shown('open'), mine: write('open') };
}

/** Whether the server worked on this, now or soon. */
const understood = (place, target) =>
  place.judge.reports.until((report) => report.server === place.name && report.target === target, target, WAIT_MS);

async function askAll(place, road, era, client) {
  const label = `${road.name}, ${era}`;
  const methods = METHODS.filter((what) => place.policy.methods.test(what.name) && (what.eras ?? /./).test(era))
    // Tasks as 2025-11-25 has them are between sessions and servers of that era.
    .filter(({ name }) => !/task/.test(name) || place.era === 'legacy');
  const tasks = [];
  for (const what of methods) {
    const { allowed, mine } = pair(road, what);
    // Allowed requests pass, or else the checks below would be meaningless; between the eras Lineward subscribes
    // itself.
    if (!/subscribe/.test(what.name) || (place.era === 'legacy' && !road.prefixed)) {
      await ask(client, what, PLAIN, allowed, allowed);
      const seen = await understood(place, mine).then(() => true, () => false);
      check(place, `${label}: ${what.name} of what is allowed`, () => assert.ok(seen, 'did not reach the server'));
    }
    for (const spelling of spellingsOf(what)) {
      const names = pair(road, what);
      tasks.push(() => ask(client, what, spelling, names.forbidden, names.allowed));
    }
  }
  if (place.policy.name === 'rules')
    for (const spelling of spellingsOf({ key: 'name' }))
      tasks.push(() => ask(client, METHODS[0], spelling, road.prefixed ? 'alpha__rate_1' : 'rate_1', road.prefixed ? 'alpha__open_1' : 'open_1'));
  results.asked += tasks.length;
  await pool(tasks, ASKED_AT_ONCE);
}

/** Tasks that a caller with the scope made, asked for by one without. */
async function askTasks(place, road, client) {
  // All servers as one speak 2026-07-28 to each, with tasks as an extension.
  if (!place.policy.tasks || client.era !== 'legacy' || place.era !== 'legacy' || road.prefixed) return;
  const high = await place.client(road, 'legacy', { key: KEYS.high });
  const asTask = METHODS[1];
  const made = async (who, name) => {
    const { body } = await ask(who, asTask, PLAIN, name, name);
    return /"taskId" ?: ?"((?:[^"\\]|\\.)*)"/.exec(body)?.[1];
  };
  const { forbidden, allowed } = pair(road, asTask);
  place.granted.add(forbidden);
  const ids = { forbidden: await made(high, forbidden), allowed: await made(client, allowed) };
  check(place, `${road.name}: tasks are made`, () => assert.ok(ids.forbidden && ids.allowed, JSON.stringify(ids)));
  const tasks = TASKS.flatMap((what) => spellingsOf(what).map((spelling) => () => ask(client, what, spelling, ids.forbidden, ids.allowed)));
  results.asked += tasks.length;
  await pool(tasks, ASKED_AT_ONCE);
  await ask(client, TASKS[0], PLAIN, ids.allowed, ids.allowed);
  const seen = await understood(place, `task-${allowed}`).then(() => true, () => false);
  check(place, `${road.name}: one's own task`, () => assert.ok(seen, 'did not reach the server'));
}

async function runPlace(place) {
  const begun = Date.now();
  try {
    await place.start();
    for (const road of place.roads) {
      for (const era of ERAS.filter((one) => (road.eras ?? /./).test(one))) {
        const client = await bounded(place.client(road, era), WAIT_MS, `a client: ${road.name}, ${era}`);
        await askAll(place, road, era, client);
        await askTasks(place, road, client);
        // On one stream no answer is known to be the last: the one that comes after all of that has all before it.
        const last = pair(road, METHODS[0]);
        await ask(client, METHODS[0], PLAIN, last.allowed, last.allowed);
        await understood(place, last.mine).catch((error) => check(place, `${road.name}, ${era}: the last call`, () => assert.fail(error.message)));
        if (place.policy.name === 'rules') await keepsSecrets(place, road, era, check);
      }
    }
  } catch (error) {
    check(place, 'the place', () => assert.fail(error.stack));
  }
  await bounded(place.end(), WAIT_MS, 'the end').catch((error) => check(place, 'the end', () => assert.fail(error.message)));
  const reports = place.judge.of(place.name);
  check(place, 'nothing that a rule forbids was understood', () => {
    const bad = reports.filter((report) => isForbidden(report) && !place.granted.has(report.target));
    assert.deepEqual(bad.slice(0, 5), []);
  });
  if (place.policy.name === 'rules') {
    check(place, 'a limit has one bucket, however its tool is spelled', () => {
      const counted = reports.filter(({ target }) => target === 'rate_1').length;
      const buckets = 1 + place.roads.filter(({ path }) => !path).length * ERAS.length;
      assert.ok(counted >= 1 && counted <= buckets, `${counted} calls, with ${buckets} processes of Lineward`);
    });
    check(place, 'no secret passed', () => spillsNothing(place, reports));
  }
  if (options.times) console.error(`${Date.now() - begun} ms ${place.name}, ${reports.length} understood`);
}

async function main() {
  binary();
  const begun = Date.now();
  const base = mkdtempSync(join(tmpdir(), 'lineward-policies-'));
  const judge = await new Judge().start(join(base, 'reports.sock'));
  const hash = (key) => createHash('sha256').update(key).digest('hex');
  const shared = { hashes: { low: hash(KEYS.low), high: hash(KEYS.high) }, other: await judge.http('modern', 'other') };
  const places = POLICIES.flatMap((policy) =>
    KINDS.filter((kind) => policy.kinds.test(kind)).flatMap((kind) => [true, false].map((many) => new Place(judge, base, policy, kind, many, shared))),
  ).filter(({ name }) => !options.only.length || options.only.some((text) => name.includes(text)));
  if (!places.length) throw new Error('no place has that in its name');
  const direct = options.only.length ? undefined : asDirectly(judge, PLAIN);
  await pool(places.map((place) => () => bounded(runPlace(place), PLACE_MS, place.name).catch((error) => check(place, 'in time', () => assert.fail(error.message)))), PLACES_AT_ONCE);
  if (direct) console.log(await direct);
  await shared.other.end();
  judge.end();
  rmSync(base, { recursive: true, force: true });
  console.log(`${results.asked} spelled requests, ${((Date.now() - begun) / 1000).toFixed(0)} s`);
  console.log(`policies total: ${results.passed} passed, ${results.failed.length} failed`);
  if (results.failed.length) process.exitCode = 1;
}

await main();
process.exit(process.exitCode ?? 0);
