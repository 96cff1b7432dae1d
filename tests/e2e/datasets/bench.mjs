// Lineward in front of one of the servers here, and clients of both eras that speak in bytes.
import { mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bounded, LIMIT_MS } from '../lib/events.mjs';
import { startGateway } from '../lib/gateway.mjs';
import { describe, leftovers, tagged } from '../lib/processes.mjs';
import { send } from './http.mjs';
import { raw } from './raw-json.mjs';

const DATA = new URL('../../data/', import.meta.url);

export const MODERN_META =
  '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}';
const BOTH = 'application/json, text/event-stream';

/** The rows of a corpus's index.tsv, by its first line's names, and the path of each file. */
export function corpus(name) {
  const folder = fileURLToPath(new URL(`${name}/`, DATA));
  const [head, ...lines] = readFileSync(`${folder}index.tsv`, 'utf8').trimEnd().split('\n');
  const names = head.split('\t');
  return lines.map((line) => {
    const row = Object.fromEntries(line.split('\t').map((value, i) => [names[i], value]));
    return { ...row, path: folder + row.file };
  });
}

export const bytesOf = (path) => readFileSync(path, 'latin1');

/** The headers of a modern request; of a legacy one in a session. */
export const modernHeaders = (method, name, more) => ({
  'Content-Type': 'application/json',
  Accept: BOTH,
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': method,
  ...(name === undefined ? {} : { 'Mcp-Name': name }),
  ...more,
});
export const legacyHeaders = (session, more) => ({
  'Content-Type': 'application/json',
  Accept: BOTH,
  ...(session ? { 'MCP-Protocol-Version': '2025-11-25', 'Mcp-Session-Id': session } : {}),
  ...more,
});

class Bench {
  constructor(folder) {
    this.folder = folder;
    this.log = join(folder, 'record');
    this.ending = undefined;
    writeFileSync(this.log, '');
  }

  async start(command, args) {
    const server = [process.execPath, fileURLToPath(new URL(command, import.meta.url)), ...args];
    this.gateway = await startGateway({ args: ['-e', `FAKE_LOG=${this.log}`], command: server });
    this.url = this.gateway.url;
  }

  /** The records of the server's processes: [{pid, line}]. */
  lines() {
    const all = readFileSync(this.log, 'latin1').split('\n').slice(0, -1);
    return all.map((text) => {
      const blank = text.indexOf(' ');
      return { pid: Number(text.slice(0, blank)), line: text.slice(blank + 1) };
    });
  }

  /** Resolves with the first record from that index on that fits. */
  recorded(fits, from, what, ms = LIMIT_MS) {
    let watcher;
    const found = new Promise((resolve) => {
      const look = () => {
        const hit = this.lines().slice(from).find(fits);
        if (hit) resolve(hit);
      };
      watcher = watch(this.log, look);
      look();
    });
    return bounded(found, ms, what).finally(() => watcher.close());
  }

  modern(method, name, body, more) {
    return send(this.url, 'POST', modernHeaders(method, name, more), body);
  }

  legacy(session, body, more) {
    return send(this.url, 'POST', legacyHeaders(session, more), body);
  }

  /** A tool call; meta are members of _meta. */
  call(session, { id, name, args = '{}', meta = '', more = {} }) {
    const all = [meta, session ? '' : MODERN_META].filter(Boolean).join(',');
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args},"_meta":{${all}}}}`;
    return session ? this.legacy(session, body, more) : this.modern('tools/call', name, body, more);
  }

  /** The id of a new legacy session. */
  async session(capabilities = '{}') {
    const opened = await this.legacy(
      undefined,
      `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":${capabilities},"clientInfo":{"name":"c","version":"1"}}}`,
    ).done();
    const id = opened.headers.get('mcp-session-id');
    if (opened.status !== 200 || !id || raw(opened.messages.items.at(-1), 'result') === undefined) {
      throw new Error(`initialize got ${opened.status}: ${opened.body}`);
    }
    const initialized = await this.legacy(id, '{"jsonrpc":"2.0","method":"notifications/initialized"}').done();
    if (initialized.status !== 202) throw new Error(`notifications/initialized got ${initialized.status}`);
    return id;
  }

  /** Ends Lineward; rejects when it does not end with 0 or leaves a process behind. */
  stop() {
    this.ending ??= (async () => {
      try {
        await this.gateway.stop();
        const left = await leftovers(() => tagged('FAKE_LOG', this.log), 0);
        if (left.length) throw new Error(`left behind: ${left.map(describe).join(', ')}`);
      } finally {
        rmSync(this.folder, { recursive: true, force: true });
      }
    })();
    return this.ending;
  }
}

/** Lineward in front of `node COMMAND ARGS…`; prepare(folder) may write files and return the arguments. */
export async function startBench(command, prepare = () => []) {
  const folder = mkdtempSync(join(tmpdir(), 'lineward-data-'));
  const bench = new Bench(folder);
  try {
    await bench.start(command, prepare(folder));
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return bench;
}
