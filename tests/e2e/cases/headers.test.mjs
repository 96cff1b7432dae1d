// The plain sidecar as an HTTP hop: which headers go up, which come down, and how a client finds the authorization
// server through it (docs/headers.md).
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { startListener } from '../lib/gateway.mjs';
import { DISCOVER, INITIALIZE, json, legacy, modern, result, send, startOrigin } from '../lib/origin.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

async function gateway(t, servers, args = []) {
  const directory = mkdtempSync(join(tmpdir(), 'lineward-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'mcp.json');
  writeFileSync(file, JSON.stringify({ mcpServers: servers }));
  const started = await startListener(binary(), ['run', '--config', file, '--listen', '127.0.0.1:0', '--log-level', 'debug', ...args]);
  t.after(started.stop);
  return started;
}

async function origin(t, answer, path) {
  const started = await startOrigin(answer, path);
  t.after(started.stop);
  return started;
}

function modernServer(request, response, body) {
  if (body.method === 'server/discover') return result(response, body.id, DISCOVER);
  result(response, body.id, { resultType: 'complete', content: [] });
}

function legacyServer(request, response, body) {
  if (request.method !== 'POST') return response.writeHead(405).end();
  if (body.id === undefined) return response.writeHead(202).end();
  if (body.method === 'initialize') {
    const answer = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'l', version: '1' } };
    return result(response, body.id, answer, { 'Mcp-Session-Id': `s-${body.id}` });
  }
  if (body.method === 'server/discover') return json(response, { error: 'what?' }, 400);
  result(response, body.id, { content: [] });
}

const UNWANTED = {
  Cookie: 'secret-cookie',
  Origin: 'http://localhost',
  Referer: 'http://localhost/page',
  Connection: 'keep-alive, X-Named, Mcp-Param-Region',
  'X-Named': 'secret-named',
  'Keep-Alive': 'timeout=5',
  TE: 'trailers',
  'Proxy-Authorization': 'secret-proxy',
  'Proxy-Connection': 'keep-alive',
  'X-Forwarded-For': '192.0.2.1',
  'X-Other': 'other',
  'Last-Event-ID': '7',
  'User-Agent': 'client/1',
  'Accept-Language': 'de',
};
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** Only Lineward's own headers, and these. */
function assertClean({ headers }, more = []) {
  const own = ['host', 'user-agent', 'accept', 'accept-encoding', 'content-type', 'content-length'];
  const mcp = ['mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id'];
  const names = Object.keys(headers).filter((name) => ![...own, ...mcp, ...more].includes(name));
  assert.deepEqual(names, []);
  assert.match(headers['user-agent'], /^lineward\//);
  assert.doesNotMatch(JSON.stringify(headers), /secret/);
}

describe('headers on their way up', () => {
  test('a recording origin sees clean, re-framed requests', async (t) => {
    const server = await origin(t, modernServer);
    const { url } = await gateway(t, { s: { url: server.url } });
    const headers = { ...UNWANTED, traceparent: TRACE, 'Mcp-Param-Region': 'eu', Authorization: 'Bearer a' };
    assert.equal((await modern(url, 1, 'tools/call', { name: 'x' }, headers)).status, 200);
    const call = server.requests.find(({ body }) => body?.method === 'tools/call');
    assertClean(call, ['traceparent', 'mcp-param-region', 'authorization', 'connection']);
    assert.equal(call.headers['mcp-param-region'], 'eu'); // whatever Connection says
    assert.equal(call.headers.traceparent, TRACE);
    assert.equal(call.headers.authorization, 'Bearer a');
    for (const request of server.requests) assertClean(request, ['traceparent', 'mcp-param-region', 'authorization', 'connection']);
  });

  test('a legacy session the same', async (t) => {
    const server = await origin(t, legacyServer);
    const { url } = await gateway(t, { s: { url: server.url, forwardHeaders: ['X-O*'] } });
    const headers = { ...UNWANTED, Authorization: 'Bearer a', traceparent: TRACE };
    const opened = await legacy(url, undefined, 1, 'initialize', INITIALIZE, headers);
    const session = opened.headers['mcp-session-id'];
    await legacy(url, session, undefined, 'notifications/initialized', {}, headers);
    await legacy(url, session, 2, 'tools/call', { name: 'x' }, { ...headers, Authorization: 'Bearer b' });
    for (const request of server.requests)
      assertClean(request, ['traceparent', 'authorization', 'x-other', 'connection']);
    const call = server.requests.find(({ body }) => body?.method === 'tools/call');
    assert.equal(call.headers.authorization, 'Bearer b');
    assert.equal(call.headers['x-other'], 'other');
  });

  test('several servers never get Authorization, a configured one always wins', async (t) => {
    const one = await origin(t, modernServer);
    const two = await origin(t, modernServer);
    const both = await gateway(t, { one: { url: one.url }, two: { url: two.url } });
    const headers = { Authorization: 'Bearer secret-token' };
    await modern(both.url.replace(/\/mcp.*/, '/mcp/one'), 1, 'tools/call', { name: 'x' }, headers);
    const call = one.requests.find(({ body }) => body.method === 'tools/call');
    assert.equal(call.headers.authorization, undefined);
    const single = await gateway(t, { s: { url: two.url, headers: { Authorization: 'Bearer ours' } } });
    await modern(single.url, 1, 'tools/call', { name: 'x' }, headers);
    const other = two.requests.find(({ body }) => body.method === 'tools/call');
    assert.equal(other.headers.authorization, 'Bearer ours');
    assert.doesNotMatch(both.stderr() + single.stderr(), /secret-token|Bearer/);
  });

  test('modern clients with different credentials share no legacy session', async (t) => {
    const seen = new Map(); // session → credentials
    let sessions = 0;
    const server = await origin(t, (request, response, body) => {
      const session = request.headers['mcp-session-id'];
      const who = request.headers.authorization;
      if (!who) return response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end();
      if (body?.method === 'initialize') {
        const id = `session-${++sessions}`;
        seen.set(id, who);
        const answer = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'l', version: '1' } };
        return result(response, body.id, answer, { 'Mcp-Session-Id': id });
      }
      if (session) assert.equal(seen.get(session), who);
      legacyServer(request, response, body);
    });
    const { url } = await gateway(t, { s: { url: server.url } });
    const call = (id, token) => modern(url, id, 'tools/call', { name: 'x' }, token ? { Authorization: token } : {});
    assert.equal((await call(1)).status, 401);
    const answers = await Promise.all([call(2, 'Bearer a'), call(3, 'Bearer b'), call(4), call(5, 'Bearer a')]);
    assert.deepEqual(answers.map(({ status }) => status), [200, 200, 401, 200]);
    assert.equal(sessions, 2);
  });
});

