// Replicas that pass requests to each other over TLS, by a list of URLs and by the addresses of a name.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { describe } from 'node:test';
import { authority } from '../lib/certificates.mjs';
import { echoServer } from '../lib/echo-server.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { eventually, lineward } from '../lib/operator.mjs';
import { freePort } from '../lib/ports.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

/** A request of a legacy client over TLS: {status, headers, text}. */
function post(origin, ca, message, session) {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    host: 'localhost',
    ...(session && { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }),
  };
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const sent = httpsRequest({ hostname, port, path: '/mcp', method: 'POST', headers, ca, servername: 'localhost', agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    sent.on('error', reject);
    sent.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
  });
}

/** A session that only this replica can serve. */
async function open(origin, ca) {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const { headers } = await post(origin, ca, { id: 1, method: 'initialize', params });
  const session = headers['mcp-session-id'];
  assert.match(session, /^lwr1~/);
  await post(origin, ca, { method: 'notifications/initialized' }, session);
  return session;
}

const call = (origin, ca, session) => post(origin, ca, { id: 2, method: 'tools/call', params: { name: 'echo', arguments: {} } }, session);

function setting(t) {
  const ca = authority(t);
  const keyFile = join(temporaryFolder(t), 'keys');
  writeFileSync(keyFile, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  const { certFile, keyFile: key } = ca.certificate('localhost');
  const start = (address, replicas) =>
    startGatewayFrom(
      t,
      {
        listen: { address, allowedHosts: ['localhost'], tls: { certificate: certFile, key } },
        ops: 'off',
        admin: 'off',
        replicas: { keyFile, caFile: ca.caFile, ...replicas },
        mcpServers: { s: echoServer('legacy') },
      },
      { strict: false },
    );
  return { ca, keyFile, start };
}

describe('replicas over TLS', { skip: DIRECT || NOT_PLAIN }, () => {
  test('a list of https URLs: a session is passed on, and not to a replica with a certificate for another name', async (t) => {
    const { ca, start } = setting(t);
    const [portA, portB] = [await freePort(), await freePort()];
    const peers = { a: `https://localhost:${portA}`, b: `https://localhost:${portB}` };
    const a = await start(`127.0.0.1:${portA}`, { name: 'a', peers });
    const b = await start(`127.0.0.1:${portB}`, { name: 'b', peers });
    const session = await open(a.url, ca.ca);
    const answer = await call(b.url, ca.ca, session);
    assert.equal(answer.status, 200);
    assert.match(answer.text, /"content"/);

    const portC = await freePort();
    const c = await start(`127.0.0.1:${portC}`, { name: 'c', peers: { a: `https://127.0.0.1:${portA}` } });
    assert.equal((await call(c.url, ca.ca, session)).status, 404);
    await eventually(() => /event=peer\.failed peer=a why="[^"]*certificate/.test(c.stderr()), 'the reason in the log');
    const d = await start(`127.0.0.1:${await freePort()}`, { name: 'd', peers, caFile: authority(t).caFile });
    assert.equal((await call(d.url, ca.ca, session)).status, 404);
    assert.equal((await call(a.url, ca.ca, session)).status, 200, 'it goes on where it is');
  });

  test('the addresses of a name: its certificate is for the name, and an address that is not among them is no replica', async (t) => {
    const { ca, start } = setting(t);
    const port = await freePort();
    const peersFrom = `https://localhost:${port}`;
    const a = await start(`127.0.0.1:${port}`, { name: '127.0.0.1', peersFrom });
    const b = await start(`:${await freePort()}`, { name: '127.0.0.2', peersFrom });
    const session = await open(a.url, ca.ca);
    assert.match(session, /^lwr1~127\.0\.0\.1~/);
    const answer = await call(b.url, ca.ca, session);
    assert.equal(answer.status, 200);
    assert.match(answer.text, /"content"/);
    await eventually(() => /event=peers\.changed host=localhost peers=127\.0\.0\.1( |$)/m.test(b.stderr()), 'the replicas in the log');
    // The name does not have 127.0.0.2: what is at that address gets nothing.
    const elsewhere = await open(b.url, ca.ca);
    assert.match(elsewhere, /^lwr1~127\.0\.0\.2~/);
    assert.equal((await call(a.url, ca.ca, elsewhere)).status, 404);
    assert.equal((await call(b.url, ca.ca, elsewhere)).status, 200);
  });

  test('validate names what is wrong', async (t) => {
    const { ca, keyFile } = setting(t);
    const folder = temporaryFolder(t);
    const faults = async (replicas) => {
      const file = join(folder, 'lineward.json');
      writeFileSync(file, JSON.stringify({ replicas: { keyFile, ...replicas }, mcpServers: { s: echoServer('legacy') } }));
      const { code, out, err } = await lineward(['validate', file]);
      return `${code} ${out}${err}`;
    };
    assert.match(await faults({ name: '10.0.0.7', peersFrom: 'https://replicas:8000', caFile: ca.caFile }), /^0 /);
    assert.match(await faults({ name: 'a', peersFrom: 'https://replicas:8000' }), /^78 [^]*a replica's name is its address/);
    assert.match(await faults({ peersFrom: 'https://replicas:8000' }), /^78 [^]*a replica's name is its address/);
    assert.match(await faults({ name: '10.0.0.7', peersFrom: 'https://r:1', peers: { a: 'https://a:1' } }), /^78 [^]*peers and peersFrom/);
    assert.match(await faults({ name: 'a', peersFrom: 'unix:/run/a.sock' }), /^78 [^]*a name has addresses/);
    assert.match(await faults({ name: 'a', peers: { b: 'https://b:1' }, caFile: keyFile }), /^78 [^]*caFile/);
    assert.match(await faults({ name: 'a', peers: { b: 'http://b:1' }, caFile: ca.caFile }), /^0 [^]*no replica has such a URL/);
  });
});
