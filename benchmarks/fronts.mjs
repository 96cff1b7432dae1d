// How each gateway is started: its quickest fitting mode for one server, one era and a number of clients.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const peer = (path) => join(root, 'tests/peers/node_modules', path);
const running = new Map(); // child → its folder
process.on('exit', () => {
  for (const [child, folder] of running) {
    child.kill('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  }
});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.once(signal, () => process.exit(2));

const journalIn = (folder) => join(folder, 'cancelled');
const SESSIONS = 200; // a process for each legacy session of all runs: those of the runs before keep theirs for a minute

/** The configuration that the command line cannot express: more processes than the default allows. */
function linewardConfig({ folder, server, port, isolation, level }) {
  const [command, ...args] = server.command;
  const path = join(folder, 'lineward.json');
  const env = { BENCH_CANCEL_FILE: journalIn(folder), NODE_ENV: 'production' }; // servers inherit few variables
  const config = {
    listen: { address: `127.0.0.1:${port}` },
    log: { level },
    mcpServers: { [server.name]: { command, args, env, isolation, instances: SESSIONS } },
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

const lineward = (options) => [join(options.build, 'lineward'), 'run', '--config', linewardConfig(options)];

/**
 * name, the note under the table, the eras and servers it is measured with (all), the eras it never gets far in
 * (none), the command.
 */
export const FRONTS = [
  {
    name: 'lineward',
    long: true, // its memory after BENCH_LONG calls too
    note: 'as it comes; a log line for each call, to /dev/null',
    command: (o) => lineward({ ...o, isolation: 'auto', level: 'info' }),
  },
  {
    name: 'lineward, log level error',
    note: 'without the line for each call',
    command: (o) => lineward({ ...o, isolation: 'auto', level: 'error' }),
  },
  {
    name: 'lineward, shared',
    note: 'isolation shared: one server process for all legacy sessions, as mcp-proxy has it',
    eras: ['legacy'],
    command: (o) => lineward({ ...o, isolation: 'shared', level: 'info' }),
  },
  {
    name: 'bare loop',
    eras: ['modern'],
    servers: ['echo'],
    cancels: false,
    note: 'no gateway: one epoll loop that moves the bytes and looks at nothing, the floor on this machine',
    command: ({ build, server, port }) => [join(build, 'benchmarks/bench-bare-front'), port, ...server.command],
  },
  {
    name: 'supergateway',
    peer: true,
    bounded: ['modern'], // so few calls a second that BENCH_SECONDS ends every run
    note: '--stateful --logLevel none; in the modern era it starts a server process for each call',
    command: ({ server, port }) => [
      process.execPath,
      peer('supergateway/dist/index.js'),
      ...['--stdio', server.command.join(' '), '--outputTransport', 'streamableHttp', '--stateful'],
      ...['--port', port, '--logLevel', 'none'],
    ],
  },
  {
    name: 'mcp-proxy',
    peer: true,
    note: '--server stream --no-eventStore, and --upstreamProtocol auto for modern clients',
    command: ({ server, port, era }) => [
      process.execPath,
      peer('mcp-proxy/dist/bin/mcp-proxy.mjs'),
      ...['--host', '127.0.0.1', '--port', port, '--server', 'stream', '--no-eventStore'],
      ...(era === 'modern' ? ['--upstreamProtocol', 'auto'] : []),
      ...['--', ...server.command],
    ],
  },
];

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export const answers = (port) =>
  fetch(`http://127.0.0.1:${port}/nothing-here`, { signal: AbortSignal.timeout(1000) }).then(
    async (response) => (await response.arrayBuffer(), true),
    () => false,
  );

/** Starts one; stop() ends it and waits for its end. */
export async function start(front, options) {
  const folder = mkdtempSync(join(tmpdir(), 'lineward-bench-'));
  const journal = journalIn(folder);
  const port = await freePort();
  const [command, ...args] = front.command({ ...options, port, folder }).map(String);
  if (!existsSync(command)) throw new Error(`${command} is missing`);
  const child = spawn(command, args, {
    stdio: 'ignore',
    env: { ...process.env, BENCH_CANCEL_FILE: journal, NODE_ENV: 'production' },
  });
  running.set(child, folder);
  let ended = false;
  const gone = new Promise((resolve) => child.once('exit', () => resolve((ended = true))));
  gone.then(() => running.delete(child));
  const stop = async () => {
    if (!ended) child.kill('SIGTERM');
    await Promise.race([gone, sleep(15_000, null, { ref: false })]);
    if (!ended) child.kill('SIGKILL');
    await gone;
    rmSync(folder, { recursive: true, force: true });
  };
  const latest = Date.now() + 60_000;
  while (!(await answers(port))) {
    if (ended || Date.now() > latest) {
      await stop();
      throw new Error(`${front.name} did not start: ${command} ${args.join(' ')}`);
    }
    await sleep(50);
  }
  await sleep(1500); // its own start-up work, a probe of the server for one, is not what we measure
  return { port, pid: child.pid, journal, stop };
}
