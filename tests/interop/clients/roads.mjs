// The roads between a client and a server: directly, and each way through Lineward.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { binary } from '../../e2e/lib/binary.mjs';
import { startGateway, startListener } from '../../e2e/lib/gateway.mjs';
import { accepts, freePort } from '../../e2e/lib/ports.mjs';
import { memory } from '../../e2e/lib/servers.mjs';
import { Program } from './programs.mjs';

const START_MS = 60_000;
export const PREFIX = 's';

async function serveHttp(cell) {
  const port = await freePort();
  const { command, path, host = '127.0.0.1' } = cell.server.http(cell.cache, cell.home, port);
  const program = new Program(cell.asServer(command), { env: process.env, cwd: cell.home });
  cell.after(() => program.end());
  let ended = false;
  program.exited.then(() => (ended = true));
  for (const deadline = Date.now() + START_MS; !(await accepts(port)); await delay(50)) {
    if (ended || Date.now() > deadline) throw new Error(`the server does not listen: ${program.stderr.trim().slice(-300)}`);
  }
  return `http://${host}:${port}${path}`;
}

const stdioCommand = (cell) => cell.asServer(cell.server.stdio(cell.cache, cell.home));
const quiet = ['--ops', 'off', '--admin', 'off'];

async function gateway(cell, start) {
  const started = await start;
  cell.after(() => started.stop());
  return started.url;
}

async function fromFile(cell, config) {
  const path = join(cell.home, 'lineward.json');
  writeFileSync(path, JSON.stringify(config));
  return gateway(cell, startListener(binary(), ['run', '--listen', '127.0.0.1:0', ...quiet, path]));
}

const entryOf = ([command, ...args]) => ({ command, args });

async function aggregate(cell) {
  const other = entryOf(['env', `MEMORY_FILE_PATH=${join(cell.home, 'memory.jsonl')}`, ...memory()]);
  // A server may need longer for its start than the list of the others waits (10 s), on a busy machine.
  const config = { aggregate: { partTimeout: '1m' }, mcpServers: { [PREFIX]: entryOf(stdioCommand(cell)), other } };
  return { url: await fromFile(cell, config) };
}

async function legacySse(cell) {
  const url = await fromFile(cell, { listen: { legacySse: true }, mcpServers: { s: entryOf(stdioCommand(cell)) } });
  return { url: url.replace(/\/mcp$/, '/sse'), sse: true };
}

const canShare = () => {
  try {
    return /--share\b/.test(execFileSync(binary(), ['stdio', '--help'], { encoding: 'utf8', timeout: 20_000 }));
  } catch {
    return false;
  }
};

/** name; what the client speaks, what the server does; start(cell) resolves with the client's target. */
export const DIRECT = [
  { name: 'direct stdio', front: 'stdio', back: 'stdio', start: async (cell) => ({ command: stdioCommand(cell) }) },
  { name: 'direct http', front: 'http', back: 'http', start: async (cell) => ({ url: await serveHttp(cell) }) },
];

export const ROADS = [
  {
    name: 'run CMD',
    front: 'http',
    back: 'stdio',
    start: async (cell) => ({ url: await gateway(cell, startGateway({ command: stdioCommand(cell) })) }),
  },
  { name: 'run, /sse', front: 'sse', back: 'stdio', start: legacySse },
  { name: 'aggregate', front: 'http', back: 'stdio', prefix: PREFIX, start: aggregate },
  {
    name: 'stdio CMD',
    front: 'stdio',
    back: 'stdio',
    start: async (cell) => ({ command: [binary(), 'stdio', '--', ...stdioCommand(cell)] }),
  },
  {
    name: 'stdio URL',
    front: 'stdio',
    back: 'http',
    start: async (cell) => ({ command: [binary(), 'stdio', await serveHttp(cell)] }),
  },
];

/** The road of `lineward stdio --share`, where the binary has it. */
export const SHARED = {
  name: 'stdio --share',
  front: 'stdio',
  back: 'stdio',
  start: async (cell) => ({ command: [binary(), 'stdio', '--share', '--', ...stdioCommand(cell)] }),
};

let found;
export const roads = () => (found ??= canShare() ? [...ROADS, SHARED] : ROADS);

/** The direct road that a road is compared with; undefined if the client and the server cannot talk directly. */
export function baseline({ back }, speaks, server) {
  const possible = DIRECT.filter(({ front, back: needs }) => speaks.includes(front) && (needs === 'stdio' || server.http));
  return possible.find((direct) => direct.back === back) ?? possible[0];
}
