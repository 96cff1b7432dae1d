// HTTP/2 towards servers, on every way to them: proxies, Unix sockets, client certificates, several origins, nginx. With
// every kind of answer: sessions, GET streams and DELETE, HTTP+SSE, and the statuses that mean something.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createServer2 } from 'node:http2';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe } from 'node:test';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { installed } from '../../proxies/proxies.mjs';
import { authority } from '../lib/certificates.mjs';
import { LIMIT_MS, bounded, temporaryFolder } from '../lib/events.mjs';
import { startGatewayTo } from '../lib/gateway.mjs';
import { lastMessage, modernPost } from '../lib/modern.mjs';
import { eventually } from '../lib/operator.mjs';
import { accepts, freePort } from '../lib/ports.mjs';
import { answer, beginEvents, call, event, gatewayError, json, startOrigin } from '../lib/raw-origin.mjs';
import { DIRECT, legacyClient, textOf } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const done = (id, text = 'done') => answer(id, { content: [{ type: 'text', text }], resultType: 'complete' });
const text = ({ message }) => message?.result?.content?.[0]?.text;
const tool = (url, name, more) => call(url, 'tools/call', { name, arguments: {} }, more);
const versionOf = (request, response, { id }) => json(response, 200, done(id, request.httpVersion));

/** `told` has what was told; `until` waits for it. */
function journal() {
  const told = [];
  let wake = () => {};
  return {
    told,
    tell: (what) => (told.push(what), wake()),
    until: (isMet, what) =>
      bounded(
        (async () => {
          while (!isMet(told)) await new Promise((resolve) => (wake = resolve));
        })(),
        LIMIT_MS,
        what,
      ),
  };
}

