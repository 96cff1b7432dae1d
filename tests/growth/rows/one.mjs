// Messages of one server, once or repeated: lists, resources, streams, notifications, questions; and how a rule judges it.
import { spawnSync } from 'node:child_process';
import { ROADS, answering, asking, clientOf, content, forUris, isError, isResult, isStatus, joined, listening, modern, repeat, telling, world } from '../ground.mjs';
import { listed } from '../wire.mjs';
import { program } from '../programs.mjs';

const KIB = 1024;
const call = (args = '', name = 't') => `"name":"${name}","arguments":{${args}}`;
const filler = (bytes) => `"filler":"${'x'.repeat(bytes)}"`;
// Two levels of JSON for each; an answer has at most 128.
const nested = (levels, inside) => `{"properties":{"a":`.repeat(levels) + inside + '}}'.repeat(levels);
const tool = (name, more = '') => `{"name":"${name}","inputSchema":{"type":"object"}${more && ','}${more}}`;
const withSchema = (schema, more = '') => `{"name":"t","inputSchema":${schema}${more && ','}${more}}`;

let colliding;
/** Names for which the standard library's hash is the same. */
function collisions(count) {
  colliding ??= spawnSync(program('growth-collide'), ['1000'], { encoding: 'utf8' }).stdout.trim().split('\n');
  if (colliding.length < count) throw new Error('growth-collide found no names');
  return colliding.slice(0, count);
}

/** Each is [what, n, unit, items of tools/list, kind]. */
export const tools = [
  ['tools', 250, 'tools', (n) => joined(n, (i) => tool(`tool_${i}`))],
  ['tools with names that begin alike', 250, 'tools', (n) => joined(n, (i) => tool(`${'a'.repeat(100)}${i}`))],
  ['tools with names of one hash', 125, 'tools', (n) => collisions(n).map((name) => tool(name)).join(',')],
  ['tools of one name', 250, 'tools', (n) => joined(n, () => tool('same'))],
  ['depth of an input schema (128 KiB within)', 6, 'levels', (n) => withSchema(nested(n, `{"type":"string",${filler(128 * KIB)}}`)), 'flat'],
  ['depth of an output schema (128 KiB within)', 6, 'levels', (n) => tool('t', `"outputSchema":${nested(n, `{"type":"string",${filler(128 * KIB)}}`)}`), 'flat'],
  ['depth of annotations (128 KiB within)', 6, 'levels', (n) => tool('t', `"annotations":${nested(n, `{${filler(128 * KIB)}}`)}`), 'flat'],
  ['properties of an input schema', 500, 'properties', (n) => withSchema(`{"type":"object","properties":{${joined(n, (i) => `"p${i}":{"type":"string"}`)}}}`)],
  ['properties of an output schema', 500, 'properties', (n) => tool('t', `"outputSchema":{"type":"object","properties":{${joined(n, (i) => `"p${i}":{"type":"string"}`)}}}`)],
  ['parameters with x-mcp-header', 100, 'parameters', (n) => withSchema(`{"type":"object","properties":{${joined(n, (i) => `"p${i}":{"type":"string","x-mcp-header":"P${i}"}`)}}}`)],
  ['members of annotations', 500, 'members', (n) => tool('t', `"annotations":{${joined(n, (i) => `"m${i}":true`)}}`)],
  ['members of a tool', 500, 'members', (n) => tool('t', joined(n, (i) => `"m${i}":true`))],
  ['length of a description', 128 * KIB, 'bytes', (n) => tool('t', `"description":"${'d'.repeat(n)}"`)],
  ['members of _meta of a tool', 500, 'members', (n) => tool('t', `"_meta":{${joined(n, (i) => `"m${i}":true`)}}`)],
];

export const listRows = (label, { world, client }, which = tools, method = 'tools/list', key = 'tools') =>
  which.map(([what, n, unit, items, kind]) => ({
    name: `${method}, ${label}: ${what}`,
    n,
    unit,
    kind,
    world,
    at: async (meter, size) => {
      const text = items(size);
      const { wire, bytes } = await clientOf(meter, client);
      const request = bytes(method, '');
      return async () => {
        for (const server of Object.values(meter.servers)) server.on[method] = (_, say) => say.result(listed(key, text));
        isResult(await wire.ask(request));
      };
    },
  }));

