// Changes of a reload for HTTP servers: the role of a plain sidecar, and certificates replaced on disk.
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { describe } from 'node:test';
import { authority } from '../lib/certificates.mjs';
import { answer, call, gatewayError, json, startOrigin } from '../lib/raw-origin.mjs';
import { running } from '../lib/reloading.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const skip = DIRECT;
const AUTHORIZATION = { authorization: 'Bearer of-the-client' };
const CHALLENGE = 'Bearer error="invalid_token"';

async function reloaded(one) {
  const { code, out, err } = await one.reload();
  assert.equal(code, 0, err);
  return out;
}

describe('a reload in front of HTTP servers', { skip }, () => {
  test('Authorization passes only while there is one server', async (t) => {
    const serve = (request, response, message) =>
      message.params.name === 'deny'
        ? json(response, 401, '{}', { 'www-authenticate': CHALLENGE })
        : json(response, 200, answer(message.id, { content: [], resultType: 'complete' }));
    const first = await startOrigin(t, serve);
    const second = await startOrigin(t, serve);
    const alone = { s: { url: first.url } };
    const one = await running(t, alone);
    const seen = () => first.requests.at(-1).headers.authorization;
    const ask = (url, name = 'x') => call(url, 'tools/call', { name }, { headers: AUTHORIZATION });

    assert.ok((await ask(one.gateway.url)).message.result);
    assert.equal(seen(), AUTHORIZATION.authorization);
    const refused = await ask(one.gateway.url, 'deny');
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get('www-authenticate'), CHALLENGE);

    one.write({ ...alone, t: { url: second.url } });
    assert.match(await reloaded(one), /^ {2}~ \/mcp +led to s +leads to all servers as one now$/m);
    assert.ok((await ask(one.gateway.url, 's__x')).message.result);
    assert.equal(seen(), undefined, 'nor at the aggregate');
    assert.ok((await ask(one.at('s'))).message.result);
    assert.equal(seen(), undefined);
    assert.ok((await ask(one.at('t'))).message.result);
    assert.equal(second.requests.at(-1).headers.authorization, undefined);
    const hidden = await ask(one.at('s'), 'deny');
    assert.equal(gatewayError(hidden).code, 502, 'what the server says of credentials is no business of its clients');
    assert.equal(hidden.headers.get('www-authenticate'), null);

    one.write(alone);
    await reloaded(one);
    assert.ok((await ask(one.gateway.url)).message.result);
    assert.equal(seen(), AUTHORIZATION.authorization);
    assert.equal((await ask(one.gateway.url, 'deny')).status, 401);
  });

  test('an authority replaced on disk is believed after the reload', async (t) => {
    const [old, next] = [authority(t), authority(t)];
    const origin = await startOrigin(t, ok, { tls: old.certificate('127.0.0.1').tls });
    const caFile = old.caFile;
    const one = await running(t, { s: { url: origin.url, caFile, protocolEra: 'modern', circuitBreaker: { consecutiveFailures: 0 } } });
    const ask = () => call(one.gateway.url, 'tools/call', { name: 'x' });
    assert.ok((await ask()).message.result);

    origin.server.setSecureContext(next.certificate('127.0.0.1').tls);
    origin.server.closeAllConnections();
    const failed = gatewayError(await ask());
    assert.equal(failed.reason, 'upstream_unreachable', 'the new certificate is of an unknown authority');
    copyFileSync(next.caFile, caFile);
    assert.match(await reloaded(one), /^ {2}~ s +a certificate or key changed on disk +restarts now$/m);
    assert.ok((await ask()).message.result);
  });

  test('a client certificate replaced on disk is shown after the reload', async (t) => {
    const ca = authority(t);
    const peers = [];
    const tls = { ...ca.certificate('127.0.0.1').tls, ca: ca.ca, requestCert: true, rejectUnauthorized: true };
    const origin = await startOrigin(
      t,
      (request, response, message) => {
        peers.push(request.socket.getPeerCertificate().subject.CN);
        ok(request, response, message);
      },
      { tls },
    );
    const [first, second] = [ca.certificate('first'), ca.certificate('second')];
    const { certFile, keyFile } = first;
    const one = await running(t, { s: { url: origin.url, caFile: ca.caFile, clientCert: certFile, clientKey: keyFile } });
    const ask = () => call(one.gateway.url, 'tools/call', { name: 'x' });
    assert.ok((await ask()).message.result);
    assert.equal(peers.at(-1), 'first');

    copyFileSync(second.certFile, certFile);
    copyFileSync(second.keyFile, keyFile);
    assert.ok((await ask()).message.result);
    assert.equal(peers.at(-1), 'first', 'nothing is read again without a reload');
    assert.match(await reloaded(one), /^ {2}~ s +a certificate or key changed on disk +restarts now$/m);
    assert.ok((await ask()).message.result);
    assert.equal(peers.at(-1), 'second');

    assert.match(await reloaded(one), /^ {2}= 1 unchanged$/m);
  });
});

function ok(request, response, message) {
  json(response, 200, answer(message.id, { content: [], resultType: 'complete' }));
}
