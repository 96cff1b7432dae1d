// Servers learn the identity of callers (docs/identity.md) in headers, `_meta` and variables, each for its own request.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { startGatewayFrom } from '../lib/gateway.mjs';
import * as h2 from '../lib/http2.mjs';
import { startIssuer } from '../lib/issuer.mjs';
import { lastMessage, modernPost } from '../lib/modern.mjs';
import { freePort } from '../lib/ports.mjs';
import { answer, call, json, startOrigin } from '../lib/raw-origin.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const quiet = ['--ops', 'off', '--admin', 'off'];
const PRINCIPALS = Array.from({ length: 8 }, (_, n) => ({ subject: `user-${n}`, groups: [`team-${n}`, 'a,b'], tenant: n % 2 ? 'odd' : 'even' }));
const IDENTITY = { 'X-User': '${principal.subject}', 'X-Groups': '${claim:groups}', 'X-Tenant': '${claim:realm.tenant}' };
const META = { 'com.example/user': '${principal.subject}', 'com.example/groups': '${claim:groups}' };

/** The values that a server gets for a caller. */
const seen = ({ subject, groups, tenant }) => ({ user: subject, groups: `${groups[0]},a%2Cb`, tenant });
const headersOf = ({ headers }) => ({ user: headers['x-user'], groups: headers['x-groups'], tenant: headers['x-tenant'] });

/** A stdio server that tells of the process's variable and of the `_meta` that came. */
const STDIO = String.raw`
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const info = { name: 'told', version: '1' };
  const meta = params?._meta ?? {};
  const text = JSON.stringify({ env: process.env.USER_ID ?? null, user: meta['com.example/user'] ?? null, groups: meta['com.example/groups'] ?? null });
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: info },
    'server/discover': {
      resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': info },
    },
    'tools/list': { tools: [], resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
    'tools/call': { content: [{ type: 'text', text }], resultType: 'complete' },
  };
  if (process.argv[1] === 'legacy' && method === 'server/discover') return say({ id, error: { code: -32601, message: 'no' } });
  say(results[method] ? { id, result: results[method] } : { id, error: { code: -32601, message: 'no' } });
});`;
const stdio = (era, more) => ({ command: process.execPath, args: ['-e', STDIO, era], protocolEra: era, ...more });

async function start(t, servers, { anonymous = false, jwt = {}, ...more } = {}) {
  const port = await freePort();
  const resource = `http://127.0.0.1:${port}/mcp`;
  const issuer = await startIssuer(t, { resource });
  const gateway = await startGatewayFrom(
    t,
    {
      listen: { address: `127.0.0.1:${port}` },
      auth: {
        anonymous,
        jwt: { issuer: issuer.url, jwks: { url: `${issuer.url}/jwks` }, ...jwt },
        resourceMetadata: { resource },
      },
      mcpServers: servers,
      ...more,
    },
    { args: quiet },
  );
  const token = ({ subject, groups, tenant }, claims = {}) => issuer.token({ sub: subject, groups, realm: { tenant }, ...claims });
  return { gateway, issuer, token };
}

const bearer = (token) => ({ authorization: `Bearer ${token}` });
const spoofed = { 'x-user': 'admin', 'X-Groups': 'admins', x_tenant: 'root' };

async function legacy(url, id, method, params, headers) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method, params }),
  });
  const text = await response.text();
  return { session: response.headers.get('mcp-session-id'), message: id === undefined ? undefined : lastMessage(text) };
}

/** A legacy server that keeps sessions, each for the caller that opened it. */
function keepingSessions(serve) {
  const owners = [];
  return (request, response, message) => {
    const { user } = headersOf(request);
    if (message?.method === 'server/discover')
      return json(response, 200, JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no' } }));
    if (message?.method === 'initialize') {
      owners.push(user);
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } };
      return json(response, 200, answer(message.id, result), { 'mcp-session-id': `s-${owners.length - 1}` });
    }
    assert.equal(owners[Number(request.headers['mcp-session-id'].slice(2))], user, 'a session of another caller');
    if (request.method === 'GET') return response.writeHead(405).end();
    if (request.method === 'DELETE') return response.writeHead(200).end();
    return serve(request, response, message);
  };
}

