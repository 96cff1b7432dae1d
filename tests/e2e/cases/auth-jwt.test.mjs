// Lineward as an OAuth resource server: tokens signed here, keys served here.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Client as ModernClient,
  ClientCredentialsProvider as ModernCredentials,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client';
import { ClientCredentialsProvider as LegacyCredentials } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { makeKey, signToken, startIssuer } from '../lib/issuer.mjs';
import { freePort } from '../lib/ports.mjs';
import { answer, call, gatewayError, json, startOrigin } from '../lib/raw-origin.mjs';
import { legacyFixture, modernFixture } from '../lib/servers.mjs';
import { DIRECT, MODERN } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';
import { WORKERS } from '../lib/workers.mjs';

const quiet = ['--ops', 'off', '--admin', 'off'];
const bearer = (token) => ({ headers: { authorization: `Bearer ${token}` } });
const tool = (gateway, token, name = 'x') => call(gateway.url, 'tools/call', { name }, bearer(token));

/** An issuer, a server, and Lineward between: {issuer, origin, gateway, resource}. */
async function protectedTools(t, { jwt = {}, keys, before, servers, server = {}, clients, anonymous = false, amend } = {}) {
  const port = await freePort();
  const resource = `http://127.0.0.1:${port}/mcp`;
  const issuer = await startIssuer(t, { resource, keys, clients });
  before?.(issuer);
  const origin = await startOrigin(t, (_, response, { id }) =>
    json(response, 200, answer(id, { content: [], resultType: 'complete' })),
  );
  const config = {
    listen: { address: `127.0.0.1:${port}` },
    auth: {
      anonymous,
      jwt: { issuer: issuer.url, jwks: { url: `${issuer.url}/jwks` }, requiredScopes: ['mcp.tools'], ...jwt },
      resourceMetadata: { resource },
    },
    mcpServers: servers ?? { up: { url: origin.url, protocolEra: 'modern', ...server } },
  };
  amend?.(config.auth.jwt);
  return { issuer, origin, resource, gateway: await startGatewayFrom(t, config, { args: quiet }) };
}

/** Until it is so, or 25 seconds are over. */
async function eventually(what, check) {
  for (const end = Date.now() + 25_000; ; await sleep(250)) {
    if (await check()) return;
    assert.ok(Date.now() < end, what);
  }
}

