// Commands that read a file or hear a server, from their start to their end: by how much they are given.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandMeter } from '../command_meter.mjs';
import { content, isResult, joined, modern, repeat, world } from '../ground.mjs';
import { Meter } from '../meter.mjs';
import { listed } from '../wire.mjs';
import { call, roomy } from './many.mjs';

const KIB = 1024;
const MOST_RECORDS = 20_000;
const AT_ONCE = 500;
const COMMANDS = { start: () => CommandMeter.start() };

/** `args(meter, n)` are the words of a command line; what they name is written or prepared there. */
const command = (name, n, unit, args, { kind } = {}) => ({
  name: `command: ${name}`,
  n,
  unit,
  kind,
  world: COMMANDS,
  at: async (meter, size) => {
    const words = await args(meter, size);
    return async () => {
      meter.server.on['tools/call'] = words.play ?? ((_, say) => say.result(content()));
      meter.server.on['tools/list'] = words.list ?? ((_, say) => say.result(listed('tools', '{"name":"t","inputSchema":{"type":"object"}}')));
      await meter.run(words.words ?? words);
    };
  },
});

// ---- files of a configuration

const yaml = (count) => `mcpServers:\n${repeat(count, (i) => `  s${i}:\n    # What it is for.\n    url: http://127.0.0.1:1/mcp/${i}\n    protocolEra: legacy\n`).join('')}`;
const mcpservers = (count) => JSON.stringify({ mcpServers: Object.fromEntries(repeat(count, (i) => [`s${i}`, { command: 'npx', args: ['-y', `server-${i}`], env: { REGION: 'eu' } }])) });
const toml = (count) => repeat(count, (i) => `[mcp_servers.s${i}]\ncommand = "npx"\nargs = ["-y", "server-${i}"]\nenv = { "REGION" = "eu" }\n`).join('\n');
const yamlOf = (meter, size, text) => meter.file(`${size}.yaml`, text);
const oneServer = (line) => `[mcp_servers.one]\ncommand = "npx"\n${line}\n`;
const files = [
  command('validate, servers of a YAML file', 125, 'servers', (meter, n) => ['validate', yamlOf(meter, n, yaml(n))]),
  command('validate, arguments of a server', 1000, 'arguments', (meter, n) => ['validate', yamlOf(meter, n, `mcpServers:\n  one:\n    command: "true"\n    args:\n${'      - word\n'.repeat(n)}`)]),
  command('fmt, servers with comments', 125, 'servers', (meter, n) => ['fmt', yamlOf(meter, n, yaml(n))]),
  command('fmt, lines of a comment', 2000, 'lines', (meter, n) => ['fmt', yamlOf(meter, n, `${'# A line of a comment.\n'.repeat(n)}${yaml(1)}`)]),
  command('adapt, servers of mcpServers to YAML', 125, 'servers', (meter, n) => ['adapt', meter.file(`${n}.json`, mcpservers(n)), '--to', 'yaml']),
  command('adapt, servers of TOML', 125, 'servers', (meter, n) => ['adapt', meter.file(`${n}.toml`, toml(n)), '--from', 'codex', '--to', 'claude-code']),
  command('adapt, bytes of a text in TOML', 32 * KIB, 'bytes', (meter, n) => ['adapt', meter.file(`${n}.toml`, oneServer(`cwd = "/${'x'.repeat(n)}"`)), '--from', 'codex', '--to', 'vscode']),
  command('adapt, items of an array in TOML', 2000, 'items', (meter, n) => ['adapt', meter.file(`${n}.toml`, oneServer(`args = [${joined(n, () => '"a"')}]`)), '--from', 'codex', '--to', 'vscode']),
  command('adapt, comments in TOML', 4000, 'lines', (meter, n) => ['adapt', meter.file(`${n}.toml`, `${'# a comment\n'.repeat(n)}${oneServer('')}`), '--from', 'codex', '--to', 'vscode']),
];