describe('a server that authenticates callers', () => {
  test('a legacy client before a modern one: every request made for it says so, its listen too', async (t) => {
    let listened;
    const listen = new Promise((resolve) => (listened = resolve));
    const server = await origin(t, (request, response, body) => {
      if (request.headers.authorization !== 'Bearer a') return response.writeHead(401).end();
      if (body.method === 'server/discover')
        return result(response, body.id, { ...DISCOVER, capabilities: { tools: { listChanged: true } } });
      if (body.method !== 'subscriptions/listen') return modernServer(request, response, body);
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(': open\n\n');
      listened(request.headers);
    });
    const { url } = await gateway(t, { s: { url: server.url, protocolEra: 'modern' } });
    const headers = { Authorization: 'Bearer a', traceparent: TRACE };
    assert.equal((await legacy(url, undefined, 1, 'initialize', INITIALIZE)).status, 401);
    const opened = await legacy(url, undefined, 1, 'initialize', INITIALIZE, headers);
    assert.equal(opened.status, 200);
    const session = opened.headers['mcp-session-id'];
    await legacy(url, session, undefined, 'notifications/initialized', {}, headers);
    assert.equal((await listen).traceparent, undefined);
    assert.equal((await legacy(url, session, 2, 'tools/call', { name: 'x' }, headers)).status, 200);
  });

  test('does not end the sidecar, though it admits no request at the start', async (t) => {
    const server = await origin(t, (request, response, body) => {
      if (!request.headers.authorization) return response.writeHead(401).end();
      modernServer(request, response, body);
    });
    const { url } = await gateway(t, { s: { url: server.url } }, ['--exit-with-upstream']);
    assert.equal((await modern(url, 1, 'tools/call', { name: 'x' })).status, 401);
    assert.equal((await modern(url, 2, 'tools/call', { name: 'x' }, { Authorization: 'Bearer a' })).status, 200);
  });
});