describe('access tokens', { skip: DIRECT }, () => {
  test('of every algorithm come in, and never go up', async (t) => {
    const keys = ['RS256', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA'].map((alg) => makeKey(alg, alg));
    const { issuer, origin, gateway } = await protectedTools(t, { keys });
    for (const key of keys) {
      const token = issuer.token({}, { key });
      assert.equal((await tool(gateway, token)).status, 200, key.alg);
      assert.equal((await tool(gateway, token)).status, 200, key.alg);
      assert.ok(!gateway.stderr().includes(token.slice(-40)));
    }
    assert.equal(issuer.asked, WORKERS, 'each worker asked once');
    assert.ok(origin.requests.length >= 12);
    for (const { headers } of origin.requests) assert.equal(headers.authorization, undefined);
  });

  test('that are bad are refused, each with a reason, and reach no server', async (t) => {
    const { issuer, origin, gateway, resource } = await protectedTools(t);
    const good = issuer.token();
    const now = Math.floor(Date.now() / 1000);
    const [head, body, signature] = good.split('.');
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const hs = `${part({ alg: 'HS256', kid: 'k1' })}.${body}`;
    const hmac = createHmac('sha256', JSON.stringify(issuer.keys[0].jwk)).update(hs).digest('base64url');
    const thief = makeKey('k1', 'ES256');
    const bad = {
      'not signed': `${part({ alg: 'none' })}.${body}.`,
      'HS256 with the public key': `${hs}.${hmac}`,
      'another key': signToken(thief, issuer.claims()),
      'its own key in the header': signToken(thief, issuer.claims(), { jwk: thief.jwk, kid: undefined }),
      'a key from elsewhere': signToken(thief, issuer.claims(), { jku: `${issuer.url}/evil`, kid: 'evil' }),
      'an unknown key': issuer.token({}, { header: { kid: 'k2' } }),
      'another algorithm': issuer.token({}, { header: { alg: 'RS256' } }),
      'a changed payload': `${head}.${part(issuer.claims({ sub: 'root' }))}.${signature}`,
      'a cut signature': good.slice(0, -2),
      'no signature': `${head}.${body}.`,
      expired: issuer.token({ exp: now - 60 }),
      'no expiry': issuer.token({ exp: undefined }),
      'not valid yet': issuer.token({ nbf: now + 300 }),
      'another issuer': issuer.token({ iss: 'https://evil.example' }),
      'another audience': issuer.token({ aud: 'https://other.example/mcp' }),
      'a wider audience': issuer.token({ aud: new URL(resource).origin }),
      'no subject': issuer.token({ sub: undefined }),
      'critical extensions': issuer.token({}, { header: { crit: ['x'], x: 1 } }),
      'another type': issuer.token({}, { header: { typ: 'logout+jwt' } }),
      'no token at all': 'opaque',
      'too long': issuer.token({ padding: 'x'.repeat(9000) }),
    };
    const seen = origin.requests.length;
    for (const [what, token] of Object.entries(bad)) {
      const { status, headers, message } = await tool(gateway, token);
      assert.equal(status, 401, what);
      const asks = headers.get('www-authenticate');
      assert.match(asks, /^Bearer error="invalid_token", error_description="[^"]+", scope="mcp.tools"/, what);
      assert.ok(asks.endsWith(`resource_metadata="${new URL(resource).origin}/.well-known/oauth-protected-resource/mcp"`));
      assert.equal(gatewayError({ message }).reason, 'unauthorized', what);
      assert.ok(token.length < 20 || !gateway.stderr().includes(token.slice(0, 60)), what);
    }
    assert.equal(origin.requests.length, seen);
    assert.equal((await tool(gateway, good)).status, 200);
    const none = await call(gateway.url, 'tools/call', { name: 'x' });
    assert.equal(none.status, 401);
    assert.match(none.headers.get('www-authenticate'), /^Bearer scope="mcp.tools", resource_metadata="/);
    const inQuery = await call(`${gateway.url}?access_token=${good}`, 'tools/call', { name: 'x' });
    assert.equal(inQuery.status, 401);
  });

  test('a key that is new is fetched, and one that is gone is not believed', { timeout: 90_000 }, async (t) => {
    // Each worker has keys of its own.
    const { issuer, gateway } = await protectedTools(t, { server: { workers: 'one' } });
    const old = issuer.token();
    assert.equal((await tool(gateway, old)).status, 200);
    issuer.keys = [makeKey('k2', 'EdDSA')];
    const fresh = issuer.token();
    const asked = issuer.asked;
    await eventually('the new key', async () => (await tool(gateway, fresh)).status === 200);
    assert.equal(issuer.asked, asked + 1, 'asked once, however often the token came');
    assert.equal((await tool(gateway, old)).status, 401, 'no longer from memory either');
  });

  test('without keys: 503 with Retry-After; a slow answer is waited for; a huge one is none', { timeout: 90_000 }, async (t) => {
    const held = [];
    const { issuer, gateway } = await protectedTools(t, { before: (one) => (one.behave = (r) => held.push(r)) });
    const token = issuer.token();
    const first = [tool(gateway, token), tool(gateway, token), tool(gateway, token)];
    await eventually('the fetch', () => held.length > 0);
    held[0].writeHead(200, { 'content-type': 'application/json' }).end(' '.repeat(2 << 20));
    for (const { status, headers, message } of await Promise.all(first)) {
      assert.equal(status, 503);
      assert.ok(headers.get('retry-after'));
      assert.equal(gatewayError({ message }).reason, 'upstream_unreachable');
    }
    issuer.behave = (response) => response.writeHead(500).end();
    assert.equal((await tool(gateway, token)).status, 503);
    issuer.behave = undefined;
    await eventually('the keys', async () => (await tool(gateway, token)).status === 200);
  });

  test('keys that are known outlive an issuer that is down', async (t) => {
    const { issuer, gateway } = await protectedTools(t, { jwt: {} });
    assert.equal((await tool(gateway, issuer.token())).status, 200);
    issuer.behave = (response) => response.destroy();
    assert.equal((await tool(gateway, issuer.token({ sub: 'bob' }))).status, 200);
  });

  test('keys in a file: another set counts as soon as it is written, a broken one changes nothing', async (t) => {
    const [first, second] = [makeKey('a', 'ES256'), makeKey('b', 'EdDSA')];
    const file = join(temporaryFolder(t), 'jwks.json');
    const write = (text) => {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    };
    const set = (key) => JSON.stringify({ keys: [key.jwk] });
    write(set(first));
    const { issuer, gateway } = await protectedTools(t, { keys: [first, second], jwt: { jwks: { file } } });
    const [old, other] = [issuer.token(), issuer.token({}, { key: second })];
    assert.equal((await tool(gateway, old)).status, 200);
    assert.equal((await tool(gateway, other)).status, 401);
    write(set(second));
    await eventually('the new key', async () => (await tool(gateway, other)).status === 200);
    // Also a token with a signature that was checked before.
    assert.equal((await tool(gateway, old)).status, 401);
    write('{"keys":');
    await eventually('a line in the log', () => /event=auth\.jwks.*in_effect="the keys of before"/.test(gateway.stderr()));
    assert.equal((await tool(gateway, other)).status, 200);
    write(set(first));
    await eventually('the first key again', async () => (await tool(gateway, old)).status === 200);
    assert.equal((await tool(gateway, other)).status, 401);
    assert.equal(issuer.asked, 0);
  });

  test('keys without a confirmation for jwks.maxStale are rejected until the issuer is back', async (t) => {
    const jwks = { refresh: '1s', maxStale: '1s' };
    const { issuer, gateway } = await protectedTools(t, {
      amend: (jwt) => Object.assign(jwt.jwks, jwks),
    });
    const token = issuer.token();
    assert.equal((await tool(gateway, token)).status, 200);
    issuer.behave = (response) => response.destroy();
    const down = Date.now();
    let ended;
    await eventually('503', async () => (ended = await tool(gateway, token)).status === 503);
    assert.ok(Date.now() - down >= 900, 'known keys hold meanwhile');
    assert.ok(Number(ended.headers.get('retry-after')) > 0);
    issuer.behave = undefined;
    await eventually('200', async () => (await tool(gateway, token)).status === 200);
  });

  test('a scope that a tool needs is 403 with every scope of the request', async (t) => {
    const { issuer, gateway } = await protectedTools(t, {
      jwt: { methodScopes: { 'tools/call': 'mcp.call' }, toolScopes: { 'delete_*': 'mcp.delete' } },
    });
    const { status, headers, message } = await tool(gateway, issuer.token(), 'delete_all');
    assert.equal(status, 403);
    assert.equal(gatewayError({ message }).reason, 'forbidden');
    assert.match(headers.get('www-authenticate'), /^Bearer error="insufficient_scope", scope="mcp.tools mcp.call mcp.delete", /);
    const scope = 'mcp.delete mcp.call mcp.tools';
    assert.equal((await tool(gateway, issuer.token({ scope }), 'delete_all')).status, 200);
    assert.equal((await tool(gateway, issuer.token({ scope: undefined, scp: ['mcp.tools', 'mcp.call'] }))).status, 200);
    const weak = await tool(gateway, issuer.token({ scope: 'mcp.call' }));
    assert.equal(weak.status, 403);
    assert.match(weak.headers.get('www-authenticate'), /scope="mcp.call mcp.tools"/);
  });

  test('a request without a token gets what needs no scope of its own, and else a 401 that names the scope', async (t) => {
    const { issuer, origin, gateway } = await protectedTools(t, {
      anonymous: true,
      jwt: { toolScopes: { 'delete_*': 'mcp.delete' } },
    });
    const none = (name) => call(gateway.url, 'tools/call', { name });
    assert.equal((await none('x')).status, 200);
    const seen = origin.requests.length;
    const { status, headers } = await none('delete_all');
    assert.equal(status, 401);
    assert.match(headers.get('www-authenticate'), /^Bearer scope="mcp.tools mcp.delete", resource_metadata="/);
    assert.equal((await tool(gateway, issuer.token({ exp: 1 }))).status, 401, 'a bad token is never anonymous');
    assert.equal(origin.requests.length, seen);
  });

  for (const [name, Client, Transport, Credentials, fixture, options] of [
    ['2.x', ModernClient, ModernHttp, ModernCredentials, modernFixture, { versionNegotiation: { mode: { pin: MODERN } } }],
    ['1.x', LegacyClient, LegacyHttp, LegacyCredentials, legacyFixture, {}],
  ]) {
    const stepsUp = name === '2.x'; // 1.x asks for the scope of its metadata, whatever a challenge says
    test(`SDK ${name} finds the issuer by the 401 and gets a token${stepsUp ? ', and another at the 403' : ''}`, { skip: NOT_PLAIN }, async (t) => {
      const [command, ...args] = fixture();
      const { issuer, gateway, resource } = await protectedTools(t, {
        jwt: { toolScopes: { test_simple_text: 'mcp.text' } },
        servers: { up: { command, args } },
        clients: { robot: 'secret' },
      });
      const authProvider = new Credentials({ clientId: 'robot', clientSecret: 'secret' });
      if (!stepsUp) authProvider.clientMetadata.scope = 'mcp.tools mcp.text';
      const client = new Client({ name: 'e2e', version: '1' }, options);
      t.after(() => client.close());
      await client.connect(new Transport(new URL(gateway.url), { authProvider }));
      assert.deepEqual(issuer.granted[0], { scope: stepsUp ? 'mcp.tools' : 'mcp.tools mcp.text', resource });
      const { tools } = await client.listTools();
      assert.ok(tools.length > 0);
      const { content } = await client.callTool({ name: 'test_simple_text', arguments: {} });
      assert.match(content[0].text, /simple text/);
      assert.match(issuer.granted.at(-1).scope, /mcp\.tools mcp\.text/);
      await eventually('the line of the call', () => /call\.end.*principal=robot/.test(gateway.stderr()));
    });
  }
});