const kept = { world: world({ era: 'modern' }, { defaults: { cache: { enabled: true } } }), client: 'modern' };
const filtered = { world: world({ era: 'modern' }, { toolFilter: { allow: ['*'], deny: ['*_secret'] } }), client: 'modern' };
const redacted = { world: world({ era: 'modern' }, { plugins: [{ redact: { where: 'wire', patterns: ['sk-[A-Za-z0-9]{20,}'] } }] }), client: 'modern' };
const pinned = { world: () => world({ era: 'modern' }, { toolFilter: { pin: { file: '$FOLDER/pins.json', mode: 'learn' } } }), client: 'modern' };
const guarded = {
  world: world({ era: 'modern' }, { toolFilter: { resources: { allow: ['file:///pub/*', 'https://host/*'], deny: ['file:///etc/*'] } } }),
  client: 'modern',
};
const pick = (rows, ...names) => rows.filter(([what]) => names.some((name) => what === name || what.startsWith(`${name} `)));
const few = ['tools', 'depth', 'properties', 'parameters'];

/** Parameters that become headers, beside arguments of 256 KiB: a walk for each of them would be seen. */
const headerRows = (label, road) => ({
  name: `tools/call, ${label}: x-mcp-header parameters (256 KiB of arguments)`,
  n: 4,
  unit: 'parameters',
  kind: 'flat',
  world: () => ROADS[road].world,
  at: async (meter, n) => {
    const marked = withSchema(`{"type":"object","properties":{${joined(n, (i) => `"p${i}":{"type":"string","x-mcp-header":"P${i}"}`)}}}`);
    meter.server.on['tools/list'] = (_, say) => say.result(listed('tools', marked));
    const { wire, bytes } = await clientOf(meter, ROADS[road].client);
    const headers = ROADS[road].client === 'modern' ? { head: repeat(n, (i) => `Mcp-Param-P${i}: v${i}\r\n`).join('') } : {};
    const request = bytes('tools/call', call(`${filler(256 * KIB)},${joined(n, (i) => `"p${i}":"v${i}"`)}`), headers);
    isResult(await wire.ask(bytes('tools/list', '')));
    return async () => isResult(await wire.ask(request));
  },
});

const uris = [
  ['length of its URI', KIB, 'bytes', (n) => `file:///pub/${'a'.repeat(n)}`],
  ['segments of its URI', 500, 'segments', (n) => `file:///pub/${'a/'.repeat(n)}`],
  ['percent escapes of its URI', 500, 'escapes', (n) => `file:///pub/${'%65'.repeat(n)}`],
  ['percent escapes of percent escapes', 500, 'escapes', (n) => `file:///pub/${'%2565'.repeat(n)}`],
  ['query of its URI', KIB, 'bytes', (n) => `https://host/a?${'a=1&'.repeat(n / 4)}`],
];
const dots = ['dot segments of its URI', 500, 'segments', (n) => `file:///pub/${'a/../'.repeat(n)}`];
const uriRows = (label, { world, client }, which, judge) =>
  which.map(([what, n, unit, uri]) => ({
    name: `resources/read, ${label}: ${what}`,
    n,
    unit,
    world,
    at: async (meter, size) => {
      const { wire, bytes } = await clientOf(meter, client);
      const request = bytes('resources/read', `"uri":"${uri(size)}"`);
      return async () => judge(await wire.ask(request));
    },
  }));

const resources = [
  ['resources', 250, 'resources', (n) => joined(n, (i) => `{"name":"r${i}","uri":"file:///pub/${i}"}`)],
  ['length of a URI', 16 * KIB, 'bytes', (n) => `{"name":"r","uri":"file:///pub/${'a/'.repeat(n / 2)}"}`],
  ['dot segments of a URI', 2000, 'segments', (n) => `{"name":"r","uri":"file:///pub/${'a/../'.repeat(n)}"}`],
  ['percent escapes of a URI', 4000, 'escapes', (n) => `{"name":"r","uri":"file:///pub/${'%65'.repeat(n)}"}`],
];