describe('HTTP/2 towards servers, every road', { skip: DIRECT }, () => {
  test('through a CONNECT proxy', async (t) => {
    const ca = authority(t);
    const origin = await startOrigin(t, versionOf, { name: 'origin.test', tls: ca.certificate('origin.test').tls, http2: {} });
    const seen = [];
    const sockets = new Set();
    const proxy = createHttpServer().on('connect', (request, socket) => {
      seen.push(request.url);
      const onward = connect(origin.port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      for (const one of [socket, onward]) sockets.add(one.on('error', () => {}));
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    });
    const server = { url: origin.url, caFile: ca.caFile, proxy: `http://127.0.0.1:${proxy.address().port}`, protocolEra: 'modern', workers: 'one' };
    const gateway = await startGatewayTo(t, server);
    assert.equal(text(await tool(gateway.url, 'first')), '2.0');
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => tool(gateway.url, `t${n}`)));
    assert.ok(all.every((one) => text(one) === '2.0'));
    assert.deepEqual(seen, [`origin.test:${origin.port}`], 'one tunnel for all');
  });

  test('a Unix socket', async (t) => {
    const path = join(temporaryFolder(t), 's.sock');
    const server = createServer2((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk) => (body += chunk));
      request.on('end', () => json(response, 200, done(JSON.parse(body).id, request.headers[':path'])));
    });
    server.listen(path);
    await once(server, 'listening');
    t.after(() => server.close());
    const gateway = await startGatewayTo(t, { url: `unix:${path}:/here`, http2: 'on', protocolEra: 'modern' });
    assert.equal(text(await tool(gateway.url, 'x')), '/here');
  });

  test('a client certificate', async (t) => {
    const ca = authority(t);
    const tls = { ...ca.certificate('127.0.0.1').tls, ca: ca.ca, requestCert: true, rejectUnauthorized: true };
    const origin = await startOrigin(t, ({ stream }, response, { id }) => json(response, 200, done(id, stream.session.socket.getPeerCertificate().subject.CN)), { tls, http2: {} });
    const { certFile, keyFile } = ca.certificate('the-gateway');
    const server = { url: origin.url, caFile: ca.caFile, protocolEra: 'modern' };
    const known = await startGatewayTo(t, { ...server, clientCert: certFile, clientKey: keyFile });
    assert.equal(text(await tool(known.url, 'x')), 'the-gateway');
    const unknown = await startGatewayTo(t, server);
    assert.equal(gatewayError(await tool(unknown.url, 'x')).reason, 'upstream_unreachable');
  });

  test('several origins: each has a connection, a killed one loses its calls alone, sessions stay', async (t) => {
    const waiting = journal();
    const origins = await Promise.all(
      [0, 1, 2].map((which) =>
        startOrigin(
          t,
          (request, response, message) => {
            if (request.method === 'DELETE') return response.writeHead(204).end();
            if (request.method === 'GET') return response.writeHead(405).end();
            if (message.id === undefined) return response.writeHead(202).end();
            if (message.method === 'initialize')
              return json(response, 200, answer(message.id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'o', version: '1' } }), { 'mcp-session-id': `s${which}` });
            if (message.method !== 'tools/call') return json(response, 200, JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no' } }));
            if (message.params.name === 'wait') return waiting.tell(which);
            return json(response, 200, done(message.id, `${which} ${request.headers['mcp-session-id'] ?? '-'}`));
          },
          { era: 'none', http2: {} },
        ),
      ),
    );
    const gateway = await startGatewayTo(t, { urls: origins.map(({ url }) => url), http2: 'on', workers: 'one', isolation: 'session' });
    const clients = await Promise.all(Array.from({ length: 6 }, () => legacyClient(t, gateway)));
    const home = async (client) => textOf(await client.callTool({ name: 'where', arguments: {} }));
    const homes = await Promise.all(clients.map(home));
    for (const one of homes) assert.match(one, /^(\d) s\1$/);
    assert.ok(origins.every(({ requests }) => requests.every(({ version }) => version === '2.0')));
    const lost = Number(homes[0][0]);
    const failing = clients[0].callTool({ name: 'wait', arguments: {} }).catch((error) => error);
    await waiting.until((told) => told.length > 0, 'the call');
    origins[lost].server.close();
    for (const session of origins[lost].sessions) session.destroy();
    assert.match(String(await failing), /broke|closed/);
    for (const [n, client] of clients.entries()) {
      if (Number(homes[n][0]) !== lost) assert.equal(await home(client), homes[n]);
    }
  });

  test('HTTP_1_1_REQUIRED: HTTP/1.1 from then on', async (t) => {
    const ca = authority(t);
    const origin = await startOrigin(
      t,
      (request, response, { id }) => (request.httpVersion === '2.0' ? request.stream.close(13) : json(response, 200, done(id, request.httpVersion))),
      { tls: ca.certificate('127.0.0.1').tls, http2: { allowHTTP1: true } },
    );
    const server = { url: origin.url, caFile: ca.caFile, protocolEra: 'modern' };
    const gateway = await startGatewayTo(t, { ...server, workers: 'one' });
    const first = await tool(gateway.url, 'x');
    assert.ok(text(first) === '1.1' || /HTTP_1_1_REQUIRED/.test(gatewayError(first).text), JSON.stringify(first.message));
    for (let n = 0; n < 3; ++n) assert.equal(text(await tool(gateway.url, 'x')), '1.1');
    const bound = await startGatewayTo(t, { ...server, http2: 'on' });
    assert.match(gatewayError(await tool(bound.url, 'x')).text, /HTTP_1_1_REQUIRED/);
  });

  test('HTTP+SSE', async (t) => {
    const streams = [];
    const origin = await startOrigin(
      t,
      (request, response, message) => {
        if (request.method === 'GET') {
          beginEvents(response);
          response.write(`event: endpoint\ndata: /messages?n=${streams.push(response) - 1}\n\n`);
          return undefined;
        }
        if (!request.url.startsWith('/messages')) return response.writeHead(405).end();
        const stream = streams[Number(request.url.split('=')[1])];
        response.writeHead(202).end();
        if (message.id === undefined) return undefined;
        if (message.method === 'initialize')
          return stream.write(event(answer(message.id, { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } })));
        return stream.write(event(answer(message.id, { content: [{ type: 'text', text: `${message.params.name} ${request.httpVersion}` }] })));
      },
      { era: 'none', http2: {} },
    );
    const gateway = await startGatewayTo(t, { url: origin.url, type: 'sse', http2: 'on' });
    const client = await legacyClient(t, gateway);
    assert.equal(textOf(await client.callTool({ name: 'old', arguments: {} })), 'old 2.0');
    assert.equal(text(await tool(gateway.url, 'new')), 'new 2.0');
  });

  test('a session: its GET stream brings what belongs to no call, DELETE ends it', async (t) => {
    const { told, tell, until } = journal();
    const streams = new Map();
    const origin = await startOrigin(
      t,
      (request, response, message) => {
        const session = request.headers['mcp-session-id'];
        if (request.method === 'DELETE') return response.writeHead(204).end(tell(`delete ${session}`));
        if (request.method === 'GET') {
          beginEvents(response);
          response.write(': here\n\n');
          streams.set(session, response);
          response.once('close', () => tell(`closed ${session}`));
          return tell(`get ${session}`);
        }
        if (message.id === undefined) return response.writeHead(202).end();
        if (message.method === 'initialize')
          return json(response, 200, answer(message.id, { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'o', version: '1' } }), { 'mcp-session-id': `s${origin.requests.length}` });
        if (message.method !== 'tools/call') return json(response, 200, JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no' } }));
        return json(response, 200, done(message.id, session));
      },
      { era: 'none', http2: {} },
    );
    const gateway = await startGatewayTo(t, { url: origin.url, http2: 'on' });
    let changed = () => {};
    const heard = new Promise((resolve) => (changed = resolve));
    const client = await legacyClient(t, gateway);
    client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => changed('heard'));
    const session = textOf(await client.callTool({ name: 'x', arguments: {} }));
    await until(() => told.includes(`get ${session}`), 'the GET stream');
    streams.get(session).write(event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }));
    assert.equal(await bounded(heard, LIMIT_MS, 'the change'), 'heard');
    await client.transport.terminateSession();
    await until(() => told.includes(`delete ${session}`) && told.includes(`closed ${session}`), 'DELETE, and the end of the stream');
    assert.ok(origin.requests.every(({ version }) => version === '2.0'));
  });

  test('401, 403, 429 and 503 reach the client as over HTTP/1.1', async (t) => {
    const statuses = { 401: { 'www-authenticate': 'Bearer realm="o"' }, 403: {}, 429: { 'retry-after': '7' }, 503: { 'retry-after': '1' } };
    const serve = (request, response, { id, params }) => {
      if (!statuses[params.name]) return json(response, 200, done(id, request.headers.authorization));
      return response.writeHead(Number(params.name), { 'content-type': 'text/plain', ...statuses[params.name] }).end('no');
    };
    const shapes = [];
    for (const http2 of [undefined, {}]) {
      const origin = await startOrigin(t, serve, { http2 });
      const gateway = await startGatewayTo(t, { url: origin.url, protocolEra: 'modern', ...(http2 && { http2: 'on' }) });
      const seen = [text(await tool(gateway.url, 'x', { headers: { Authorization: 'Bearer mine' } }))];
      for (const name of ['401', '403', '429', '503']) {
        const { status, headers, message } = await tool(gateway.url, name);
        const kept = ['www-authenticate', 'retry-after'].map((one) => headers.get(one));
        seen.push([name, status, kept, message?.error?.code]);
      }
      shapes.push(seen);
    }
    assert.equal(shapes[0][0], 'Bearer mine');
    assert.deepEqual(shapes[1], shapes[0]);
  });

  test('a server that allows no stream: the call has timeouts.connect', async (t) => {
    const origin = await startOrigin(t, versionOf, { http2: { settings: { maxConcurrentStreams: 0 } } });
    const gateway = await startGatewayTo(t, { url: origin.url, http2: 'on', protocolEra: 'modern', timeouts: { connect: '400ms', request: '20s' } });
    const began = performance.now();
    const failed = gatewayError(await tool(gateway.url, 'x'));
    assert.ok(performance.now() - began < 10_000, `${performance.now() - began} ms`);
    assert.match(failed.text, /HTTP\/2 stream|REFUSED_STREAM/);
    assert.match(failed.reason, /timeout_connect|upstream_unreachable/);
  });

  test('a server lowers its number of streams to none: calls that wait for one end, others go on', async (t) => {
    const { told, tell, until } = journal();
    let finish;
    const origin = await startOrigin(
      t,
      (request, response, { id, params }) => {
        if (params.name !== 'wait') return json(response, 200, done(id, params.name));
        finish = () => json(response, 200, done(id, 'waited'));
        return tell('waits');
      },
      { http2: {} },
    );
    const gateway = await startGatewayTo(t, { url: origin.url, http2: 'on', protocolEra: 'modern', workers: 'one', limits: { maxConnections: 1, queueTimeout: '300ms' } });
    assert.equal(text(await tool(gateway.url, 'one')), 'one');
    const waits = tool(gateway.url, 'wait');
    await until(() => told.length > 0, 'the call');
    const [session] = origin.sessions;
    await new Promise((resolve) => session.settings({ maxConcurrentStreams: 0 }, resolve));
    const failed = gatewayError(await tool(gateway.url, 'two'));
    assert.equal(failed.reason, 'timeout_queue');
    finish();
    assert.equal(text(await waits), 'waited');
  });

  const [nginx] = installed(['nginx']).here;
  test('nginx as the server: calls, events as they come, leaves', { skip: nginx ? false : 'there is no nginx here' }, async (t) => {
    const { told, tell, until } = journal();
    const ca = authority(t);
    const { certFile, keyFile } = ca.certificate('127.0.0.1');
    let more;
    const origin = await startOrigin(t, (request, response, { id, params }) => {
      response.once('close', () => tell(`closed ${params.name} ${response.writableFinished}`));
      if (params.name === 'wait') return tell('waits');
      if (params.name !== 'events') return json(response, 200, done(id, params.name));
      beginEvents(response);
      response.write(event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'one' } }));
      more = () => response.end(event(done(id, 'events')));
      return undefined;
    });
    const folder = temporaryFolder(t);
    const port = await freePort();
    const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((what) => `${what}_temp_path ${folder};`);
    writeFileSync(
      join(folder, 'nginx.conf'),
      `daemon off; worker_processes 1; pid ${folder}/pid; error_log /dev/null crit; events {}
http { access_log off; ${temp.join(' ')}
  server { listen 127.0.0.1:${port} ssl http2; ssl_certificate ${certFile}; ssl_certificate_key ${keyFile};
    location / { proxy_pass http://127.0.0.1:${origin.port}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } } }\n`,
    );
    const front = spawn(nginx.program, ['-e', '/dev/null', '-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' });
    t.after(async () => {
      front.kill('SIGTERM');
      await once(front, 'exit');
    });
    await eventually(() => accepts(port), 'an nginx that accepts');
    const gateway = await startGatewayTo(t, { url: `https://127.0.0.1:${port}/mcp`, caFile: ca.caFile, protocolEra: 'modern', http2: 'on' });
    const all = await Promise.all(Array.from({ length: 50 }, (_, n) => tool(gateway.url, `t${n}`)));
    assert.ok(all.every((one, n) => text(one) === `t${n}`));
    const leave = new AbortController();
    const left = fetch(gateway.url, { ...modernPost('tools/call', { name: 'wait' }, { id: 1 }), signal: leave.signal }).catch(() => 'left');
    await until(() => told.includes('waits'), 'the call');
    leave.abort();
    assert.equal(await left, 'left');
    await until(() => told.includes('closed wait false'), 'the end of the call');
    const response = await fetch(gateway.url, modernPost('tools/call', { name: 'events', _meta: { 'io.modelcontextprotocol/logLevel': 'info' } }, { id: 1 }));
    const reader = response.body.getReader();
    const first = Buffer.from((await reader.read()).value).toString();
    assert.match(first, /"one"/);
    more();
    let rest = first;
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) rest += Buffer.from(piece.value).toString();
    assert.equal(lastMessage(rest).result.content[0].text, 'events');
  });
});
