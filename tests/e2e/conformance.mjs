// Runs the official suite against Lineward, or with --direct against the fixtures alone, and prints one table.
//
//   ./node.sh conformance.mjs [--direct | --beside] [--all] [--cell NAME]… [--limit SECONDS] [--list]
//
// Exits with 1 when a required scenario of a chosen cell is lost, or the target ends badly.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startGateway, startGatewayTogether, startGatewayToUrl, startListener } from './lib/gateway.mjs';
import { META, modernPost } from './lib/modern.mjs';
import { conformanceRequirements, conformanceSuite, legacyFixture, memory, modernFixture, tasksFixture } from './lib/servers.mjs';

const RESULTS = fileURLToPath(new URL('./results/', import.meta.url));
const AT_ONCE = 2;

const URIS = ['resources-read-text', 'resources-read-binary', 'resources-templates-read'];
const SUBSCRIBE = ['resources-subscribe', 'resources-unsubscribe'];
// Scenarios that no revision scores, and that pass all the same: each must.
const LEGACY_MORE = ['server-session-lifecycle', 'server-sse-polling', 'json-schema-2020-12'];
const MODERN_MORE = ['http-header-validation', 'json-schema-2020-12'];
// A modern HTTP server checks Mcp-Param-* itself (docs/headers.md), and the official SDK's does not.
const PARAMETERS = 'http-custom-header-server-validation';
// The extension io.modelcontextprotocol/tasks. tasks-status-notifications is missing: the suite skips its only check.
const TASKS = [
  ...['tasks-lifecycle', 'tasks-capability-negotiation', 'tasks-wire-fields', 'tasks-request-state-removal', 'tasks-mrtr-input'],
  ...['tasks-request-headers', 'tasks-dispatch-and-envelope', 'tasks-required-task-error', 'tasks-mrtr-composition'],
];

// A cell is what the client speaks, in front of the fixture that speaks what the server does, over stdio or HTTP.
const CELLS = {
  legacy: { revision: '2025-11-25', server: legacyFixture, sameEra: true, more: LEGACY_MORE },
  modern: { revision: '2026-07-28', server: modernFixture, sameEra: true, more: [...MODERN_MORE, PARAMETERS] },
  'legacy-http': { revision: '2025-11-25', server: legacyFixture, sameEra: true, http: true, more: LEGACY_MORE },
  'modern-http': { revision: '2026-07-28', server: modernFixture, sameEra: true, http: true, more: MODERN_MORE },
  'modern-on-legacy': {
    revision: '2026-07-28',
    server: legacyFixture,
    byDefault: true,
    more: [...MODERN_MORE, PARAMETERS],
    // A scenario gives a call 600 ms. Lineward would first have to start a process for callers that declare
    // this: on a busy machine Node alone takes longer.
    warmUp: { elicitation: {} },
  },
  'modern-on-legacy-http': {
    revision: '2026-07-28',
    server: legacyFixture,
    byDefault: true,
    more: [...MODERN_MORE, PARAMETERS],
    http: true,
    warmUp: { elicitation: {} },
  },
  'legacy-on-modern': { revision: '2025-11-25', server: modernFixture, byDefault: true, more: LEGACY_MORE },
  // The fixture among others behind one endpoint (docs/many-servers.md): its names stay; its URIs name the server.
  // Requests for an unlisted test://… fail.
  'legacy-together': { revision: '2025-11-25', server: legacyFixture, together: true, notBuilt: [...URIS, ...SUBSCRIBE] },
  'modern-together': { revision: '2026-07-28', server: modernFixture, together: true, notBuilt: URIS },
  'legacy-on-modern-http': { revision: '2025-11-25', server: modernFixture, byDefault: true, http: true, more: LEGACY_MORE },
  tasks: { revision: '2026-07-28', server: tasksFixture, byDefault: true, only: TASKS },
};

const { values: options } = parseArgs({
  options: {
    direct: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    beside: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    cell: { type: 'string', multiple: true, default: [] },
    limit: { type: 'string', default: '240' },
  },
});

/** The scenarios that a revision requires of a server, out of the list that the suite ships. */
function requiredScenarios(revision) {
  const lines = readFileSync(conformanceRequirements(revision), 'utf8').split('\n');
  const begin = lines.indexOf('server:') + 1;
  const names = [];
  for (let at = begin; /^\s+-|^\s*$|^\s*#/.test(lines[at] ?? '-end'); at++) {
    const name = /^\s+-\s+(\S+)/.exec(lines[at])?.[1];
    if (name) names.push(name);
  }
  if (!names.length) throw new Error(`no server scenarios found for ${revision}`);
  return names;
}

