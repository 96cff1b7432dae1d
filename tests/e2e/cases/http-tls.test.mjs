// Lineward in front of HTTPS servers: the accepted certificates, and the errors for the others.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { authority } from '../lib/certificates.mjs';
import { startGatewayTo } from '../lib/gateway.mjs';
import { answer, call, gatewayError, json, startOrigin } from '../lib/raw-origin.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const seen = [];
const ok = (request, response, message) => {
  seen.push({ name: request.socket.servername, peer: request.socket.getPeerCertificate()?.subject?.CN });
  json(response, 200, answer(message.id, { content: [], resultType: 'complete' }));
};

describe('HTTPS servers', { skip: DIRECT }, () => {
  test('a certificate of the named authority is believed, and the name is sent', async (t) => {
    const ca = authority(t);
    const origin = await startOrigin(t, ok, { tls: ca.certificate('localhost').tls, name: 'localhost' });
    const gateway = await startGatewayTo(t, { url: origin.url, caFile: ca.caFile });
    assert.ok((await call(gateway.url, 'tools/call', { name: 'x' })).message.result);
    assert.equal(seen.at(-1).name, 'localhost');
  });

  test('a client certificate is shown where one is wanted', async (t) => {
    const ca = authority(t);
    const tls = { ...ca.certificate('127.0.0.1').tls, ca: ca.ca, requestCert: true, rejectUnauthorized: true };
    const origin = await startOrigin(t, ok, { tls });
    const { certFile, keyFile } = ca.certificate('the-gateway');
    const server = { url: origin.url, caFile: ca.caFile };
    const known = await startGatewayTo(t, { ...server, clientCert: certFile, clientKey: keyFile });
    assert.ok((await call(known.url, 'tools/call', { name: 'x' })).message.result);
    assert.equal(seen.at(-1).peer, 'the-gateway');
    const unknown = await startGatewayTo(t, { ...server, protocolEra: 'modern' });
    const failed = gatewayError(await call(unknown.url, 'tools/call', { name: 'x' }));
    assert.equal(failed.reason, 'upstream_unreachable');
  });

  for (const [what, text, make] of [
    ['another name', /name|address/i, (ca) => ({ tls: ca.certificate('other.test').tls, caFile: ca.caFile })],
    ['an unknown authority', /authority|issuer|self.signed|unable/i, (ca) => ({ tls: ca.certificate('127.0.0.1').tls })],
    ['an expired certificate', /expired/i, (ca) => ({ tls: ca.certificate('127.0.0.1', { days: 0 }).tls, caFile: ca.caFile })],
  ]) {
    test(`${what}: nothing is sent, and the reason is told`, async (t) => {
      const { tls, ...server } = make(authority(t));
      await sleep(1100); // an expired one expires within the second
      const origin = await startOrigin(t, ok, { tls });
      const gateway = await startGatewayTo(t, { url: origin.url, ...server, protocolEra: 'modern' });
      const failed = gatewayError(await call(gateway.url, 'tools/call', { name: 'x' }));
      assert.equal(failed.reason, 'upstream_unreachable');
      assert.match(failed.text, text);
      assert.equal(origin.requests.length, 0);
    });
  }
});
