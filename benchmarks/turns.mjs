// Programs that are up at once and measured in turns, so that a busy moment of the machine hits all of them.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answers } from './fronts.mjs';

export const ROUNDS = 5;

export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
/** `options` as words for one of our programs. */
export const flags = (options) => Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
/** The seconds of each round where all rounds have so many. */
export const share = (seconds) => Math.max(2, Math.ceil(seconds / ROUNDS));

/** Processes that are stopped together, the last one first. `silent`: what they log for each call goes to /dev/null. */
export function launcher({ silent = false } = {}) {
  const stops = [];
  let stopping = false;
  /** Until it answers at its port. Its process id. */
  const launch = async (name, command, port) => {
    let said = '';
    const stdio = ['ignore', 'ignore', silent ? 'ignore' : 'pipe'];
    const child = spawn(String(command[0]), command.slice(1).map(String), { stdio });
    child.stderr?.setEncoding('utf8').on('data', (text) => (said = (said + text).slice(-2000)));
    let ended = false;
    child.once('exit', () => (ended = true)).once('error', () => (ended = true));
    child.once('exit', (code, signal) => {
      if (!stopping) console.error(`${name} ended by itself (${signal ?? code}): ${said}`);
    });
    stops.push(async () => {
      child.kill('SIGTERM');
      for (let i = 0; i < 100 && !ended; ++i) await sleep(100);
      if (!ended) child.kill('SIGKILL');
    });
    const latest = Date.now() + 20_000;
    while (!(await answers(port))) {
      if (ended || Date.now() > latest) throw new Error(`${name} did not start: ${command.join(' ')}\n${said}`);
      await sleep(50);
    }
    return child.pid;
  };
  const stop = async () => {
    stopping = true;
    for (const one of stops.splice(0).toReversed()) await one();
  };
  return { launch, stop };
}

/** `work(folder)`, after which its folder and all that `programs` launched are gone; what it throws stands in out.errors. */
export async function inFolder(name, programs, out, work) {
  const folder = mkdtempSync(join(tmpdir(), `lineward-${name}-`));
  try {
    await work(folder);
  } catch (error) {
    out.errors.push(String(error.message));
  } finally {
    await programs.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return out;
}

/** The command of a Lineward with this configuration at that port. */
export function lineward({ build, folder }, port, config) {
  const path = join(folder, `${port}.json`);
  writeFileSync(path, JSON.stringify({ log: { level: 'error' }, ...config, listen: { ...config.listen, address: `127.0.0.1:${port}` } }));
  return [join(build, 'lineward'), 'run', '--ops', 'off', '--admin', 'off', '--config', path];
}

/** Each front's runs of bench-load, `options` and its own together; what went wrong goes to `errors`. */
export async function turns(fronts, options, { measure, errors }) {
  for (const front of fronts) front.runs = [];
  for (let round = 0; round < ROUNDS; ++round) {
    for (const front of fronts) {
      const result = await measure('bench-load', flags({ port: front.port, pid: front.pid, ...options, ...front.options }));
      if (result.ok && result.calls) front.runs.push(result);
      else errors.push(`${front.name}: ${result.error}`);
    }
  }
}

/** The middle one of its rounds in each respect; calls added up. */
export function middle({ name, runs }) {
  return {
    name,
    calls: runs.reduce((sum, run) => sum + run.calls, 0),
    per_second: median(runs.map((run) => run.calls / run.seconds)),
    cpu_us: median(runs.map((run) => (run.front_cpu / run.calls) * 1e6)),
    p50_us: median(runs.map((run) => run.p50_us)),
  };
}