describe('identity', { skip: DIRECT }, () => {
  test('2000 interleaved calls of 8 principals, over the pool, legacy sessions, several servers and repeats: each is its own', async (t) => {
    let wrong = 0;
    let checked = 0;
    let refused = 0;
    const serve = (result) => (request, response, message) => {
      if (message?.method === 'tools/list')
        return json(response, 200, answer(message.id, { ...result, tools: [{ name: 'x', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }], ttlMs: 0, cacheScope: 'private' }));
      if (message?.method !== 'tools/call') return message?.id === undefined ? response.writeHead(202).end() : json(response, 200, answer(message.id, result));
      const { who, n } = message.params.arguments;
      checked++;
      const meta = message.params._meta ?? {};
      const told = { ...headersOf(request), meta: meta['com.example/user'] };
      const { subject, ...rest } = PRINCIPALS[who];
      try {
        assert.deepEqual(told, { ...seen({ subject, ...rest }), meta: subject });
      } catch {
        wrong++;
      }
      // Some are refused the first time, and sent again.
      if (n % 7 === 0 && !request.headers['x-again'] && !again.has(`${who}.${n}`)) {
        again.add(`${who}.${n}`);
        refused++;
        return response.writeHead(503).end();
      }
      json(response, 200, answer(message.id, { ...result, content: [] }));
    };
    const again = new Set();
    const modern = await startOrigin(t, serve({ resultType: 'complete' }));
    const old = await startOrigin(t, keepingSessions(serve({})), { era: 'none' });
    const options = { headers: IDENTITY, meta: META, forwardHeaders: ['*'], retry: { attempts: 3, on: ['connect', 'reset', 'unavailable'], budget: 100 } };
    const { gateway, token } = await start(t, {
      modern: { url: modern.url, protocolEra: 'modern', ...options },
      old: { url: old.url, protocolEra: 'legacy', ...options },
      pipe: stdio('modern', { meta: META }),
    });
    const tokens = PRINCIPALS.map((one) => token(one));
    const sessions = await Promise.all(
      tokens.map(async (one) => {
        const url = `${gateway.url}/old`;
        const { session } = await legacy(url, 0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }, bearer(one));
        await legacy(url, undefined, 'notifications/initialized', undefined, { ...bearer(one), 'mcp-session-id': session });
        return session;
      }),
    );
    const ways = [
      (who, args) => call(`${gateway.url}/modern`, 'tools/call', { name: 'x', arguments: args }, { headers: { ...bearer(tokens[who]), ...spoofed } }),
      (who, args) => legacy(`${gateway.url}/old`, args.n, 'tools/call', { name: 'x', arguments: args, _meta: { 'com.example/user': 'admin' } }, { ...bearer(tokens[who]), ...spoofed, 'mcp-session-id': sessions[who] }),
      (who, args) => call(`${gateway.url}/old`, 'tools/call', { name: 'x', arguments: args }, { headers: { ...bearer(tokens[who]), ...spoofed } }),
      (who, args) => call(gateway.url, 'tools/call', { name: 'modern__x', arguments: args }, { headers: { ...bearer(tokens[who]), ...spoofed } }),
      async (who, args) => {
        const made = await call(gateway.url, 'tools/call', { name: 'pipe__x', arguments: args }, { headers: bearer(tokens[who]) });
        checked++;
        const told = JSON.parse(made.message.result.content[0].text);
        if (told.user !== PRINCIPALS[who].subject || told.groups !== seen(PRINCIPALS[who]).groups) wrong++;
        return made;
      },
    ];
    let next = 0;
    let failed = 0;
    const worker = async () => {
      for (let n = next++; n < 2000; n = next++) {
        const who = (n * 5 + Math.floor(n / 8)) % PRINCIPALS.length;
        const { message } = await ways[n % ways.length](who, { who, n });
        if (!message?.result) failed++;
      }
    };
    await Promise.all(Array.from({ length: 32 }, worker));
    assert.equal(wrong, 0);
    assert.equal(failed, 0);
    assert.ok(checked >= 2000 && refused > 50, `${checked} checked, ${refused} repeated`);
  });

  test('over HTTP/2, with many streams of different callers on one connection', { skip: NOT_PLAIN }, async (t) => {
    const origin = await startOrigin(t, (request, response, { id, params }) =>
      json(response, 200, answer(id, { content: [], resultType: 'complete', told: headersOf(request), who: params.arguments.who })),
    );
    const { gateway, token } = await start(t, { s: { url: origin.url, protocolEra: 'modern', headers: IDENTITY, forwardHeaders: ['*'] } });
    const tokens = PRINCIPALS.map((one) => token(one));
    const connection = await h2.session(t, gateway.url);
    await Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        const who = n % PRINCIPALS.length;
        const request = modernPost('tools/call', { name: 'x', arguments: { who } }, { id: 1, headers: { ...bearer(tokens[who]), 'x-user': 'admin', x_user: 'admin' } });
        const { text } = await h2.answer(h2.open(connection, gateway.url, request));
        const { result } = lastMessage(text);
        assert.equal(result.who, who);
        assert.deepEqual(result.told, seen(PRINCIPALS[who]));
      }),
    );
    assert.ok(origin.requests.every(({ headers }) => headers.x_user === undefined));
  });

  test('a process of its own has variables of its caller; an anonymous caller has none', async (t) => {
    for (const era of ['modern', 'legacy']) {
      const { gateway, token } = await start(
        t,
        { s: stdio(era, { isolation: 'principal', inheritEnv: true, env: { USER_ID: '${principal.subject}' }, meta: META }) },
        { anonymous: true },
      );
      const told = async (headers) => {
        const { message } = await call(gateway.url, 'tools/call', { name: 'x' }, { headers });
        return JSON.parse(message.result.content[0].text);
      };
      const all = await Promise.all(Array.from({ length: 40 }, (_, n) => told(bearer(token(PRINCIPALS[n % 4])))));
      all.forEach(({ env, user }, n) => {
        assert.equal(env, `user-${n % 4}`);
        assert.equal(user, `user-${n % 4}`);
      });
      assert.deepEqual(await told({}), { env: null, user: null, groups: null });
    }
  });

  test('equal lists and listens of two callers are neither shared nor remembered for the other', async (t) => {
    const origin = await startOrigin(t, (request, response, { id, method }) =>
      json(response, 200, answer(id, { resultType: 'complete', tools: [{ name: headersOf(request).user, inputSchema: { type: 'object' } }], ttlMs: 60_000, cacheScope: 'public', method })),
    );
    const { gateway, token } = await start(t, { s: { url: origin.url, protocolEra: 'modern', headers: IDENTITY, cache: { enabled: true, trustPublic: true } } });
    const lists = await Promise.all(Array.from({ length: 24 }, (_, n) => call(gateway.url, 'tools/list', {}, { headers: bearer(token(PRINCIPALS[n % 3])) })));
    lists.forEach(({ message }, n) => assert.equal(message.result.tools[0].name, `user-${n % 3}`));
  });

  test('claims that are odd, long or of another form: encoded, refused or left out', async (t) => {
    const origin = await startOrigin(t, (request, response, { id }) =>
      json(response, 200, answer(id, { content: [], resultType: 'complete', told: request.headers['x-claim'] ?? null })),
    );
    const { gateway, issuer } = await start(t, { s: { url: origin.url, protocolEra: 'modern', headers: { 'X-Claim': '${claim:c}' } } });
    const told = async (c) => {
      const { status, message } = await call(gateway.url, 'tools/call', { name: 'x' }, { headers: bearer(issuer.token({ c })) });
      return status === 200 ? message.result.told : status;
    };
    assert.equal(await told('a\r\nX-User: admin'), 'a%0D%0AX-User: admin');
    assert.equal(await told('\u0000\u007fé,%'), '%00%7F%C3%A9%2C%25');
    assert.equal(await told(['a,b', 'c', '', 4, true]), 'a%2Cb,c,4,true');
    assert.equal(await told({ a: 1 }), null);
    assert.equal(await told([['a']]), null);
    assert.equal(await told(null), null);
    assert.equal(await told('x'.repeat(4096)), 'x'.repeat(4096));
    assert.equal(await told('x'.repeat(4097)), 401);
  });

  test('rules over claims refuse as scopes do, and ask for no scope', async (t) => {
    const origin = await startOrigin(t, (_, response, { id }) => json(response, 200, answer(id, { content: [], resultType: 'complete' })));
    const { gateway, issuer } = await start(
      t,
      { s: { url: origin.url, protocolEra: 'modern' } },
      { jwt: { requiredScopes: ['claim:tenant=acme|big%7Cone'], toolScopes: { 'delete_*': 'claim:realm.groups=admins|ops mcp.delete' } } },
    );
    const made = async (name, claims) => {
      const { status, headers } = await call(gateway.url, 'tools/call', { name }, { headers: bearer(issuer.token(claims)) });
      return { status, asks: headers.get('www-authenticate') };
    };
    assert.equal((await made('x', { tenant: 'acme' })).status, 200);
    assert.equal((await made('x', { tenant: ['other', 'big|one'] })).status, 200);
    for (const claims of [{}, { tenant: 'other' }, { tenant: 'acme|big%7Cone' }, { tenant: { acme: 1 } }, { scope: 'claim:tenant=acme' }])
      assert.deepEqual(await made('x', claims), { status: 403, asks: null });
    const full = { tenant: 'acme', realm: { groups: ['ops'] }, scope: 'mcp.delete' };
    assert.equal((await made('delete_all', full)).status, 200);
    assert.deepEqual(await made('delete_all', { ...full, realm: { groups: ['dev'] } }), { status: 403, asks: null });
    const { status, asks } = await made('delete_all', { ...full, scope: 'mcp.tools' });
    assert.equal(status, 403);
    assert.match(asks, /scope="mcp\.tools mcp\.delete"/);
  });
});
