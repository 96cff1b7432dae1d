// Rules, patterns, keys and tokens: what a policy costs beside a call, by how much of it there is and by what it judges.
import { createHash } from 'node:crypto';
import { makeKey, signToken } from '../../e2e/lib/issuer.mjs';
import { asking, isResult, isStatus, joined, modern, repeat, world } from '../ground.mjs';
import { listed } from '../wire.mjs';

const KIB = 1024;
const call = (args = '', name = 't') => `"name":"${name}","arguments":{${args}}`;
const roomy = { maxInFlight: 100000, maxQueue: 100000 };
const deep = (levels, inside) => '{"a":'.repeat(levels) + inside + '}'.repeat(levels);
const filler = (bytes) => `{"filler":"${'x'.repeat(bytes)}"}`;

/** A policy that grows with n, or stays: `config(n)` is the rest of the configuration. */
const policy = (name, n, unit, config, bytes, { kind, judge = isResult, server = {}, files, before } = {}) => ({
  name: `policy: ${name}`,
  n,
  unit,
  kind,
  world: (size) => world({ era: 'modern', limits: roomy, ...server }, config(size), files?.(size)),
  at: async (meter, size) => {
    await before?.(meter, size);
    return typeof bytes(size, meter) === 'function' ? bytes(size, meter) : asking(meter, bytes(size, meter), judge);
  },
});
export const key = (i) => `key-${i}-0123456789abcdefghij`;
export const keyLine = (i, scopes = 'read') => `k${i} sha256:${createHash('sha256').update(key(i)).digest('hex')} ${scopes}`;
export const withKey = (method, rest) => modern('/mcp', method, rest, { headers: { 'X-API-Key': key(0) } });
const oneCall = () => modern('/mcp', 'tools/call', call());
const manyTools = (meter, count) => (meter.server.on['tools/list'] = (_, say) => say.result(listed('tools', joined(count, (i) => `{"name":"tool_${i}","inputSchema":{"type":"object"}}`))));
const resultOf = (meter, members) => (meter.server.on['tools/call'] = (_, say) => say.result(`{"resultType":"complete",${members}}`));
const globs = (n) => repeat(n, (i) => `other_${i}_*`);
const map = (n, of) => Object.fromEntries(repeat(n, of));

let signing;
const keys = (count) => (signing ??= repeat(64, (i) => makeKey(`k${i}`, 'EdDSA'))).slice(0, count);
const issuer = 'https://issuer.example';
const jwt = (more) => ({ auth: { jwt: { issuer, audiences: ['https://mcp.example'], jwks: { file: '$FOLDER/jwks.json' }, maxTokenBytes: '64KiB', ...more } } });
const jwks = (count) => ({ 'jwks.json': JSON.stringify({ keys: keys(count).map(({ jwk }) => jwk) }) });
let tokens = 0;
/** A token that was never seen before, each time. */
const tokenCalls = (claims = {}, header) => (meter) =>
  meter.connect().then((wire) => async () => {
    const now = Math.floor(Date.now() / 1000);
    const token = signToken(keys(1)[0], { iss: issuer, aud: 'https://mcp.example', sub: 's', exp: now + 600, jti: ++tokens, ...claims }, header);
    isResult(await wire.ask(modern('/mcp', 'tools/call', call(), { headers: { Authorization: `Bearer ${token}` } })));
  });
const tokenRow = (name, n, unit, countOf, claims, { kind, header, config = {} } = {}) => ({
  name: `policy: jwt, ${name}`,
  n,
  unit,
  kind,
  world: (size) => world({ era: 'modern' }, jwt(config), jwks(countOf(size))),
  at: (meter, size) => tokenCalls(claims(size), header)(meter),
});