/** Messages before the answer, in events or lines. `play(say, n, message)` says it. */
const before = (road, what, n, unit, play, { more = '', useless = false } = {}) => ({
  name: `stream, ${road}: ${what}`,
  n,
  unit,
  useless,
  world: ROADS[road].world,
  at: async (meter, size) => {
    const { wire, bytes } = await clientOf(meter, ROADS[road].client);
    const request = ROADS[road].client === 'modern' ? bytes('tools/call', call(), { more }) : bytes('tools/call', `${call()},"_meta":{${more}}`);
    return async () => {
      meter.server.on['tools/call'] = (message, say) => {
        play(say, size, message);
        say.result(content());
      };
      isResult(await wire.ask(request));
    };
  },
});
const token = (text) => /"progressToken":("[^"]*"|\d+)/.exec(text.toString('latin1', 0, 4096))?.[1] ?? '0';
const progress = (at) => `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${at},"progress":1}}`;
const logLine = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"text"}}';
const asksProgress = { more: '"progressToken":"p"' };
const asksLog = { more: '"io.modelcontextprotocol/logLevel":"debug"' };
const notes = (road) => [
  before(road, 'progress notifications of a call', 100, 'notifications', (say, n, { text }) => { for (let i = 0; i < n; ++i) say.message(progress(token(text))); }, asksProgress),
  before(road, 'log notifications of a call', 100, 'notifications', (say, n) => { for (let i = 0; i < n; ++i) say.message(logLine); }, asksLog),
  before(road, 'unknown notifications of a call', 100, 'notifications', (say, n) => { for (let i = 0; i < n; ++i) say.message('{"jsonrpc":"2.0","method":"notifications/unknown"}'); }, { useless: road.endsWith('stdio') }),
  before(road, 'answers to no request', 100, 'answers', (say, n) => { for (let i = 0; i < n; ++i) say.message(`{"jsonrpc":"2.0","id":${900000 + i},"result":{}}`); }, { useless: road.endsWith('stdio') }),
];
const http = 'modern → HTTP';
const stdio = 'modern → stdio';
const streams = [
  ...notes(http),
  before(http, 'lines of an event', 500, 'lines', (say, n) => say.bytes(`data: {"jsonrpc":"2.0",\n${'data:\n'.repeat(n)}data: "method":"notifications/unknown"}\n\n`)),
  before(http, 'length of a line of an event', 64 * KIB, 'bytes', (say, n) => say.bytes(`data: {"jsonrpc":"2.0","method":"notifications/unknown","params":{${filler(n)}}}\n\n`)),
  before(http, 'comment lines', 1000, 'lines', (say, n) => say.bytes(':c\n'.repeat(n))),
  before(http, 'empty lines', 1000, 'lines', (say, n) => say.bytes('\n'.repeat(n))),
  before(http, 'unknown fields of an event', 1000, 'fields', (say, n) => say.bytes(`${'other: 1\n'.repeat(n)}\n`)),
  before(http, 'ids of events without data', 1000, 'events', (say, n) => say.bytes('id: 1\n\n'.repeat(n))),
  before(http, 'length of an id of an event', 16 * KIB, 'bytes', (say, n) => say.bytes(`id: ${'i'.repeat(n)}\n\n`)),
  before(http, 'event in chunks of a byte', 1000, 'chunks', (say, n) => {
    for (const byte of `data: {"jsonrpc":"2.0","method":"notifications/unknown","params":{${filler(n)}}}\n\n`) say.bytes(byte);
  }),
  ...notes(stdio),
  before(stdio, 'lines that are no messages', 200, 'lines', (say, n) => say.bytes('no message\n'.repeat(n)), { useless: true }),
  before(stdio, 'empty lines', 250, 'lines', (say, n) => say.bytes('\n'.repeat(n)), { useless: true }),
  before(stdio, 'length of a line that is no message', 128 * KIB, 'bytes', (say, n) => say.bytes(`${'x'.repeat(n)}\n`)),
  before(stdio, 'messages of a batch', 30, 'messages', (say, n) => say.bytes(`[${joined(n, () => '{"jsonrpc":"2.0","method":"notifications/unknown"}')}]\n`), { useless: true }),
  ...notes('legacy → legacy HTTP').slice(0, 2),
  ...notes('legacy → legacy stdio').slice(0, 2),
  ...notes('modern → legacy stdio').slice(0, 1),
  ...notes('legacy → HTTP').slice(0, 2),
  ...notes('modern → HTTP+SSE').slice(0, 1),
];

/** Questions that a call's answer brings. */
const questions = {
  name: 'answer: questions of a call',
  n: 8,
  unit: 'questions',
  world: ROADS[http].world,
  at: (meter, n) => {
    const asked = joined(n, (i) => `"q${i}":{"method":"elicitation/create","params":{"mode":"form","message":"Name?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}`);
    return answering(meter, 'tools/call', (_, say) => say.result(`{"resultType":"input_required","inputRequests":{${asked}},"requestState":"s"}`), modern('/mcp', 'tools/call', call(), { capabilities: '{"elicitation":{"form":{}}}' }));
  },
};
const states = {
  name: 'answer: length of requestState',
  n: 16 * KIB,
  unit: 'bytes',
  world: ROADS[http].world,
  at: (meter, n) =>
    answering(meter, 'tools/call', (_, say) => say.result(`{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"form","message":"Name?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"${'s'.repeat(n)}"}`), modern('/mcp', 'tools/call', call(), { capabilities: '{"elicitation":{"form":{}}}' })),
};
const foreign = {
  name: 'request: length of an unknown requestState',
  n: 64 * KIB,
  unit: 'bytes',
  world: ROADS[http].world,
  at: (meter, n) => asking(meter, modern('/mcp', 'tools/call', `${call()},"inputResponses":{"q":{"action":"decline"}},"requestState":"${'s'.repeat(n)}"`), isStatus(200, 400)),
};
const retries = {
  name: 'request: members beside an unknown requestState',
  n: 1000,
  unit: 'members',
  world: ROADS[http].world,
  at: (meter, n) => asking(meter, modern('/mcp', 'tools/call', `${call(joined(n, (i) => `"m${i}":${i}`))},"inputResponses":{"q":{"action":"decline"}},"requestState":"lw1.s"`), isStatus(200, 400)),
};

