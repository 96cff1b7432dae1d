// TLS of clients with certificates of files: names, reloads, client certificates, resumed sessions, and validate.
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { authority } from '../lib/certificates.mjs';
import { echoServer } from '../lib/echo-server.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { lastMessage, modernPost } from '../lib/modern.mjs';
import { lineward } from '../lib/operator.mjs';
import { running } from '../lib/reloading.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const SERVERS = { s: echoServer('modern') };
const listening = (tls, more = {}) => ({ listen: { address: '127.0.0.1:0', tls, ...more } });

/** A call over TLS: {status, message, shown}; `shown` is the name of the gateway's certificate. */
function call(url, options) {
  const { method, headers, body } = modernPost('tools/call', { name: 'echo' }, { id: 1 });
  return new Promise((resolve, reject) => {
    const request = httpsRequest(url, { method, headers, agent: false, ...options }, (response) => {
      const shown = response.socket.getPeerCertificate().subject?.CN;
      const resumed = response.socket.isSessionReused();
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode, message: lastMessage(text), shown, resumed }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** The handshake alone: the name of the gateway's certificate, or the error's code. */
function handshake(url, options) {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: new URL(url).port, ...options });
    socket.once('error', (error) => resolve(error.code));
    socket.once('secureConnect', () => {
      const shown = socket.getPeerCertificate().subject?.CN;
      socket.destroy();
      resolve(shown);
    });
  });
}

async function until(done, what) {
  for (let left = 600; left > 0; --left) {
    if (await done()) return;
    await sleep(25);
  }
  assert.fail(`waited for ${what}`);
}

