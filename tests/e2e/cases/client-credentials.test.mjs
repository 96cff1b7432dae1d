// Lineward's own access token: a protected server and its authorization server, both played here.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayTo } from '../lib/gateway.mjs';
import { lastMessage, modernPost } from '../lib/modern.mjs';
import { MODERN } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { WORKERS } from '../lib/workers.mjs';

const SECRET = 's3cr3t:with&odd=letters';

async function listen(t, handler) {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text) => (body += text));
    request.on('end', () => handler(request, response, body));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

const json = (response, status, value, headers = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
};

/** An authorization server (`told`: what it was asked) and a modern server that wants its tokens. */
async function protectedServer(t, { lifetime = 3600, wrongIssuer = false, noChallenge = false, wantScope = '', grants = () => true, admits = () => true, metadataAt, tokensAt } = {}) {
  const told = { tokens: [], metadata: [], requests: 0, unauthorized: 0 };
  const valid = new Map(); // token → scopes
  const auth = await listen(t, (request, response, body) => {
    if (request.url === '/.well-known/oauth-authorization-server') {
      return json(response, 200, {
        issuer: wrongIssuer ? 'http://127.0.0.1:1' : auth,
        token_endpoint: tokensAt ?? `${auth}/token`,
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
      });
    }
    if (request.url !== '/token') return json(response, 404, {});
    const asked = Object.fromEntries(new URLSearchParams(body));
    told.tokens.push(asked);
    const [id, secret] = Buffer.from(request.headers.authorization?.slice(6) ?? '', 'base64')
      .toString()
      .split(':')
      .map(decodeURIComponent);
    if (id !== 'me' || secret !== SECRET) return json(response, 401, { error: 'invalid_client', error_description: secret });
    if (!grants(asked.scope ?? '')) return json(response, 400, { error: 'invalid_scope' });
    const token = `token-${told.tokens.length}-${Math.random().toString(36).slice(2)}`;
    valid.set(token, (asked.scope ?? '').split(' '));
    json(response, 200, { access_token: token, token_type: 'Bearer', expires_in: lifetime });
  });
  const origin = await listen(t, (request, response, body) => {
    if (request.url.startsWith('/.well-known/')) {
      told.metadata.push(request.url);
      if (!request.url.endsWith('/deep/mcp')) return json(response, 404, {});
      return json(response, 200, { resource: `${origin}/deep/mcp`, authorization_servers: [auth], scopes_supported: ['basic'] });
    }
    told.requests++;
    const token = request.headers.authorization?.replace(/^Bearer /, '');
    const metadata = `resource_metadata="${metadataAt ?? `${origin}/.well-known/oauth-protected-resource/deep/mcp`}"`;
    if (!valid.has(token) || !admits(body)) {
      told.unauthorized++;
      return json(response, 401, {}, noChallenge ? {} : { 'www-authenticate': `Bearer ${metadata}` });
    }
    if (wantScope && body.includes('"tools/call"') && !valid.get(token).includes(wantScope)) {
      const scope = wantScope === 'other each time' ? `read:${told.requests}` : wantScope;
      return json(response, 403, {}, { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` });
    }
    const { id, method } = JSON.parse(body);
    const result = {
      'server/discover': { resultType: 'complete', supportedVersions: [MODERN], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' },
      'tools/list': { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' },
      'tools/call': { resultType: 'complete', content: [{ type: 'text', text: token }] },
    }[method];
    json(response, 200, { jsonrpc: '2.0', id, result });
  });
  return { url: `${origin}/deep/mcp`, auth, told, revoke: () => valid.clear() };
}

async function gateway(t, server, credentials, more = {}) {
  const file = join(temporaryFolder(t), 'secret');
  writeFileSync(file, SECRET);
  const clientCredentials = { clientId: 'me', clientSecret: `\${file:${file}}`, issuer: server.auth, ...credentials };
  return startGatewayTo(t, { url: server.url, clientCredentials, ...more });
}

// Each worker has a token of its own.
const ONE_WORKER = { workers: 'one' };

let nextId = 1;
async function post(target, method, params = {}) {
  const response = await fetch(target.url, modernPost(method, params, { id: nextId++ }));
  return { status: response.status, headers: response.headers, ...lastMessage(await response.text()) };
}
const call = (target) => post(target, 'tools/call', { name: 'who' });
const tokenOf = (answer) => answer.result?.content[0].text ?? JSON.stringify(answer.error);

test('a token is found out, got once, and used by everyone', async (t) => {
  const server = await protectedServer(t);
  const target = await gateway(t, server, {}, ONE_WORKER);
  const answers = await Promise.all(Array.from({ length: 10 }, () => call(target)));
  assert.equal(new Set(answers.map(tokenOf)).size, 1);
  assert.equal(server.told.tokens.length, 1);
  assert.deepEqual(server.told.tokens[0], { grant_type: 'client_credentials', scope: 'basic', resource: server.url });
  assert.equal(server.told.metadata.length, 1);
});

test('without a challenge the metadata is looked for at its well-known place', async (t) => {
  const server = await protectedServer(t, { noChallenge: true });
  assert.match(tokenOf(await call(await gateway(t, server))), /^token-1/);
  assert.equal(server.told.metadata[0], '/.well-known/oauth-protected-resource/deep/mcp');
});

test('a revoked token is replaced once, without a word to the client', async (t) => {
  const server = await protectedServer(t);
  const target = await gateway(t, server);
  assert.match(tokenOf(await call(target)), /^token-1/);
  const before = server.told.unauthorized;
  server.revoke();
  const answers = await Promise.all([call(target), call(target), call(target)]);
  const next = new Set(answers.map(tokenOf));
  for (const token of next) assert.match(token, /^token-[2-9]/);
  assert.ok(next.size <= WORKERS, 'each worker replaced it once');
  assert.equal(server.told.tokens.length, 1 + next.size);
  assert.ok(server.told.unauthorized > before);
});

test('a token is renewed before it expires', async (t) => {
  const server = await protectedServer(t, { lifetime: 1 });
  const target = await gateway(t, server, {}, ONE_WORKER);
  assert.match(tokenOf(await call(target)), /^token-1/);
  const refusals = server.told.unauthorized;
  for (let last = ''; !last.startsWith('token-2'); ) last = tokenOf(await call(target));
  assert.equal(server.told.unauthorized, refusals, 'no call met the end of a token');
});

test('a call that needs more scopes gets them once', async (t) => {
  const server = await protectedServer(t, { wantScope: 'write' });
  const target = await gateway(t, server, {}, ONE_WORKER);
  assert.match(tokenOf(await call(target)), /^token-2/);
  assert.equal(server.told.tokens[1].scope, 'basic write');
});

test('a scope that is not granted is the affair of its call alone', async (t) => {
  const server = await protectedServer(t, { wantScope: 'admin', grants: (scope) => !scope.includes('admin') });
  const target = await gateway(t, server, {}, ONE_WORKER);
  for (let i = 0; i < 3; ++i) {
    assert.match((await call(target)).error.message, /403/, `call ${i}`);
    assert.deepEqual((await post(target, 'tools/list')).result?.tools, []);
  }
  assert.deepEqual(server.told.tokens.map(({ scope }) => scope), ['basic', 'basic admin']);
});

test('scopes that differ with each call, and are not granted, cost the others no token', async (t) => {
  const server = await protectedServer(t, { wantScope: 'other each time', grants: (scope) => scope === 'basic' });
  const target = await gateway(t, server, {}, ONE_WORKER);
  for (let i = 0; i < 5; ++i) {
    assert.match((await call(target)).error.message, /403/, `call ${i}`);
    assert.deepEqual((await post(target, 'tools/list')).result?.tools, []);
  }
  assert.ok(server.told.tokens.length <= 3, `${server.told.tokens.length} tokens`);
});

test('a server that refuses one call with 401 costs the others no token', async (t) => {
  const server = await protectedServer(t, { admits: (body) => !body.includes('"tools/call"') });
  const target = await gateway(t, server, {}, ONE_WORKER);
  for (let i = 0; i < 5; ++i) {
    assert.equal((await call(target)).error.code, 502, `call ${i}`);
    assert.deepEqual((await post(target, 'tools/list')).result?.tools, []);
  }
  assert.ok(server.told.tokens.length <= 3, `${server.told.tokens.length} tokens`);
});

test('what goes wrong on the way is 502 and names the place, never a secret', async (t) => {
  const refused = await protectedServer(t);
  const target = await gateway(t, refused, { clientSecret: 'wrong-secret-value' });
  const answer = await call(target);
  assert.equal(answer.status, 200);
  assert.equal(answer.error.code, 502);
  assert.equal(answer.error.data['io.lineward/gateway'].reason, 'upstream_unreachable');
  assert.match(answer.error.message, /\/token refused with status 401: invalid_client/);
  assert.equal(answer.headers.get('www-authenticate'), null, 'the client must not look for a token of its own');
  await call(target);
  assert.equal(refused.told.tokens.length, 1, 'a server that refused is not asked again at once');
  assert.doesNotMatch(target.stderr() + JSON.stringify(answer), /wrong-secret-value/);

  const other = await protectedServer(t, { wrongIssuer: true });
  assert.match((await call(await gateway(t, other))).error.message, /names another issuer/);
  assert.equal(other.told.tokens.length, 0, 'nothing was sent to it');

  const elsewhere = await protectedServer(t);
  const pinned = await gateway(t, elsewhere, { issuer: 'https://auth.example.com' });
  assert.match((await call(pinned)).error.message, /does not name clientCredentials.issuer/);
  assert.equal(elsewhere.told.tokens.length, 0);
});

test('a server steers no request: metadata and tokens elsewhere on this machine are not fetched', async (t) => {
  let asked = 0;
  const other = await listen(t, (request, response) => {
    asked++;
    json(response, 200, { resource: 'http://127.0.0.1', authorization_servers: [other], access_token: 'x', token_type: 'Bearer' });
  });
  const steering = await protectedServer(t, { metadataAt: `${other}/metadata` });
  assert.match(tokenOf(await call(await gateway(t, steering))), /^token-1/, 'its own well-known place is asked instead');
  const socket = await protectedServer(t, { metadataAt: 'unix:/run/docker.sock:/metadata' });
  assert.match(tokenOf(await call(await gateway(t, socket))), /^token-1/);

  const answer = await call(await gateway(t, await protectedServer(t, { tokensAt: `${other}/token` })));
  assert.match(answer.error.message, /is not on the public Internet, and the configuration does not name it/);
  const named = await call(await gateway(t, await protectedServer(t, { tokensAt: other.replace('127.0.0.1', 'localhost') })));
  assert.match(named.error.message, /is not on the public Internet/);
  const unix = await call(await gateway(t, await protectedServer(t, { tokensAt: 'unix:/run/docker.sock' })));
  assert.match(unix.error.message, /Unix socket that the configuration does not name/);
  assert.equal(asked, 0);
});
