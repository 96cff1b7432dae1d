// Further listeners: their certificates in status, metrics and log, and client certificates as the only way in.
import assert from 'node:assert/strict';
import { copyFileSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { authority } from '../lib/certificates.mjs';
import { echoServer } from '../lib/echo-server.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { modernPost } from '../lib/modern.mjs';
import { get, lineward, opsOf } from '../lib/operator.mjs';
import { running } from '../lib/reloading.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const SERVERS = { s: echoServer('modern') };

async function until(done, what) {
  for (let left = 600; left > 0; --left) {
    if (await done()) return;
    await sleep(25);
  }
  assert.fail(`waited for ${what}`);
}

/** The name of the certificate that is shown at this address. */
function shownAt(url, ca) {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port, ca, checkServerIdentity: () => undefined });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      resolve(socket.getPeerCertificate().subject?.CN);
      socket.destroy();
    });
  });
}

/** A call; its status. */
function call(url, options) {
  const { method, headers, body } = modernPost('tools/call', { name: 'echo' }, { id: 1 });
  return new Promise((resolve, reject) => {
    const request = httpsRequest(url, { method, headers, agent: false, ...options }, (response) => {
      response.resume().on('error', reject);
      response.on('end', () => resolve(response.statusCode));
    });
    request.on('error', reject);
    request.end(body);
  });
}

const urlOf = async (one, name) => (await one.status()).listeners.find((listener) => listener.name === name).url;

describe('further listeners', { skip: DIRECT }, () => {
  test('status, the metric and the warning have the certificates of all listeners, and a renewed one is used', { skip: NOT_PLAIN }, async (t) => {
    const ca = authority(t);
    const folder = temporaryFolder(t);
    const [certificate, key] = ['cert.pem', 'key.pem'].map((file) => join(folder, file));
    const install = (made) => {
      copyFileSync(made.certFile, certificate);
      copyFileSync(made.keyFile, key);
    };
    install(ca.certificate('inside.test'));
    const first = ca.certificate('first.test');
    const listen = { address: '127.0.0.1:0', tls: { certificate: first.certFile, key: first.keyFile } };
    const listeners = { inside: { address: '127.0.0.1:0', tls: { certificate, key } }, plain: { address: '127.0.0.1:0' } };
    const one = await running(t, SERVERS, { more: { listen, listeners } });
    const certificates = async () => (await one.status()).certificates.map(({ listener, names }) => [listener, ...names]);
    const series = async () => {
      const { body } = await get(opsOf(one.gateway), '/metrics');
      return [...body.matchAll(/^lineward_tls_certificate_expiry_seconds\{(.*)\} (\d+)/gm)].map(([, labels]) => labels);
    };
    assert.deepEqual(await certificates(), [
      ['listen', 'first.test'],
      ['inside', 'inside.test'],
    ]);
    assert.deepEqual(await series(), ['listener="inside",certificate="inside.test"', 'listener="listen",certificate="first.test"']);
    const screen = await lineward(['status', '--admin', `unix:${join(one.folder, 'admin.sock')}`]);
    assert.match(screen.out, /TLS +inside\.test .*listener inside/);
    assert.match(one.gateway.stderr(), /event=tls\.expiring certificate=inside\.test .*listener=inside/);
    assert.match(one.gateway.stderr(), /event=tls\.expiring certificate=first\.test .*listener=listen/);

    install(ca.certificate('renewed.test'));
    const url = await urlOf(one, 'inside');
    await until(async () => (await shownAt(url, ca.ca)) === 'renewed.test', 'the renewed certificate');
    assert.match(one.gateway.stderr(), /event=tls\.loaded by=watch certificates=renewed\.test listener=inside/);
    assert.deepEqual((await certificates())[1], ['inside', 'renewed.test']);
    assert.deepEqual((await series())[0], 'listener="inside",certificate="renewed.test"');

    writeFileSync(certificate, 'nothing');
    const { code, out, err } = await one.reload();
    assert.notEqual(code, 0);
    assert.match(out + err, /cert\.pem/);
    const checked = await lineward(['validate', one.file]);
    assert.notEqual(checked.code, 0);
    assert.match(checked.out + checked.err, /cert\.pem/);
    assert.equal(await shownAt(url, ca.ca), 'renewed.test');

    install(ca.certificate('third.test'));
    one.write(SERVERS, { listen, listeners: { plain: listeners.plain } });
    assert.equal((await one.reload()).code, 0);
    assert.deepEqual(await certificates(), [['listen', 'first.test']]);
    assert.deepEqual(await series(), ['listener="listen",certificate="first.test"']);
  });

  test('client certificates may be the only way into a listener; those of other authorities are other callers', { skip: NOT_PLAIN }, async (t) => {
    const [ca, partners, others] = [authority(t), authority(t), authority(t)];
    const { certFile, keyFile } = ca.certificate('127.0.0.1');
    const tls = (by) => ({ certificate: certFile, key: keyFile, clientCertificates: { authorities: by.caFile } });
    const one = await running(t, SERVERS, {
      more: {
        listen: { address: '127.0.0.1:0', tls: tls(partners) },
        listeners: {
          alone: { address: '127.0.0.1:0', tls: tls(partners), auth: {} },
          others: { address: '127.0.0.1:0', tls: tls(others) },
        },
      },
    });
    const agent = partners.certificate('agent');
    const alone = await urlOf(one, 'alone');
    assert.equal(await call(alone, { ca: ca.ca }), 401);
    assert.equal(await call(alone, { ca: ca.ca, ...agent.tls }), 200);
    assert.equal(await call(one.gateway.url, { ca: ca.ca }), 200, 'without auth a certificate is not required');
    assert.equal(await call(one.gateway.url, { ca: ca.ca, ...agent.tls }), 200);
    const elsewhere = await urlOf(one, 'others');
    await assert.rejects(call(elsewhere, { ca: ca.ca, ...agent.tls }), /alert unknown ca|ECONNRESET/);
    assert.equal(await call(elsewhere, { ca: ca.ca, ...others.certificate('agent').tls }), 200);
  });
});