describe('refusals on their way down', () => {
  const challenge = (base) => `Bearer error="invalid_token", resource_metadata="${base}", scope="a b"`;

  test('401, 403 and 429 of the plain sidecar, in both eras', async (t) => {
    const statuses = [401, 403, 429];
    let refuse = 0;
    const server = await origin(t, (request, response, body) => {
      if (!refuse || body?.method === 'initialize' || body?.id === undefined) return legacyServer(request, response, body);
      response.writeHead(refuse, { 'WWW-Authenticate': 'Bearer realm="r"', 'Retry-After': '7', 'Set-Cookie': 'a=b' });
      response.end('ask at the desk');
    });
    const { url } = await gateway(t, { s: { url: server.url } });
    const session = (await legacy(url, undefined, 1, 'initialize', INITIALIZE)).headers['mcp-session-id'];
    await legacy(url, session, undefined, 'notifications/initialized');
    await modern(url, 1, 'tools/call', { name: 'x' });
    for (refuse of statuses) {
      const answers = [await legacy(url, session, 2, 'tools/list'), await modern(url, 3, 'tools/call', { name: 'x' })];
      for (const { status, headers, json: body } of answers) {
        assert.equal(status, refuse);
        assert.equal(headers['www-authenticate'], 'Bearer realm="r"');
        assert.equal(headers['retry-after'], '7');
        assert.equal(headers['set-cookie'], undefined);
        assert.equal(body.error.code, refuse);
        assert.match(body.error.message, /ask at the desk$/, "the server's words stand behind Lineward's");
      }
    }
  });

  test('with several servers they are errors of the server, not of the client', async (t) => {
    const server = await origin(t, (request, response) => response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end());
    const { url } = await gateway(t, { one: { url: server.url }, two: { url: server.url } });
    const answer = await modern(url.replace(/\/mcp.*/, '/mcp/one'), 1, 'tools/call', { name: 'x' });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['www-authenticate'], undefined);
    assert.equal(answer.json.error.code, 502);
    const wellKnown = new URL('/.well-known/oauth-protected-resource/mcp/one', url);
    assert.equal((await send(wellKnown, { method: 'GET' })).status, 404);
  });

  test('discovery of the authorization server through the sidecar', { skip: NOT_PLAIN }, async (t) => {
    const wellKnown = '/.well-known/oauth-protected-resource';
    const server = await origin(
      t,
      (request, response, body) => {
        const own = `http://${request.headers.host}`;
        if (request.method === 'GET' && request.url === `${wellKnown}/api/mcp`)
          return json(response, { resource: `${own}/api/mcp`, authorization_servers: ['https://as.example.com'] });
        if (request.method === 'GET') return json(response, {}, 404);
        if (request.headers.authorization === 'Bearer good') return modernServer(request, response, body);
        response.writeHead(401, { 'WWW-Authenticate': challenge(`${own}${wellKnown}/api/mcp`) }).end();
      },
      '/api/mcp',
    );
    const { url } = await gateway(t, { s: { url: server.url } });
    const refused = await modern(url, 1, 'tools/call', { name: 'x' });
    assert.equal(refused.status, 401);
    const metadata = /resource_metadata="([^"]*)"/.exec(refused.headers['www-authenticate'])[1];
    assert.equal(metadata, new URL(`${wellKnown}/mcp`, url).href);
    const document = await send(metadata, { method: 'GET', headers: { Cookie: 'secret', Authorization: 'Bearer no' } });
    assert.equal(document.status, 200);
    assert.equal(document.json.resource, url); // RFC 9728, 3.3
    assert.deepEqual(document.json.authorization_servers, ['https://as.example.com']);
    const asked = server.requests.find(({ method }) => method === 'GET');
    assert.equal(asked.headers.authorization, undefined);
    assert.equal(asked.headers.cookie, undefined);
    assert.equal((await modern(url, 2, 'tools/call', { name: 'x' }, { Authorization: 'Bearer good' })).status, 200);
    // the form without a path, which this server does not have; another path; another method
    assert.equal((await send(new URL(wellKnown, url), { method: 'GET' })).status, 404);
    assert.equal((await send(new URL(`${wellKnown}/other`, url), { method: 'GET' })).status, 404);
    assert.equal((await send(new URL(`${wellKnown}/mcp`, url), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' })).status, 405);
  });

  // MCP 2025-03-26: the server is its own authorization server, and has no protected-resource metadata.
  test('the old way to the authorization server through the sidecar', async (t) => {
    const places = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration/api/mcp', '/api/mcp/.well-known/openid-configuration'];
    const server = await origin(
      t,
      (request, response) => {
        const own = `http://${request.headers.host}`;
        if (request.method === 'GET' && places.includes(request.url))
          return json(response, { issuer: own, authorization_endpoint: `${own}/oauth/go`, token_endpoint: `${own}/oauth/token` });
        if (request.url === '/.well-known/oauth-authorization-server/api/mcp') return json(response, { secret: 1 });
        if (request.method === 'GET') return json(response, {}, 404);
        response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end();
      },
      '/api/mcp',
    );
    const { url } = await gateway(t, { s: { url: server.url } });
    assert.equal((await modern(url, 1, 'tools/call', { name: 'x' })).status, 401);
    const get = (path) => send(new URL(path, url), { method: 'GET', headers: { Cookie: 'secret', Authorization: 'Bearer no' } });
    assert.equal((await get('/.well-known/oauth-protected-resource')).status, 404);
    assert.equal((await get('/.well-known/oauth-protected-resource/mcp')).status, 404);
    for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration/mcp', '/mcp/.well-known/openid-configuration']) {
      const got = await get(path);
      assert.equal(got.status, 200, path);
      // Lineward issues no tokens: what the server says of itself stays.
      assert.equal(got.json.issuer, new URL(server.url).origin);
      assert.equal(got.json.authorization_endpoint, new URL('/oauth/go', server.url).href);
    }
    for (const { headers } of server.requests.filter(({ method }) => method === 'GET')) {
      assert.equal(headers.authorization, undefined);
      assert.equal(headers.cookie, undefined);
    }
    const none = await get('/.well-known/oauth-authorization-server/mcp');
    assert.equal(none.status, 502);
    assert.doesNotMatch(none.text, /secret/);
    assert.equal((await get('/.well-known/openid-configuration')).status, 404);
    assert.equal((await get('/.well-known/oauth-authorization-server/other')).status, 404);
    assert.equal((await get('/other/.well-known/openid-configuration')).status, 404);
    assert.equal((await send(new URL('/.well-known/oauth-authorization-server', url), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' })).status, 405);
    // It means none of several servers.
    const two = (await gateway(t, { one: { url: server.url }, two: { url: server.url } })).url;
    assert.equal((await send(new URL('/.well-known/oauth-authorization-server', two), { method: 'GET' })).status, 404);
  });

  test('metadata that is none is not passed on', async (t) => {
    let answer;
    const server = await origin(t, (request, response, body) =>
      request.method === 'GET' ? answer(response) : modernServer(request, response, body),
    );
    const { url } = await gateway(t, { s: { url: server.url } });
    const metadata = new URL('/.well-known/oauth-protected-resource/mcp', url);
    const cases = [
      (response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>secret'),
      (response) => json(response, { secret: 1 }),
      (response) => json(response, { resource: 'x', padding: 'secret'.repeat(20_000) }),
      (response) => response.writeHead(302, { Location: 'http://192.0.2.1/' }).end(),
      (response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"resource":'),
      (response) => response.destroy(),
    ];
    for (answer of cases) {
      const got = await send(metadata, { method: 'GET' });
      assert.equal(got.status, 502);
      assert.doesNotMatch(got.text, /secret/);
    }
  });
});

describe('an upstream session that is lost', () => {
  function server(t) {
    const known = new Set();
    let next = 0;
    const calls = [];
    return origin(t, (request, response, body) => {
      const session = request.headers['mcp-session-id'];
      if (body?.method === 'initialize') {
        known.add(`s-${++next}`);
        const answer = { protocolVersion: '2025-11-25', capabilities: { logging: {} }, serverInfo: { name: 'l', version: '1' } };
        return result(response, body.id, answer, { 'Mcp-Session-Id': `s-${next}` });
      }
      if (session && !known.has(session)) return response.writeHead(404).end();
      if (body?.method === 'tools/call') calls.push(session);
      legacyServer(request, response, body);
    }).then((started) => Object.assign(started, { calls, forget: () => known.clear() }));
  }

  test('ends the session of its legacy client, which initialises anew', async (t) => {
    const upstream = await server(t);
    const { url } = await gateway(t, { s: { url: upstream.url } });
    const open = async () => {
      const session = (await legacy(url, undefined, 1, 'initialize', INITIALIZE)).headers['mcp-session-id'];
      await legacy(url, session, undefined, 'notifications/initialized');
      return session;
    };
    const first = await open();
    assert.equal((await legacy(url, first, 2, 'tools/call', { name: 'x' })).status, 200);
    upstream.forget();
    assert.equal((await legacy(url, first, 3, 'tools/call', { name: 'x' })).status, 404);
    assert.equal((await legacy(url, first, 4, 'tools/call', { name: 'x' })).status, 404);
    const second = await open();
    assert.notEqual(first, second);
    assert.equal((await legacy(url, second, 5, 'tools/call', { name: 'x' })).status, 200);
  });

  test('is opened again for modern clients, with their log level, and the request is repeated', async (t) => {
    const upstream = await server(t);
    const { url } = await gateway(t, { s: { url: upstream.url } });
    const call = (id) =>
      modern(url, id, 'tools/call', { name: 'x', _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } });
    assert.equal((await call(1)).json.result.resultType, 'complete');
    upstream.forget();
    assert.equal((await call(2)).json.result.resultType, 'complete');
    assert.deepEqual(upstream.calls, ['s-1', 's-2']);
    const levels = upstream.requests.filter(({ body }) => body?.method === 'logging/setLevel');
    assert.deepEqual(levels.map(({ headers }) => headers['mcp-session-id']), ['s-1', 's-2']);
  });
});

describe('repeats', () => {
  const tools = [
    { name: 'reads', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
    { name: 'writes', inputSchema: { type: 'object' } },
  ];

  /** Fails the first `failures` calls in that way. */
  function server(t, failures, way) {
    const calls = [];
    return origin(t, (request, response, body) => {
      if (body.method === 'tools/list') return result(response, body.id, { resultType: 'complete', tools });
      if (body.method !== 'tools/call') return modernServer(request, response, body);
      calls.push(body.params.name);
      if (calls.length <= failures) return way(response);
      modernServer(request, response, body);
    }).then((started) => Object.assign(started, { calls }));
  }
  const retry = { attempts: 3, on: ['connect', 'reset', 'unavailable'], backoff: '1ms' };
  const busy = (response) => response.writeHead(503).end();
  const reset = (response) => response.destroy();

  for (const [name, way] of Object.entries({ busy, reset })) {
    test(`of an idempotent tool, where configured (${name})`, async (t) => {
      const upstream = await server(t, 2, way);
      const { url } = await gateway(t, { s: { url: upstream.url, retry } });
      const answer = await modern(url, 1, 'tools/call', { name: 'reads' });
      assert.equal(answer.json.result.resultType, 'complete');
      assert.equal(upstream.calls.length, 3);
    });

    test(`never of another tool, and never without configuration (${name})`, async (t) => {
      const one = await server(t, 1, way);
      const configured = await gateway(t, { s: { url: one.url, retry } });
      assert.equal((await modern(configured.url, 1, 'tools/call', { name: 'writes' })).json.error.code, 502);
      assert.equal(one.calls.length, 1);
      const two = await server(t, 1, way);
      const plain = await gateway(t, { s: { url: two.url } });
      assert.equal((await modern(plain.url, 1, 'tools/call', { name: 'reads' })).json.error.code, 502);
      assert.equal(two.calls.length, 1);
    });
  }

  test('at most as often as configured, and as the budget allows', async (t) => {
    const upstream = await server(t, 1000, busy);
    // Each worker has a budget of its own.
    const { url } = await gateway(t, { s: { url: upstream.url, workers: 'one', retry: { ...retry, budget: 0 } } });
    assert.equal((await modern(url, 1, 'tools/call', { name: 'reads' })).json.error.code, 502);
    assert.equal(upstream.calls.length, 3);
    await modern(url, 2, 'tools/call', { name: 'reads' }); // one repeat was left of the first three
    await modern(url, 3, 'tools/call', { name: 'reads' });
    assert.equal(upstream.calls.length, 6);
  });
});
