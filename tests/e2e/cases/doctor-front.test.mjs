// lineward doctor URL: what it finds of the proxies in front of a Lineward.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { describe } from 'node:test';
import { installed, start } from '../../proxies/proxies.mjs';
import { stand } from '../../proxies/run.mjs';
import { authority } from '../lib/certificates.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { haproxy as balancer } from '../lib/haproxy.mjs';
import { lineward } from '../lib/operator.mjs';
import { answer, json, startOrigin } from '../lib/raw-origin.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const [haproxy] = installed(['haproxy']).here;
const noHaproxy = haproxy ? false : 'there is no haproxy here (apt-get install haproxy)';

/** The doctor at that URL, or port of this machine: {of(check), code, out}. */
async function examine(where, idle = '1500ms', env = {}) {
  const url = /^\d+$/.test(where) ? `http://127.0.0.1:${where}/mcp` : where;
  const { code, out, err } = await lineward(['doctor', '--format', 'json', '--idle', idle, url], env);
  assert.ok(out.startsWith('{'), out + err);
  const { checks } = JSON.parse(out);
  const of = (check) => checks.filter((one) => one.check === check).map(({ status, text }) => `${status}: ${text}`);
  return { code, of, out };
}

/** A Lineward with a short keepAlive, so that a leave that never arrives is given up soon. */
async function gateway(t, listen = {}) {
  const base = await stand(temporaryFolder(t), { keepAlive: '1s', ...listen });
  t.after(() => base.stop());
  return base.gateway;
}

async function behindHaproxy(t, change, listen) {
  const front = await start(haproxy, await gateway(t, listen), temporaryFolder(t), { change });
  t.after(() => front.stop());
  return front.port;
}

/** A proxy of a few lines in front of a Lineward; `pass` gets the answer's way to the client. Resolves with its port. */
async function behind(t, { pass = (from, to) => to.writeHead(from.statusCode, from.headers) && from.pipe(to), leaves = true, takes = Infinity, tls }) {
  const [hostname, port] = (await gateway(t)).split(':');
  const serve = (from, to) => {
    const { method, url: path, headers } = from;
    if (Number(headers['content-length']) > takes) return to.writeHead(413).end('too large');
    const out = request({ hostname, port, method, path, headers }, (response) => pass(response, to));
    out.on('error', () => to.destroy());
    if (leaves) to.on('close', () => out.destroy());
    from.pipe(out);
  };
  const proxy = tls ? createTlsServer(tls, serve) : createServer(serve);
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return proxy.address().port;
}

// A busy machine may be slow; what is late by design is late by more.
const arrives = /^(ok|warning): a leave .* arrives (only )?after /;
const late = /^warning: a leave .* arrives only after /;
const all = (found, ...patterns) => {
  assert.equal(found.length, patterns.length, found.join('\n'));
  patterns.forEach((pattern, at) => assert.match(found[at], pattern));
};