const others = [
  {
    name: 'prompts/get: arguments',
    n: 500,
    unit: 'arguments',
    at: (meter, n) => asking(meter, modern('/mcp', 'prompts/get', `"name":"p","arguments":{${joined(n, (i) => `"a${i}":"${i}"`)}}`)),
  },
  {
    name: 'prompts/get: messages of its answer',
    n: 500,
    unit: 'messages',
    at: (meter, n) =>
      answering(meter, 'prompts/get', (_, say) => say.result(`{"messages":[${joined(n, () => '{"role":"user","content":{"type":"text","text":"x"}}')}],"resultType":"complete"}`), modern('/mcp', 'prompts/get', '"name":"p"')),
  },
  {
    name: 'resources/read: contents of its answer',
    n: 500,
    unit: 'contents',
    at: (meter, n) =>
      answering(
        meter,
        'resources/read',
        (_, say) => say.result(`{"contents":[${joined(n, (i) => `{"uri":"file:///${i}","text":"x"}`)}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`),
        modern('/mcp', 'resources/read', '"uri":"file:///a"'),
      ),
  },
  {
    name: 'completion/complete: values',
    n: 500,
    unit: 'values',
    at: (meter, n) =>
      answering(
        meter,
        'completion/complete',
        (_, say) => say.result(`{"completion":{"values":[${joined(n, (i) => `"v${i}"`)}]},"resultType":"complete"}`),
        modern('/mcp', 'completion/complete', '"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"x"}'),
      ),
  },
  {
    name: 'request: length of a cursor',
    n: 16 * KIB,
    unit: 'bytes',
    at: (meter, n) => asking(meter, modern('/mcp', 'tools/list', `"cursor":"${'c'.repeat(n)}"`)),
  },
].map((row) => ({ world: ROADS[http].world, ...row }));

const listenRow = (name, n, unit, road, of) => ({
  name: `listen, ${road}: ${name}`,
  n,
  unit,
  world: ROADS[road].world,
  at: async (meter, size) => {
    const wishes = forUris(joined(size, of));
    return async () => (await listening(meter, wishes)).close();
  },
});
const listens = [
  ...[http, stdio, 'modern → legacy HTTP', 'modern → legacy stdio'].map((road) => listenRow('URIs of one', 100, 'URIs', road, (i) => `"file:///${i}"`)),
  listenRow('one URI again and again', 200, 'times', stdio, () => '"file:///a"'),
  {
    name: 'listen, modern → stdio: notifications of one with 200 URIs',
    n: 100,
    unit: 'notifications',
    world: ROADS[stdio].world,
    at: async (meter, n) => {
      const wire = await listening(meter, forUris(joined(200, (i) => `"file:///${n}/${i}"`)));
      return telling(meter, wire, n, (i) => `file:///${n}/${i % 200}`);
    },
  },
  {
    name: 'listen, modern → stdio: a notification of one that has many URIs',
    n: 100,
    unit: 'URIs',
    kind: 'flat',
    world: ROADS[stdio].world,
    at: async (meter, n) => {
      const wire = await listening(meter, forUris(joined(n, (i) => `"file:///${n}/${i}"`)));
      return telling(meter, wire, 100, () => `file:///${n}/${n - 1}`);
    },
  },
];

export const rows = [
  ...listRows('modern → HTTP', ROADS[http]),
  ...listRows('modern → stdio', ROADS[stdio], pick(tools, 'tools', 'depth of an input schema')),
  ...listRows('modern → legacy HTTP', ROADS['modern → legacy HTTP']),
  ...listRows('legacy → HTTP', ROADS['legacy → HTTP']),
  ...listRows('legacy → legacy HTTP', ROADS['legacy → legacy HTTP'], pick(tools, ...few)),
  ...listRows('cache', kept, pick(tools, ...few)),
  ...listRows('toolFilter', filtered),
  ...listRows('redact', redacted, pick(tools, ...few)),
  ...listRows('pins', pinned, pick(tools, ...few)),
  headerRows('legacy → HTTP', 'legacy → HTTP'),
  headerRows('modern → HTTP', http),
  headerRows('modern → stdio', stdio),
  ...uriRows('modern → HTTP', ROADS[http], [...uris, dots], isResult),
  ...uriRows('rules', guarded, uris, isResult),
  ...uriRows('rules', guarded, [dots], isError),
  ...listRows('modern → HTTP', ROADS[http], resources, 'resources/list', 'resources'),
  ...listRows('rules', guarded, resources, 'resources/list', 'resources'),
  ...others,
  questions,
  states,
  foreign,
  retries,
  ...streams,
  ...listens,
];
