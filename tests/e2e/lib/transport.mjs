// LINEWARD_TRANSPORT=tls | h2 | h2c: what the tests' clients send to Lineward goes over TLS, over HTTP/2 with TLS, or over
// HTTP/2 with prior knowledge. Each client still speaks plain HTTP/1.1, to a forwarder in this process. Under `tls` it
// passes bytes and the ends of both directions on. Under `h2` and `h2c` each request is a stream of a shared connection,
// and a client that leaves resets its stream.
import { createServer } from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import tls from 'node:tls';

export const TRANSPORT = process.env.LINEWARD_TRANSPORT || 'plain';
const KNOWN = ['plain', 'tls', 'h2', 'h2c'];
if (!KNOWN.includes(TRANSPORT)) throw new Error(`LINEWARD_TRANSPORT=${TRANSPORT} is none of ${KNOWN.join(', ')}`);

/** As `skip` of a test: what it is about is the gateway's own address or a client's own bytes, which a forwarder has not. */
export const NOT_PLAIN = TRANSPORT !== 'plain' && `needs the gateway's own address (LINEWARD_TRANSPORT=${TRANSPORT})`;

/** Options that the command line of `lineward run` gets as well. */
export const transportArgs = TRANSPORT === 'tls' || TRANSPORT === 'h2' ? ['--tls-self-signed'] : [];

const STREAMS = 60; // of one connection; Lineward takes 100 at once
const OF_A_CONNECTION = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade', 'expect', 'host']);

function bytesForwarder(port) {
  return net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const gateway = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false, allowHalfOpen: true });
    gateway.setNoDelay(true);
    client.pipe(gateway);
    gateway.pipe(client);
    // A reset or an end of one side is the end of both.
    client.on('error', () => gateway.destroy());
    gateway.on('error', () => client.resetAndDestroy());
    client.on('close', () => gateway.destroy());
    gateway.on('close', () => client.destroy());
  });
}

function streamsForwarder(origin) {
  const sessions = new Map(); // with the number of their streams
  function session() {
    for (const [one, streams] of sessions) if (streams < STREAMS && !one.closed && !one.destroyed) return one;
    const fresh = http2.connect(origin, { rejectUnauthorized: false, maxSendHeaderBlockLength: 1 << 20 });
    sessions.set(fresh, 0);
    fresh.on('error', () => {});
    fresh.on('goaway', () => sessions.delete(fresh));
    fresh.on('close', () => sessions.delete(fresh));
    return fresh;
  }
  const server = createServer({ keepAliveTimeout: 65_000, requestTimeout: 0, maxHeaderSize: 1 << 20 }, (request, response) => {
    const headers = { ':method': request.method, ':path': request.url, ':authority': request.headers.host ?? '' };
    for (let at = 0; at < request.rawHeaders.length; at += 2) {
      const name = request.rawHeaders[at].toLowerCase();
      if (OF_A_CONNECTION.has(name)) continue;
      const value = request.rawHeaders[at + 1];
      headers[name] = name in headers ? [headers[name], value].flat() : value;
    }
    const one = session();
    sessions.set(one, (sessions.get(one) ?? 0) + 1);
    let stream;
    try {
      stream = one.request(headers, { endStream: false });
    } catch {
      response.destroy(); // a header that HTTP/2 can't say
      return;
    }
    request.pipe(stream);
    let whole = false;
    stream.on('response', (answer) => {
      const lines = Object.entries(answer).filter(([name]) => !name.startsWith(':'));
      response.writeHead(answer[':status'], lines.flatMap(([name, value]) => [value].flat().map((v) => [name, v])).flat());
      response.flushHeaders();
      stream.pipe(response);
    });
    stream.on('end', () => (whole = true));
    stream.on('error', () => {});
    stream.on('close', () => {
      if (sessions.has(one)) sessions.set(one, sessions.get(one) - 1);
      if (!whole || stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR) response.destroy();
    });
    response.on('close', () => {
      if (!response.writableFinished) stream.close(http2.constants.NGHTTP2_CANCEL);
    });
  });
  server.on('close', () => [...sessions.keys()].forEach((one) => one.destroy()));
  return server;
}

/** The same endpoint behind a forwarder, which keeps no process alive: {url, stop}. */
export async function overTransport(url) {
  if (TRANSPORT === 'plain') return { url, stop: () => {} };
  const { port, origin, pathname } = new URL(url);
  const server = TRANSPORT === 'tls' ? bytesForwarder(Number(port)) : streamsForwarder(origin);
  await new Promise((resolve, reject) => server.listen(0, '127.0.0.1', resolve).once('error', reject));
  server.unref();
  const stop = () => {
    server.close();
    server.closeAllConnections?.();
  };
  return { url: `http://127.0.0.1:${server.address().port}${pathname}`, stop };
}
