// Lineward behind a forward proxy: CONNECT for https, absolute URLs for http, and what the environment says.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { describe } from 'node:test';
import { authority } from '../lib/certificates.mjs';
import { startGatewayTo } from '../lib/gateway.mjs';
import { answer, call, gatewayError, json, startOrigin } from '../lib/raw-origin.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const ok = (_, response, message) => json(response, 200, answer(message.id, { content: [], resultType: 'complete' }));

/** A proxy that leads every name to this machine. */
async function startProxy(t, { refuse } = {}) {
  const seen = [];
  const server = createServer((request, response) => {
    seen.push({ method: request.method, url: request.url, headers: request.headers });
    if (refuse) return response.writeHead(refuse).end();
    const url = new URL(request.url);
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const onward = httpRequest({ host: '127.0.0.1', port: url.port, path: url.pathname, method: request.method, headers }, (answered) => {
      response.writeHead(answered.statusCode, answered.headers);
      answered.pipe(response);
    });
    onward.on('error', () => response.destroy());
    return request.pipe(onward);
  });
  const sockets = new Set();
  server.on('connect', (request, socket) => {
    seen.push({ method: 'CONNECT', url: request.url, headers: request.headers });
    socket.on('error', () => {});
    sockets.add(socket);
    if (typeof refuse === 'string') return socket.end(refuse);
    if (refuse) return socket.end(`HTTP/1.1 ${refuse} No\r\nContent-Length: 0\r\n\r\n`);
    const onward = connect(Number(request.url.split(':').pop()), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    sockets.add(onward);
    return onward.on('error', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  return { address: `127.0.0.1:${server.address().port}`, seen };
}

const clean = { HTTPS_PROXY: '', https_proxy: '', HTTP_PROXY: '', http_proxy: '', NO_PROXY: '', no_proxy: '' };

describe('forward proxies', { skip: DIRECT }, () => {
  test('http: the whole URL, the credentials for the proxy alone', async (t) => {
    const origin = await startOrigin(t, ok, { name: 'origin.test' });
    const proxy = await startProxy(t);
    const gateway = await startGatewayTo(t, { url: origin.url, proxy: `http://me:hunter2@${proxy.address}` }, { env: clean, args: ['--log-level', 'debug'] });
    const result = await call(gateway.url, 'tools/call', { name: 'x' });
    assert.deepEqual(result.message.result?.content, []);
    const asked = proxy.seen.at(-1);
    assert.equal(asked.url, origin.url);
    assert.equal(asked.headers.host, `origin.test:${origin.port}`);
    assert.equal(asked.headers['proxy-authorization'], `Basic ${Buffer.from('me:hunter2').toString('base64')}`);
    assert.doesNotMatch(gateway.stderr(), /hunter2|aHVudGVyMg|bWU6aHVudGVyMg/);
  });

  test('https: a tunnel, with the server verified through it', async (t) => {
    const ca = authority(t);
    const { tls } = ca.certificate('origin.test');
    const { caFile } = ca;
    const origin = await startOrigin(t, ok, { name: 'origin.test', tls });
    const proxy = await startProxy(t);
    const env = { ...clean, HTTPS_PROXY: `http://me:hunter2@${proxy.address}` };
    const gateway = await startGatewayTo(t, { url: origin.url, caFile }, { env });
    assert.deepEqual((await call(gateway.url, 'tools/call', { name: 'x' })).message.result?.content, []);
    assert.equal(proxy.seen[0].method, 'CONNECT');
    assert.equal(proxy.seen[0].url, `origin.test:${origin.port}`);
    assert.match(proxy.seen[0].headers['proxy-authorization'], /^Basic /);
    assert.ok(origin.requests.every(({ headers }) => headers['proxy-authorization'] === undefined));
    assert.equal(proxy.seen.length, 1, 'the tunnel is used again');
  });

  test('the authorization server is asked through the proxy too', async (t) => {
    const auth = await startOrigin(t, (_, response) => json(response, 200, JSON.stringify({ access_token: 'fresh', token_type: 'Bearer', expires_in: 60 })));
    const guarded = (request, response, message) =>
      request.headers.authorization ? ok(request, response, message) : response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    const origin = await startOrigin(t, guarded, { name: 'origin.test' });
    const proxy = await startProxy(t);
    const clientCredentials = { clientId: 'me', clientSecret: 'tell-nobody', tokenUrl: auth.url, issuer: new URL(auth.url).origin };
    const gateway = await startGatewayTo(t, { url: origin.url, proxy: `http://${proxy.address}`, clientCredentials }, { env: clean });
    assert.deepEqual((await call(gateway.url, 'tools/call', { name: 'x' })).message.result?.content, []);
    assert.ok(proxy.seen.some(({ method, url }) => method === 'POST' && url === auth.url), JSON.stringify(proxy.seen.map(({ url }) => url)));
    assert.equal(origin.requests.at(-1).headers.authorization, 'Bearer fresh');
  });

  test('the environment: http_proxy in small letters only, NO_PROXY, and proxy: none', async (t) => {
    const origin = await startOrigin(t, ok); // on 127.0.0.1: never through a proxy of the environment
    const proxy = await startProxy(t);
    const everywhere = `http://${proxy.address}`;
    const env = { ...clean, http_proxy: everywhere, HTTP_PROXY: everywhere };
    const gateway = await startGatewayTo(t, { url: origin.url }, { env });
    assert.ok((await call(gateway.url, 'tools/call', { name: 'x' })).message.result);
    assert.equal(proxy.seen.length, 0);
    const name = `http://origin.test:${origin.port}/mcp`;
    for (const [server, more, asked] of [
      [{}, {}, true],
      [{}, { http_proxy: '' }, false],
      [{}, { NO_PROXY: '.test' }, false],
      [{ proxy: 'none' }, {}, false],
      [{ proxy: everywhere }, { NO_PROXY: '*', http_proxy: '' }, true],
    ]) {
      proxy.seen.length = 0;
      const through = await startGatewayTo(t, { url: name, ...server }, { env: { ...env, ...more } });
      const result = await call(through.url, 'tools/call', { name: 'x' });
      assert.equal(proxy.seen.length > 0, asked, JSON.stringify([server, more]));
      assert.equal(Boolean(result.message.result), asked);
    }
  });

  for (const [what, refuse, text] of [
    ['407', 407, /refused our credentials.*407/],
    ['502', 502, /502/],
    ['403', 403, /refused the connection.*403/],
    ['no HTTP', 'hello\r\n\r\n', /no valid HTTP/],
    ['an endless head', `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(5000)}\r\n`, /no valid HTTP/],
    ['a word too many', 'HTTP/1.1 200 OK\r\n\r\nextra', /in the server's place/],
    ['nothing', '', /its proxy.*closed/],
  ]) {
    test(`a proxy that answers CONNECT with ${what} is named`, async (t) => {
      const proxy = await startProxy(t, { refuse });
      const server = { url: 'https://origin.test/mcp', proxy: `http://me:hunter2@${proxy.address}`, protocolEra: 'modern' };
      const gateway = await startGatewayTo(t, server, { env: clean });
      const failed = gatewayError(await call(gateway.url, 'tools/call', { name: 'x' }));
      assert.equal(failed.reason, 'upstream_unreachable');
      assert.match(failed.text, text);
      assert.doesNotMatch(failed.text + gateway.stderr(), /hunter2/);
    });
  }
});