describe('lineward doctor URL', { skip: DIRECT || NOT_PLAIN }, () => {
  test('without a proxy all is well, and that is said', async (t) => {
    const { code, of, out } = await examine((await gateway(t)).split(':')[1]);
    assert.equal(code, 0, out);
    all(of('front'), /^ok: no proxy stands between/);
    all(of('body'), /^ok: a request of 1 MiB passes/);
    all(of('head'), /^ok: the head of a call that takes long comes after \d+ ms/);
    all(of('leave'), arrives, arrives);
    assert.match(of('events')[0], /^(ok|warning): .*latest of 20/);
    all(of('idle'), /^ok: a quiet stream with a comment every 1s stays open for 1\.5s/, /^ok: no idle timeout below 1\.5s/);
  });

  test('haproxy as docs/proxies.md has it', { skip: noHaproxy }, async (t) => {
    const { code, of, out } = await examine(await behindHaproxy(t));
    assert.equal(code, 0, out);
    all(of('front'), /^ok: Lineward sees a proxy by x-forwarded-for/);
    all(of('leave'), arrives, arrives);
    assert.match(of('events')[0], /latest of 20/);
  });

  test('haproxy without abortonclose and http-no-delay: late leaves and late events', { skip: noHaproxy }, async (t) => {
    const without = (text) => text.replace(/^.*(abortonclose|http-no-delay).*\n/gm, '');
    const { of } = await examine(await behindHaproxy(t, without, { keepAlive: '3s' }));
    all(of('leave'), late, late);
    assert.match(of('events')[0], /^warning: events come late: the latest of 20 by (1[3-9]\d|[2-9]\d\d|\d{4}) ms/);
  });

  test('an idle timeout of haproxy is found, and that comments outlast it', { skip: noHaproxy }, async (t) => {
    const short = (text) => text.replace(/timeout (client|server) 60s/g, 'timeout $1 3s');
    const { of } = await examine(await behindHaproxy(t, short), '8s');
    all(of('idle'), /^ok: a quiet stream with a comment every 1s stays open for 8s/, /^ok: an idle timeout cuts a stream (2\.9\d*|[345](\.\d+)?)s after its last byte; a comment every 1s/);
  });

  test('clients that share a connection of haproxy, which names none of them', { skip: noHaproxy }, async (t) => {
    const shared = (text) => text.replace(/^.*(http-server-close|forwardfor).*\n/gm, '').replace('mode http', 'mode http\n  http-reuse always');
    const { of } = await examine(await behindHaproxy(t, shared), '0s');
    all(of('front'), /^warning: several clients share a connection to Lineward, and no header says so/);
  });

  test('a leave over TLS', async (t) => {
    const { caFile, certificate } = authority(t);
    const port = await behind(t, { tls: certificate('127.0.0.1').tls });
    const { code, of, out } = await examine(`https://127.0.0.1:${port}/mcp`, '1500ms', { SSL_CERT_FILE: caFile });
    assert.equal(code, 0, out);
    all(of('leave'), arrives, arrives);
    assert.match(of('events')[0], /latest of 20/);
    all(of('idle'), /^ok: a quiet stream/, /^ok: no idle timeout/);
  });

  test('replicas behind a balancer: the one that has the stream is found', { skip: noHaproxy }, async (t) => {
    const urls = [`http://${await gateway(t)}/mcp`, `http://${await gateway(t)}/mcp`];
    const { url } = await balancer(t, urls, { kept: false });
    const { of, out } = await examine(url, '0s');
    assert.match(of('front')[0], /^ok: 2 replicas of Lineward answered/, out);
    assert.equal(of('leave').length, 2, out);
    for (const one of of('leave')) assert.match(one, /arrives|did not know the stream/);
  });

  test('a proxy that buffers the whole answer', async (t) => {
    const pass = async (response, to) => {
      const pieces = await response.toArray().catch(() => to.destroy());
      if (to.destroyed) return;
      to.writeHead(response.statusCode, { 'content-type': response.headers['content-type'], 'lineward-front': response.headers['lineward-front'] ?? '{}' });
      to.end(Buffer.concat(pieces));
    };
    const { code, of, out } = await examine(await behind(t, { pass }));
    assert.equal(code, 1, out);
    all(of('head'), /^fault: the head of a call that takes long does not come before its answer/);
    all(of('events'), /^fault: the answer is buffered: all 20 events came at its end/);
    all(of('leave'), arrives, arrives);
  });

  test('a proxy that never passes a leave on', async (t) => {
    const pass = (response, to) => {
      to.writeHead(response.statusCode, response.headers);
      response.on('data', (bytes) => to.write(bytes)).on('end', () => to.end());
    };
    const { code, of, out } = await examine(await behind(t, { pass, leaves: false }));
    assert.equal(code, 1, out);
    const never = /^fault: a leave .* does not arrive within 8s: an abandoned call runs on/;
    all(of('leave'), never, never);
    assert.match(of('events')[0], /latest of 20/);
  });

  test('a proxy that takes no large body', async (t) => {
    const { of } = await examine(await behind(t, { takes: 100_000 }), '0s');
    all(of('body'), /^warning: a request of 1 MiB is refused in front of Lineward: HTTP 413/);
    all(of('idle'), /^skipped: --idle 0s/);
  });

  test('a Lineward with listen.probe off, and a server that is no Lineward', async (t) => {
    const off = await examine((await gateway(t, { probe: false })).split(':')[1]);
    assert.equal(off.code, 0, off.out);
    all(off.of('front'), /^skipped: a Lineward with listen\.probe off answers there/);
    const other = await startOrigin(
      t,
      (_, response, message) => {
        if (message?.method === 'server/discover')
          return json(response, 200, answer(message.id, { supportedVersions: ['2026-07-28'], capabilities: {} }));
        json(response, 404, JSON.stringify({ jsonrpc: '2.0', id: message?.id ?? null, error: { code: -32601, message: 'no such method' } }));
      },
      { era: 'none' },
    );
    const found = await examine(new URL(other.url).port);
    assert.equal(found.code, 0, found.out);
    all(found.of('front'), /^skipped: lineward\/probe is not answered there \(error -32601: no such method\): it is no Lineward, or an older one/);
    all(found.of('leave'));
  });
});
