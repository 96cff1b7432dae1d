// conf/edge.yaml as it stands, with a certificate, an issuer, two servers and both official client lines around it.
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { setDefaultCACertificates } from 'node:tls';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { binary } from '../lib/binary.mjs';
import { authority } from '../lib/certificates.mjs';
import { startListener } from '../lib/gateway.mjs';
import { startIssuer } from '../lib/issuer.mjs';
import { lineward } from '../lib/operator.mjs';
import { freePort } from '../lib/ports.mjs';
import { answer, call, gatewayError, json, startOrigin } from '../lib/raw-origin.mjs';
import { test } from '../lib/test.mjs';

const root = new URL('../../..', import.meta.url).pathname;
const TOOLS = ['search_web', 'delete_index', 'debug_dump'].map((name) => ({ name, inputSchema: { type: 'object' } }));

/** A modern server with these tools; `hang` never answers. */
const startTools = (t, seen) =>
  startOrigin(t, (incoming, response, { id, method, params }) => {
    seen.push({ headers: incoming.headers, method, params });
    if (method === 'tools/list')
      return json(response, 200, answer(id, { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools: TOOLS }));
    if (method === 'tools/call' && params?.name === 'hang') return undefined;
    return json(response, 200, answer(id, { resultType: 'complete', content: [{ type: 'text', text: params?.name ?? '' }] }));
  });

async function startEdge(t) {
  const port = await freePort();
  const resource = `https://127.0.0.1:${port}/mcp`;
  const ca = authority(t);
  const { certFile, keyFile } = ca.certificate('127.0.0.1', { days: 90 });
  chmodSync(keyFile, 0o600);
  setDefaultCACertificates([ca.ca]); // of fetch, which both client lines use
  const issuer = await startIssuer(t, { resource });
  const seen = [];
  const search = await startTools(t, seen);
  const reports = await startTools(t, []);
  const env = {
    MCP_ISSUER: issuer.url,
    MCP_JWKS: `${issuer.url}/jwks`,
    MCP_RESOURCE: resource,
    MCP_LISTEN: `127.0.0.1:${port}`,
    MCP_HOST: '127.0.0.1',
    MCP_CERTIFICATE: certFile,
    MCP_KEY: keyFile,
    SEARCH_URL: search.url,
    SEARCH_KEY: 'inner-secret-1',
    REPORTS_URL: reports.url,
  };
  const gateway = await startListener(binary(), ['run', '--ops', 'off', '--admin', 'off', `${root}conf/edge.yaml`], { env });
  t.after(() => gateway.stop());
  return { issuer, seen, gateway, env, url: `${resource}/search`, resource };
}

const bearer = (token, more = {}) => ({ headers: { authorization: `Bearer ${token}`, ...more } });

test('conf/edge.yaml: valid without a warning, and nothing is served without TLS', async (t) => {
  const { env, resource } = await startEdge(t);
  const { code, out, err } = await lineward(['validate', '--strict', `${root}conf/edge.yaml`], env);
  assert.equal(code, 0, out + err);
  const plain = await fetch(resource.replace('https:', 'http:'), { method: 'POST', body: '{}' });
  assert.equal(plain.status, 400);
});