describe('TLS of clients', { skip: DIRECT || NOT_PLAIN }, () => {
  test('a certificate is shown by the name that the client asks for', async (t) => {
    const ca = authority(t);
    const [first, second, wild] = ['127.0.0.1', 'two.test', '*.wild.test'].map((name) => ca.certificate(name));
    const certificates = [second, wild].map(({ certFile, keyFile }) => ({ certificate: certFile, key: keyFile }));
    const more = listening({ certificate: first.certFile, key: first.keyFile, certificates }, { allowedHosts: ['two.test'] });
    const one = await running(t, SERVERS, { more });
    const { url } = one.gateway;
    assert.match(url, /^https:/);
    const plain = await call(url, { ca: ca.ca });
    assert.equal(plain.status, 200);
    assert.equal(plain.shown, '127.0.0.1');
    const named = (servername) => handshake(url, { ca: ca.ca, servername });
    assert.equal(await named('two.test'), 'two.test');
    assert.equal(await named('a.wild.test'), '*.wild.test');
    assert.equal(await named('unknown.test'), 'ERR_TLS_CERT_ALTNAME_INVALID', 'the first one is shown');
    assert.equal(await handshake(url, { ca: ca.ca, ALPNProtocols: ['other'] }), 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL');
    assert.equal(await handshake(url, { ca: ca.ca, ALPNProtocols: ['h2', 'http/1.1'] }), '127.0.0.1');
    const status = await one.status();
    assert.match(status.url, /^https:/);
    assert.deepEqual(
      status.certificates.map(({ names }) => names),
      [['127.0.0.1'], ['two.test'], ['*.wild.test']],
    );
    assert.match(one.gateway.stderr(), /event=tls\.expiring certificate=two\.test .*expires_in_s=17\d{4}/);
  });

  test('a changed certificate is shown after a reload, and without one; a broken one changes nothing', async (t) => {
    const ca = authority(t);
    const folder = temporaryFolder(t);
    const [certificate, key] = ['cert.pem', 'key.pem'].map((file) => join(folder, file));
    const install = (made) => {
      copyFileSync(made.certFile, certificate);
      copyFileSync(made.keyFile, key);
    };
    install(ca.certificate('first.test'));
    const one = await running(t, SERVERS, { more: listening({ certificate, key }) });
    const { url } = one.gateway;
    const shown = () => handshake(url, { ca: ca.ca, checkServerIdentity: () => undefined });
    assert.equal(await shown(), 'first.test');

    install(ca.certificate('second.test'));
    await until(async () => (await shown()) === 'second.test', 'the second certificate');
    assert.match(one.gateway.stderr(), /event=tls\.loaded by=watch certificates=second\.test/);

    writeFileSync(key, readFileSync(ca.certificate('other.test').keyFile));
    const refused = await one.reload();
    assert.equal(refused.code !== 0, true);
    assert.match(refused.out + refused.err, /cert\.pem: the key is not that of the certificate/);
    assert.equal(await shown(), 'second.test');
    await until(() => /event=tls\.rejected .*the key is not that/.test(one.gateway.stderr()), 'tls.rejected');
    assert.equal(await shown(), 'second.test');

    install(ca.certificate('third.test'));
    const { code, err } = await one.reload();
    assert.equal(code, 0, err);
    assert.equal(await shown(), 'third.test');
  });

  test('a client certificate is a principal; others are refused', async (t) => {
    const [ca, clients, strangers] = [authority(t), authority(t), authority(t)];
    const { certFile, keyFile } = ca.certificate('127.0.0.1');
    const clientCertificates = { authorities: clients.caFile, names: ['agent-*'] };
    const tls = { certificate: certFile, key: keyFile, clientCertificates };
    const one = await running(t, SERVERS, { more: listening(tls) });
    const { url } = one.gateway;
    const as = (made) => call(url, { ca: ca.ca, ...made?.tls });

    assert.equal((await as(clients.certificate('agent-1'))).status, 200);
    await until(() => /event=call\.end .*principal=agent-1\b/.test(one.gateway.stderr()), 'who');
    assert.equal((await as()).status, 200, 'none is required');
    const named = await as(clients.certificate('human'));
    assert.equal(named.status, 403);
    assert.match(named.message.error.message, /listen\.tls\.clientCertificates\.names/);
    await assert.rejects(as(strangers.certificate('agent-2')), /alert unknown ca|ECONNRESET/);

    one.write(SERVERS, listening({ ...tls, clientCertificates: { ...clientCertificates, required: true } }));
    const { code, err } = await one.reload();
    assert.equal(code, 0, err);
    await assert.rejects(as(), /certificate required|ECONNRESET/);
    assert.equal((await as(clients.certificate('agent-3'))).status, 200);
  });

  test('a session is resumed by a ticket, also by another replica with the same keys', async (t) => {
    const ca = authority(t);
    const { certFile, keyFile } = ca.certificate('127.0.0.1');
    const keys = join(temporaryFolder(t), 'replicas.key');
    writeFileSync(keys, `${'k'.repeat(44)}\n`, { mode: 0o600 });
    const more = { ...listening({ certificate: certFile, key: keyFile }), replicas: { keyFile: keys } };
    const [one, two] = [await running(t, SERVERS, { more }), await running(t, SERVERS, { more })];
    let session;
    const connectTo = ({ gateway }) =>
      new Promise((resolve, reject) => {
        const socket = connect({ host: '127.0.0.1', port: new URL(gateway.url).port, ca: ca.ca, session });
        socket.once('error', reject);
        socket.on('session', (ticket) => (session = ticket));
        socket.once('end', () => resolve(socket.isSessionReused()));
        socket.resume();
        socket.write('GET / HTTP/1.0\r\n\r\n');
      });
    assert.equal(await connectTo(one), false);
    assert.equal(await connectTo(one), true);
    assert.equal(await connectTo(two), true);
    assert.equal(await one.metric('lineward_tls_certificate_expiry_seconds') > 100_000, true);
  });

  test('run --tls-self-signed names its certificate', async (t) => {
    const one = await running(t, SERVERS, { args: ['--tls-self-signed'] });
    const pin = /curl -k --pinnedpubkey sha256\/\/(\S{44}) (https:\S+)/.exec(one.gateway.stderr());
    assert.equal(pin?.[2], one.gateway.url);
    const fingerprint = /self-signed until the next start, SHA-256 (\S+)/.exec(one.gateway.stderr())[1];
    const seen = await new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: new URL(one.gateway.url).port, rejectUnauthorized: false });
      socket.once('secureConnect', () => {
        resolve(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      });
    });
    assert.equal(seen, fingerprint);
  });

  test('validate names what is wrong with a certificate', async (t) => {
    const ca = authority(t);
    const folder = temporaryFolder(t);
    const [good, other] = [ca.certificate('a.test', { days: 60 }), ca.certificate('b.test')];
    const expired = ca.certificate('c.test', { days: 0 });
    await sleep(1100); // it expires within the second
    const chain = join(folder, 'chain.pem');
    writeFileSync(chain, readFileSync(good.certFile, 'utf8') + readFileSync(other.certFile, 'utf8'));
    const validate = async (listen) => {
      const file = join(folder, 'lineward.json');
      writeFileSync(file, JSON.stringify({ listen, mcpServers: SERVERS }));
      const { code, out, err } = await lineward(['validate', file]);
      return { code, text: out + err };
    };
    const pair = (certificate, key) => ({ tls: { certificate, key } });
    const fails = async (listen, why) => {
      const { code, text } = await validate(listen);
      assert.equal(code !== 0, true, text);
      assert.match(text, why);
    };
    assert.equal((await validate(pair(good.certFile, good.keyFile))).code, 0);
    await fails(pair(good.certFile, other.keyFile), /the key is not that of the certificate/);
    await fails(pair(chain, good.keyFile), /certificate 2 did not issue certificate 1/);
    await fails(pair(expired.certFile, expired.keyFile), /has expired/);
    await fails(pair(ca.caFile, good.keyFile), /the key is not that of the certificate/);
    await fails({ tls: { key: good.keyFile } }, /takes a certificate/);
    await fails({ tls: { certificates: [{ key: good.keyFile }] } }, /has no certificate/);
    await fails({ address: 'unix:/tmp/x', ...pair(good.certFile, good.keyFile) }, /TLS is for TCP/);
    const soon = await validate(pair(other.certFile, other.keyFile));
    assert.equal(soon.code, 0);
    assert.match(soon.text, /expires in 1 day/);
    const names = await validate({ allowedHosts: ['z.test'], ...pair(good.certFile, good.keyFile) });
    assert.match(names.text, /no certificate has the name z\.test/);
  });
});