/** Lists the tools once as a 2026-07-28 client that declares these capabilities: a process for such clients is up then. */
async function warm(url, capabilities) {
  const _meta = { [`${META}clientInfo`]: { name: 'warm-up', version: '1.0.0' }, [`${META}clientCapabilities`]: capabilities };
  const request = modernPost('tools/list', { _meta }, { id: 1 });
  const response = await fetch(url, { ...request, signal: AbortSignal.timeout(60_000) });
  await response.text();
}

/** Runs a part of the suite to its end, or to the limit; resolves with what ended it. */
async function runSuite(url, what, folder) {
  const log = openSync(join(folder, 'suite.log'), 'a');
  const [node, program] = conformanceSuite();
  const args = [program, 'server', '--url', url, ...what, '--output-dir', folder];
  const suite = spawn(node, args, { stdio: ['ignore', log, log] });
  closeSync(log);
  const killNow = () => suite.kill('SIGKILL');
  process.once('exit', killNow);
  const timer = setTimeout(killNow, Number(options.limit) * 1000);
  const end = await new Promise((resolve) => suite.once('exit', (code, signal) => resolve(signal ?? code)));
  clearTimeout(timer);
  process.off('exit', killNow);
  return end;
}

/** {scenario: checks}, out of the folders that the suite wrote. */
function readChecks(folder) {
  const checks = {};
  for (const name of readdirSync(folder)) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1];
    if (!scenario) continue;
    try {
      checks[scenario] = JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8'));
    } catch {
      // begun and not finished
    }
  }
  return checks;
}

function judge(required, more, checks) {
  const lost = [];
  let warnings = 0;
  for (const scenario of [...required, ...more]) {
    const failures = checks[scenario]?.filter((check) => check.status === 'FAILURE');
    warnings += checks[scenario]?.filter((check) => check.status === 'WARNING').length ?? 0;
    if (!failures) lost.push({ scenario, failures: [{ id: 'not finished', errorMessage: 'see suite.log' }] });
    else if (failures.length)
      lost.push({ scenario, failures: failures.map(({ id, errorMessage }) => ({ id, errorMessage })) });
  }
  const rest = Object.keys(checks).filter((scenario) => !required.includes(scenario) && !more.includes(scenario));
  const restPassed = rest.filter((scenario) => checks[scenario].every((check) => check.status !== 'FAILURE'));
  return { lost, warnings, optional: rest.length, optionalPassed: restPassed.length };
}

