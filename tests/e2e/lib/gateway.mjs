// Starts Lineward in front of a command and sees to its end.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { binary } from './binary.mjs';
import { bounded, temporaryFolder } from './events.mjs';
import { describe, descendants, leftovers, tagged } from './processes.mjs';
import { overTransport, transportArgs } from './transport.mjs';

const START_MS = 20_000;
const STOP_MS = 40_000; // the drain time and some
const LEFTOVER_MS = 10_000;
const LAST_WORDS_MS = 2_000; // after its end
const TAG = 'LINEWARD_E2E_TAG';
const URL_LINE = /https?:\/\/127\.0\.0\.1:\d+\/mcp\b/;

const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.once(signal, () => process.exit(2));

/** Resolves with the URL that the process prints on stderr; rejects when it ends without one. */
function urlOf(child, stderr) {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) =>
      reject(new Error(`ended with ${signal ?? code} before it listened:\n${stderr()}`)),
    );
    createInterface({ input: child.stderr }).on('line', (line) => {
      const url = URL_LINE.exec(line)?.[0];
      if (url) resolve(url);
    });
  });
}

/**
 * Starts a program that prints the URL it listens at.
 *
 * @returns {{url: string, pid: number, stderr: () => string, stop: () => Promise<void>, ended: Promise<number | string>}} stop() sends
 *   SIGTERM and rejects when the exit code is not 0 (strict), or when anything that it started is still there; ended is
 *   the exit code or the signal.
 */
export async function startListener(command, args, { env = {}, strict = true } = {}) {
  const tag = randomUUID();
  const isGateway = command === binary() && args[0] === 'run';
  const child = spawn(command, isGateway ? ['run', ...transportArgs, ...args.slice(1)] : args, {
    env: { ...process.env, ...env, [TAG]: tag },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.add(child);
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (chunk) => (text = (text + chunk).slice(-200_000)));
  const said = new Promise((resolve) => child.stderr.once('close', resolve));
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)));
  ended.then(() => running.delete(child));
  const family = new Map();
  const look = () => descendants(child.pid).forEach((one) => family.set(`${one.pid} ${one.started}`, one));

  /** Ends what is left of it by force; resolves with the names of those. */
  async function sweep(withinMs) {
    const left = await leftovers(() => [...family.values(), ...tagged(TAG, tag)], withinMs);
    const names = [...new Set(left.map(describe))];
    for (const { pid } of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // gone in the meantime
      }
    }
    // Its last output may not be read yet. Then, it may be in other hands, and would keep this process alive.
    await bounded(said, LAST_WORDS_MS, 'its last words').catch(() => {});
    child.stderr.destroy();
    return names;
  }

  let forwarder = { url: undefined, stop: () => {} };

  async function stop() {
    look();
    child.kill('SIGTERM');
    const end = await bounded(ended, STOP_MS, 'the end after SIGTERM').catch((error) => {
      look();
      child.kill('SIGKILL');
      return error.message;
    });
    forwarder.stop();
    const names = await sweep(LEFTOVER_MS);
    if (names.length) throw new Error(`${command} left processes behind: ${names.join(', ')}`);
    if (strict && end !== 0) throw new Error(`${command} ended with ${end}, not 0:\n${text}`);
  }

  try {
    const url = await bounded(
      urlOf(child, () => text),
      START_MS,
      `${command}: the start`,
    );
    if (isGateway) forwarder = await overTransport(url);
    return { url: isGateway ? forwarder.url : url, pid: child.pid, stderr: () => text, stop, ended };
  } catch (error) {
    child.kill('SIGKILL');
    await sweep(0);
    throw error;
  }
}

// Many run at once: none has the default ops port or a control socket, unless a test is about them.
const quiet = (args) => [...args, ...['--ops', '--admin'].flatMap((flag) => (args.includes(flag) ? [] : [flag, 'off']))];

/** Starts Lineward on a free port in front of a command, given as one array. */
export async function startGateway({ args = [], command, env = {} }) {
  return startListener(binary(), ['run', '--listen', '127.0.0.1:0', ...quiet(args), '--', ...command], { env });
}

/** Starts Lineward on a free port as a configuration says; it ends with the test. */
export async function startGatewayFrom(t, config, { args = [], env = {}, strict = true } = {}) {
  const path = join(temporaryFolder(t), 'lineward.json');
  writeFileSync(path, JSON.stringify({ listen: { address: '127.0.0.1:0' }, ...config }));
  const gateway = await startListener(binary(), ['run', ...args, path], { env, strict });
  t.after(() => gateway.stop());
  return gateway;
}

/** Starts Lineward on a free port with these commands as one server; their names stay if they do not clash. */
export async function startGatewayTogether(commands) {
  const folder = mkdtempSync(join(tmpdir(), 'lineward-e2e-'));
  const path = join(folder, 'lineward.json');
  const mcpServers = Object.fromEntries(
    // A fixture writes its events to a file that the environment names.
    Object.entries(commands).map(([name, [command, ...args]]) => [name, { command, args, inheritEnv: true }]),
  );
  writeFileSync(path, JSON.stringify({ aggregate: { prefixMode: 'onConflict' }, mcpServers }));
  const gateway = await startListener(binary(), ['run', '--listen', '127.0.0.1:0', ...quiet([]), path]);
  const stop = () => gateway.stop().finally(() => rmSync(folder, { recursive: true, force: true }));
  return { ...gateway, stop };
}

/** Starts Lineward on a free port in front of an HTTP server, named on the command line. */
export async function startGatewayToUrl(url, { args = [], env = {} } = {}) {
  return startListener(binary(), ['run', '--listen', '127.0.0.1:0', '--url', url, ...args], { env });
}

/** Starts Lineward on a free port in front of an HTTP server: {url, …} as in a configuration file. */
export async function startGatewayTo(t, server, { args = [], env = {}, listen = {} } = {}) {
  const path = join(temporaryFolder(t), 'lineward.json');
  writeFileSync(path, JSON.stringify({ listen: { address: '127.0.0.1:0', ...listen }, mcpServers: { up: server } }));
  const gateway = await startListener(binary(), ['run', ...quiet(args), path], { env });
  t.after(() => gateway.stop());
  return gateway;
}