test('conf/edge.yaml: permissions and rates of callers', async (t) => {
  const { issuer, seen, gateway, url, resource } = await startEdge(t);
  const token = issuer.token({ scope: 'mcp.tools' });
  const admin = issuer.token({ sub: 'root', scope: 'mcp.tools mcp.admin' });

  const nobody = await call(url, 'tools/call', { name: 'search_web' });
  assert.equal(nobody.status, 401);
  assert.match(nobody.headers.get('www-authenticate'), /^Bearer .*resource_metadata="/);
  const metadata = await (await fetch(new URL('/.well-known/oauth-protected-resource/mcp/search', resource))).json();
  assert.equal(metadata.resource, url);
  assert.deepEqual(metadata.authorization_servers, [issuer.url]);

  const listed = await call(url, 'tools/list', {}, bearer(token));
  assert.deepEqual(listed.message.result.tools.map(({ name }) => name), ['search_web']);
  const step = await call(url, 'tools/call', { name: 'delete_index' }, bearer(token));
  assert.equal(step.status, 403);
  assert.match(step.headers.get('www-authenticate'), /error="insufficient_scope".*mcp\.admin/);
  assert.equal((await call(url, 'tools/call', { name: 'delete_index' }, bearer(admin))).status, 200);

  const fine = await call(url, 'tools/call', { name: 'search_web' }, bearer(token));
  assert.equal(fine.status, 200);
  assert.match(fine.headers.get('ratelimit-policy'), /"calls";q=600;w=60.*"searches";q=30;w=60/);
  const statuses = new Set();
  for (let i = 0; i < 31; ++i) statuses.add((await call(url, 'tools/call', { name: 'search_web' }, bearer(token))).status);
  assert.deepEqual([...statuses], [200, 429]);
  // Another caller has buckets of its own.
  assert.equal((await call(url, 'tools/call', { name: 'search_web' }, bearer(admin))).status, 200);

  assert.ok(seen.length > 30);
  for (const { headers } of seen) {
    assert.equal(headers.authorization, undefined);
    assert.equal(headers['x-api-key'], 'inner-secret-1');
  }
  assert.equal((await call(url, 'tools/list', {}, bearer(token, { origin: 'https://evil.example' }))).status, 403);
  const page = await call(url, 'tools/list', {}, bearer(admin, { origin: 'https://app.example.com' }));
  assert.equal(page.headers.get('access-control-allow-origin'), 'https://app.example.com');
  for (const secret of [token, admin, 'inner-secret-1']) assert.ok(!gateway.stderr().includes(secret));
});

test('conf/edge.yaml: both client lines at each server, and no way around the rules', async (t) => {
  const { issuer, url, resource } = await startEdge(t);
  const requestInit = bearer(issuer.token({ scope: 'mcp.tools' }));
  const wanted = ['search_web'];
  for (const where of [url, `${resource}/reports`]) {
    const modern = new ModernClient({ name: 'edge', version: '1' });
    await modern.connect(new ModernHttp(new URL(where), { requestInit }));
    const names = (await modern.listTools()).tools.map(({ name }) => name);
    assert.deepEqual(names, wanted, where);
    assert.equal((await modern.callTool({ name: wanted[0], arguments: {} })).content[0].text, 'search_web');
    await modern.close();
    const legacy = new LegacyClient({ name: 'edge', version: '1' });
    await legacy.connect(new LegacyHttp(new URL(where), { requestInit }));
    assert.deepEqual((await legacy.listTools()).tools.map(({ name }) => name), wanted, where);
    await legacy.close();
  }
  // Together: the same rules by each server's own names, and the way to more leads to this endpoint.
  const together = new ModernClient({ name: 'edge', version: '1' });
  await together.connect(new ModernHttp(new URL(resource), { requestInit }));
  assert.deepEqual((await together.listTools()).tools.map(({ name }) => name), ['search__search_web', 'reports__search_web']);
  assert.equal((await together.callTool({ name: 'reports__search_web', arguments: {} })).content[0].text, 'search_web');
  await together.close();
  const hidden = await call(resource, 'tools/call', { name: 'search__debug_dump' }, requestInit);
  assert.equal(hidden.message.error.code, -32602);
  const step = await call(resource, 'tools/call', { name: 'search__delete_index' }, requestInit);
  assert.equal(step.status, 403);
  assert.match(step.headers.get('www-authenticate'), /insufficient_scope.*mcp\.admin.*oauth-protected-resource\/mcp"/);
});

test('conf/edge.yaml: a call that hangs ends at the time its client allows, never later than the edge does', async (t) => {
  const { issuer, url } = await startEdge(t);
  const begun = Date.now();
  const ended = await call(url, 'tools/call', { name: 'hang' }, bearer(issuer.token({ scope: 'mcp.tools' }), { prefer: 'wait=1' }));
  assert.equal(gatewayError(ended).reason, 'timeout_request');
  assert.equal(gatewayError(ended).limitMs, 1000);
  assert.ok(Date.now() - begun < 10_000);
});