const policies = [
  policy('toolFilter.allow, patterns beside a call', 100, 'patterns', (n) => ({ toolFilter: { allow: [...globs(n), 't'] } }), oneCall),
  policy('toolFilter.deny, patterns beside a list of 100 tools', 25, 'patterns', (n) => ({ toolFilter: { deny: globs(n) } }), () => modern('/mcp', 'tools/list'), { before: (meter) => manyTools(meter, 100) }),
  policy('toolFilter.deny, stars of a pattern against a name of 2 KiB', 8, 'stars', (n) => ({ toolFilter: { deny: [`${'*a'.repeat(n)}*b`] } }), () => modern('/mcp', 'tools/call', call('', 'a'.repeat(2 * KIB)))),
  policy('toolFilter.deny, length of a name against 16 stars', KIB, 'bytes', () => ({ toolFilter: { deny: [`${'*a'.repeat(16)}*b`] } }), (n) => modern('/mcp', 'tools/call', call('', 'a'.repeat(n)))),
  policy('toolFilter.deny, stars that almost match (2 KiB)', 8, 'stars', (n) => ({ toolFilter: { deny: [`*${'aaaa*'.repeat(n)}b`] } }), () => modern('/mcp', 'tools/call', call('', 'a'.repeat(2 * KIB)))),
  policy('toolFilter.resources, patterns beside a read', 50, 'patterns', (n) => ({ toolFilter: { resources: { deny: repeat(n, (i) => `file:///secret/${i}/*`) } } }), () => modern('/mcp', 'resources/read', '"uri":"file:///pub/a"')),
  policy('toolFilter.resources, patterns beside a list of 100', 10, 'patterns', (n) => ({ toolFilter: { resources: { deny: repeat(n, (i) => `file:///secret/${i}/*`) } } }), () => modern('/mcp', 'resources/list'), {
    before: (meter) => (meter.server.on['resources/list'] = (_, say) => say.result(listed('resources', joined(100, (i) => `{"name":"r","uri":"file:///pub/${i}"}`)))),
  }),
  policy('toolFilter.scopes, globs beside a call', 50, 'globs', (n) => ({ toolFilter: { scopes: map(n, (i) => [`other_${i}_*`, 'read']) }, auth: { apiKey: { keys: [keyLine(0)] } } }), () => withKey('tools/call', call())),
  policy('toolScopes, globs beside a call', 50, 'globs', (n) => ({ auth: { apiKey: { keys: [keyLine(0)], toolScopes: map(n, (i) => [`other_${i}_*`, 'read']) } } }), () => withKey('tools/call', call())),
  policy('methodScopes, globs beside a call', 50, 'globs', (n) => ({ auth: { apiKey: { keys: [keyLine(0)], methodScopes: map(n, (i) => [`other_${i}/*`, 'read']) } } }), () => withKey('tools/call', call())),
  policy('apiKey, keys beside a call', 250, 'keys', (n) => ({ auth: { apiKey: { keys: repeat(n, (i) => keyLine(i)) } } }), () => withKey('tools/call', call())),
  policy('apiKey, scopes of the key', 8, 'scopes', (n) => ({ auth: { apiKey: { keys: [keyLine(0, repeat(n, (i) => `s${i}`).join(' '))], requiredScopes: ['s0'] } } }), () => withKey('tools/call', call())),
  tokenRow('keys of the issuer', 8, 'keys', (n) => n, () => ({}), { kind: 'flat' }),
  tokenRow('keys of the issuer, tokens without kid', 8, 'keys', (n) => n, () => ({}), { header: { kid: undefined } }),
  tokenRow('scopes of a token', 32, 'scopes', () => 1, (n) => ({ scope: repeat(n, (i) => `s${i}`).join(' ') }), { config: { requiredScopes: ['s0'] } }),
  tokenRow('scopes of a token in a list', 32, 'scopes', () => 1, (n) => ({ scp: repeat(n, (i) => `s${i}`) }), { config: { requiredScopes: ['s0'] } }),
  tokenRow('audiences of a token', 30, 'audiences', () => 1, (n) => ({ aud: [...repeat(n, (i) => `https://other.example/${i}`), 'https://mcp.example'] })),
  tokenRow('claims of a token', 300, 'claims', () => 1, (n) => Object.fromEntries(repeat(n, (i) => [`claim${i}`, i]))),
  tokenRow('length of a subject', 32, 'bytes', () => 1, (n) => ({ sub: 's'.repeat(n) })),
  policy('jwt, length of a token that is none', 7 * KIB, 'bytes', () => jwt({}), (n) => modern('/mcp', 'tools/call', call(), { headers: { Authorization: `Bearer ${'x'.repeat(n)}` } }), { judge: isStatus(401), files: () => jwks(1) }),
  policy('jwt, dots of a token that is none', KIB, 'dots', () => jwt({}), (n) => modern('/mcp', 'tools/call', call(), { headers: { Authorization: `Bearer ${'x.'.repeat(n)}` } }), { judge: isStatus(401), files: () => jwks(1) }),
  policy('redact on the wire, patterns (64 KiB of arguments)', 2, 'patterns', (n) => ({ plugins: [{ redact: { where: 'wire', patterns: repeat(n, (i) => `secret${i}-[A-Za-z0-9]{20,}`) } }] }), () => modern('/mcp', 'tools/call', call(`"a":"${'x'.repeat(64 * KIB)}"`))),
  policy('redact on the wire, length of a text', 64 * KIB, 'bytes', () => ({ plugins: [{ redact: { where: 'wire', patterns: ['sk-[A-Za-z0-9]{20,}', '(?i)bearer [a-z0-9._-]+'] } }] }), (n) => modern('/mcp', 'tools/call', call(`"a":"${'x'.repeat(n)}"`))),
  policy('redact on the wire, beginnings of what it looks for', 2 * KIB, 'beginnings', () => ({ plugins: [{ redact: { where: 'wire', patterns: ['sk-[A-Za-z0-9]{20,}'] } }] }), (n) => modern('/mcp', 'tools/call', call(`"a":"${'sk-abcdefghi '.repeat(n)}"`))),
  policy('redact on the wire, secrets of a text', 500, 'secrets', () => ({ plugins: [{ redact: { where: 'wire', patterns: ['sk-[A-Za-z0-9]{20,}'] } }] }), (n) => modern('/mcp', 'tools/call', call(`"a":"${`sk-${'a'.repeat(24)} `.repeat(n)}"`))),
  policy('redact on the wire, texts of a message', 1000, 'texts', () => ({ plugins: [{ redact: { where: 'wire', patterns: ['sk-[A-Za-z0-9]{20,}'] } }] }), (n) => modern('/mcp', 'tools/call', call(`"a":[${joined(n, () => '"text"')}]`))),
  policy('redact on the wire, texts that it changes', 500, 'texts', () => ({ plugins: [{ redact: { where: 'wire', patterns: ['sk-[A-Za-z0-9]{20,}'] } }] }), (n) => modern('/mcp', 'tools/call', call(`"a":[${joined(n, () => `"sk-${'a'.repeat(24)}"`)}]`))),
  policy('redact on the wire, depth of a message (128 KiB within)', 12, 'levels', () => ({ plugins: [{ redact: { where: 'wire', patterns: ['sk-[A-Za-z0-9]{20,}'], arguments: ['/a/a/a/b'] } }] }), (n) => modern('/mcp', 'tools/call', call(`"a":${deep(n, filler(128 * KIB))}`)), { kind: 'flat' }),
  policy('resultLimit cut, length of a text', 64 * KIB, 'bytes', () => ({ resultLimit: { maxBytes: '1KiB', excess: 'cut' } }), oneCall, { before: (meter, n) => resultOf(meter, `"content":[{"type":"text","text":"${'x\\n'.repeat(n / 3)}"}]`) }),
  policy('resultLimit cut, texts of a result', 500, 'texts', () => ({ resultLimit: { maxBytes: '1KiB', excess: 'cut' } }), oneCall, { before: (meter, n) => resultOf(meter, `"content":[${joined(n, () => `{"type":"text","text":"${'x'.repeat(200)}"}`)}]`) }),
  policy('redact on the wire, pointers (64 KiB of arguments)', 25, 'pointers', (n) => ({ plugins: [{ redact: { where: 'wire', arguments: repeat(n, (i) => `/a/b${i}/c`) } }] }), () => modern('/mcp', 'tools/call', call(`"a":{${joined(500, (i) => `"k${i}":"${'x'.repeat(100)}"`)}}`))),
  policy('redact on the wire, elements below a star', 500, 'elements', () => ({ plugins: [{ redact: { where: 'wire', arguments: ['/a/*/secret'] } }] }), (n) => modern('/mcp', 'tools/call', call(`"a":[${joined(n, () => '{"secret":1}')}]`))),
  policy('redact on the wire, result with many members', 1000, 'members', () => ({ plugins: [{ redact: { where: 'wire', results: ['/structuredContent/*/secret'] } }] }), () => oneCall(), {
    before: (meter, n) => (meter.server.on['tools/call'] = (_, say) => say.result(`{"content":[],"structuredContent":{${joined(n, (i) => `"k${i}":{"secret":1}`)}},"resultType":"complete"}`)),
  }),
  policy('accessLog with arguments, their length', 64 * KIB, 'bytes', () => ({ accessLog: { path: '$FOLDER/access.log', payload: 'all' } }), (n) => modern('/mcp', 'tools/call', call(`"a":"${'x'.repeat(n)}"`))),
  policy('trace, members of tracestate', 100, 'members', () => ({ trace: { endpoint: 'http://127.0.0.1:9/v1/traces' } }), (n) => modern('/mcp', 'tools/call', call(), { head: `traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\ntracestate: ${joined(n, (i) => `k${i}=v`)}\r\n` })),
  policy('allowedHosts, beside a call', 250, 'hosts', (n) => ({ listen: { allowedHosts: repeat(n, (i) => `h${i}.example`) } }), oneCall),
  policy('allowedOrigins, beside a call', 250, 'origins', (n) => ({ listen: { allowedOrigins: ['https://page.example', ...repeat(n, (i) => `https://o${i}.example`)] } }), () => modern('/mcp', 'tools/call', call(), { headers: { Origin: 'https://page.example' } })),
];