// ---- the audit log

let log;
/** The lines of a log of so many records, which a gateway wrote. */
async function records(folder, count) {
  if (!log) {
    mkdirSync(join(folder, 'audit'), { mode: 0o700 });
    const path = join(folder, 'audit', 'log.jsonl');
    const gateway = await Meter.start(world({ era: 'modern', limits: roomy }, { audit: { path } }));
    const wire = await gateway.connect();
    const bytes = Buffer.concat(repeat(AT_ONCE, () => modern('/mcp', 'tools/call', call())));
    for (let done = 0; done < MOST_RECORDS; done += AT_ONCE) {
      wire.send(bytes);
      for (let i = 0; i < AT_ONCE; ++i) isResult(await wire.next());
    }
    await gateway.close();
    log = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  }
  if (log.length < count) throw new Error(`the log has ${log.length} records`);
  return log.slice(0, count);
}
const text = (lines) => `${lines.join('\n')}\n`;
const PER_FILE = 50;
const audits = [
  command('audit verify, records', 2500, 'records', async (meter, n) => ['audit', 'verify', meter.file(`${n}.jsonl`, text(await records(meter.folder, n)))]),
  command('audit verify, files, the last first', 40, 'files', async (meter, n) => {
    const all = await records(meter.folder, n * PER_FILE);
    return ['audit', 'verify', ...repeat(n, (i) => meter.file(`${n}-${i}.jsonl`, text(all.slice(i * PER_FILE, (i + 1) * PER_FILE)))).reverse()];
  }),
];

// ---- a client of a server

const progress = (token, i) => `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${i}}}`;
const tokenOf = (text) => /"progressToken":("[^"]*"|\d+)/.exec(text)?.[1];
const tool = (i) => `{"name":"tool_${i}","description":"One of many.","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`;
const wanted = (properties) => `{"name":"t","inputSchema":{"type":"object","properties":{${properties}}}}`;
const clients = [
  command('call, bytes of a result', 128 * KIB, 'bytes', (meter, n) => ({ words: ['call', 't', '--url', meter.url], play: (_, say) => say.result(content('x'.repeat(n))) })),
  command('call, lines of a result', 8000, 'lines', (meter, n) => ({ words: ['call', 't', '--url', meter.url], play: (_, say) => say.result(content('x\\n'.repeat(n))) })),
  command('call, parts of a result', 1000, 'parts', (meter, n) => ({
    words: ['call', 't', '--url', meter.url],
    play: (_, say) => say.result(`{"content":[${joined(n, () => '{"type":"text","text":"x"}')}],"resultType":"complete"}`),
  })),
  command('call, messages of progress', 500, 'messages', (meter, n) => ({
    words: ['call', 't', '--url', meter.url, '--progress'],
    play: ({ text }, say) => {
      for (let i = 1; i <= n; ++i) say.message(progress(tokenOf(text.toString()), i));
      say.result(content());
    },
  })),
  command('call, bytes of an argument from a file', 128 * KIB, 'bytes', (meter, n) => ({
    words: ['call', 't', `a=@${meter.file(`${n}.txt`, 'x'.repeat(n))}`, '--url', meter.url],
    list: (_, say) => say.result(listed('tools', wanted('"a":{"type":"string"}'))),
  })),
  command('call, arguments by a schema', 250, 'arguments', (meter, n) => ({
    words: ['call', 't', ...repeat(n, (i) => `a${i}=${i}`), '--url', meter.url],
    list: (_, say) => say.result(listed('tools', wanted(joined(n, (i) => `"a${i}":{"type":"integer"}`)))),
  })),
  command('tools, tools of a server', 250, 'tools', (meter, n) => ({ words: ['tools', '--url', meter.url], list: (_, say) => say.result(listed('tools', joined(n, tool))) })),
];

export const rows = [...files, ...audits, ...clients];