async function runCell(name, direct) {
  const { revision, server, http, notBuilt = [], only } = CELLS[name];
  const more = direct ? [] : (CELLS[name].more ?? []);
  const folder = join(RESULTS, direct ? `${name}-direct` : name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const all = only ?? requiredScenarios(revision);
  const required = all.filter((scenario) => !notBuilt.includes(scenario));
  const began = Date.now();
  const outcome = {
    name,
    direct,
    revision,
    total: required.length,
    revisionTotal: all.length,
    notBuilt,
    passed: 0,
    more: more.length,
    morePassed: 0,
    lost: [],
    warnings: 0,
    optional: 0,
    optionalPassed: 0,
  };
  const cleanups = [];
  let target;
  try {
    const [program, ...args] = server();
    const listener =
      (direct || http) && (await startListener(program, [...args, '--http', '0'], { strict: false }));
    if (listener) cleanups.push(() => listener.stop());
    if (direct) target = listener;
    else if (http) target = await startGatewayToUrl(listener.url);
    else if (CELLS[name].together)
      target = await startGatewayTogether({ fixture: [program, ...args], memory: memory() });
    else target = await startGateway({ command: [program, ...args] });
    if (target !== listener) cleanups.push(() => target.stop());
    if (CELLS[name].warmUp && !direct) await warm(target.url, CELLS[name].warmUp);
    const parts = only ? only.map((scenario) => ['--scenario', scenario]) : [['--requirements', revision]];
    for (const part of parts) {
      const end = await runSuite(target.url, part, folder);
      if (typeof end === 'string')
        outcome.trouble = `the suite was ended by ${end}; the limit is ${options.limit}s`;
    }
    Object.assign(outcome, judge(required, more, readChecks(folder)));
    const lost = (scenarios) => outcome.lost.filter(({ scenario }) => scenarios.includes(scenario)).length;
    outcome.passed = required.length - lost(required);
    outcome.morePassed = more.length - lost(more);
  } catch (error) {
    outcome.trouble = error.message;
  }
  for (const cleanup of cleanups.reverse()) {
    try {
      await cleanup();
    } catch (error) {
      outcome.trouble = [outcome.trouble, error.message].filter(Boolean).join('; ');
    }
  }
  if (target) writeFileSync(join(folder, 'target.log'), target.stderr());
  outcome.seconds = (Date.now() - began) / 1000;
  writeFileSync(join(folder, 'outcome.json'), `${JSON.stringify(outcome, null, 2)}\n`);
  return outcome;
}

/** Revision by server: through Lineward, and the same fixture directly. */
function printMatrix(outcomes, direct) {
  const servers = {
    'legacy stdio': [legacyFixture, false],
    'legacy HTTP': [legacyFixture, true],
    'modern stdio': [modernFixture, false],
    'modern HTTP': [modernFixture, true],
  };
  const row = (first, cells) => console.log([first.padEnd(12), ...cells.map((cell) => cell.padStart(24))].join(''));
  console.log();
  row('client', Object.keys(servers));
  for (const revision of [...new Set(outcomes.map((outcome) => outcome.revision))]) {
    const cells = Object.values(servers).map(([server, http]) => {
      const fits = ({ name }) => CELLS[name].server === server;
      const through = outcomes.find(
        (outcome) =>
          outcome.revision === revision &&
          fits(outcome) &&
          !CELLS[outcome.name].together &&
          !CELLS[outcome.name].only &&
          Boolean(CELLS[outcome.name].http) === http,
      );
      const alone = direct.find((outcome) => outcome.revision === revision && fits(outcome));
      if (!through) return '-';
      const asked = `${through.passed}/${through.revisionTotal}`;
      return alone ? `${asked} (direct ${alone.passed}/${alone.revisionTotal})` : asked;
    });
    row(revision, cells);
  }
}

function print(outcomes, direct = []) {
  const row = (...cells) =>
    console.log(cells.map((cell, i) => (i ? String(cell).padStart(10) : String(cell).padEnd(22))).join('  '));
  row('cell', 'revision', 'required', 'more', 'warnings', 'optional', 'seconds');
  for (const { name, revision, passed, total, more, morePassed, warnings, optional, optionalPassed, seconds } of outcomes) {
    row(name, revision, `${passed}/${total}`, `${morePassed}/${more}`, warnings, `${optionalPassed}/${optional}`, seconds.toFixed(1));
  }
  for (const { name, lost, trouble, notBuilt, total, revisionTotal } of [...outcomes, ...direct]) {
    if (notBuilt.length)
      console.log(`\n${name}: ${total} of ${revisionTotal} are asked for; not these: ${notBuilt.join(', ')}`);
    if (trouble) console.log(`\n${name}: ${trouble}`);
    for (const { scenario, failures } of lost) {
      console.log(`\n${name}: lost ${scenario}`);
      for (const { id, errorMessage } of failures)
        console.log(`    ${id}: ${(errorMessage ?? '').slice(0, 300)}`);
    }
  }
  printMatrix(outcomes, direct);
  const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed + outcome.morePassed, 0);
  const failed = outcomes.reduce(
    (sum, { total, passed: ok, more, morePassed, trouble }) => sum + Math.max(total - ok + more - morePassed, trouble ? 1 : 0),
    0,
  );
  console.log(`\nconformance total: ${passed} passed, ${failed} failed`);
  return failed === 0;
}

function chosenCells() {
  const unknown = options.cell.filter((name) => !Object.hasOwn(CELLS, name));
  if (unknown.length)
    throw new Error(`no cell ${unknown.join(', ')}; there are ${Object.keys(CELLS).join(', ')}`);
  const names = options.cell.length
    ? options.cell
    : Object.keys(CELLS).filter((name) => options.all || CELLS[name].sameEra || CELLS[name].byDefault);
  return options.direct ? names.filter((name) => CELLS[name].sameEra && !CELLS[name].http) : names;
}

const names = chosenCells();
if (options.list) {
  names.forEach((name) => console.log(name));
} else {
  // The results of the fixtures alone stand beside those through Lineward.
  const alone = Object.keys(CELLS).filter((name) => CELLS[name].sameEra && !CELLS[name].http);
  const beside = options.direct || !options.beside ? [] : alone;
  const runs = [...names.map((name) => [name, options.direct]), ...beside.map((name) => [name, true])];
  const outcomes = [];
  const queue = runs.entries();
  const work = async () => {
    for (const [at, [name, direct]] of queue) outcomes[at] = await runCell(name, direct);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const good = print(outcomes.slice(0, names.length), outcomes.slice(names.length));
  process.exitCode = good ? 0 : 1;
}