/** Rules that stand beside a server. */
const beforeServer = (name, n, unit, server, bytes, kind) => ({ name: `policy: ${name}`, n, unit, kind, world: (size) => world({ era: 'modern', ...server(size) }), at: (meter, size) => asking(meter, bytes(size)) });
const ruled = [
  beforeServer('timeouts by tool, globs beside a call', 100, 'globs', (n) => ({ tools: { overrides: map(n, (i) => [`other_${i}_*`, { timeouts: { request: '1m' } }]) } }), oneCall),
  beforeServer('timeouts by method, globs beside a call', 100, 'globs', (n) => ({ methods: map(n, (i) => [`other_${i}/*`, { timeouts: { request: '1m' } }]) }), oneCall),
  beforeServer('forwardHeaders, globs beside 50 fields', 8, 'globs', (n) => ({ forwardHeaders: repeat(n, (i) => `X-Other-${i}-*`) }), () => modern('/mcp', 'tools/call', call(), { head: repeat(50, (i) => `X-Field-${i}: 1\r\n`).join('') })),
  beforeServer('forwardHeaders, fields that are passed on', 50, 'fields', () => ({ forwardHeaders: ['X-*'] }), (n) => modern('/mcp', 'tools/call', call(), { head: repeat(n, (i) => `X-Field-${i}: 1\r\n`).join('') })),
];

export const rows = [...policies, ...ruled];
