// Clients over a Unix socket: its mode, and the clients that a proxy at the other end tells.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { echoServer } from '../lib/echo-server.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { lastMessage, modernPost } from '../lib/modern.mjs';
import { eventually } from '../lib/operator.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

/** A gateway at a Unix socket; reload(listen) changes its configuration. */
async function start(t, listen) {
  const folder = temporaryFolder(t);
  const path = join(folder, 'mcp.sock');
  const file = join(folder, 'lineward.json');
  const write = (more) =>
    writeFileSync(
      file,
      JSON.stringify({ listen: { address: `unix:${path}`, ...more }, ops: 'off', admin: 'off', mcpServers: { s: echoServer('modern') } }),
    );
  write(listen);
  const child = spawn(binary(), ['run', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  t.after(async () => {
    child.kill('SIGTERM');
    assert.equal(await ended, 0, text);
  });
  await eventually(() => existsSync(path) && text.includes('MCP'), 'its socket');
  let loads = 0;
  const reload = async (more) => {
    write(more);
    child.kill('SIGHUP');
    ++loads;
    await eventually(() => text.match(/event=config\.loaded/g)?.length === loads, 'the reload');
  };
  return { path, reload, said: (pattern) => eventually(() => pattern.test(text), String(pattern)) };
}

const mode = (path) => statSync(path).mode & 0o7777;

function call(socketPath, name, more = {}) {
  const { method, headers, body } = modernPost('tools/call', { name: 'echo' }, { id: name, headers: more });
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path: '/mcp', method, headers: { host: 'localhost', ...headers } }, (response) => {
      let all = '';
      response.setEncoding('utf8').on('data', (chunk) => (all += chunk));
      response.on('end', () => resolve({ status: response.statusCode, message: lastMessage(all) }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('a Unix socket for clients', { skip: DIRECT }, () => {
  test('its mode is as configured, and a reload changes it without a new socket', async (t) => {
    const { path, reload } = await start(t, { socket: { mode: '0660', owner: String(process.getuid()), group: String(process.getgid()) } });
    assert.equal(mode(path), 0o660);
    assert.equal(statSync(path).gid, process.getgid());
    assert.ok((await call(path, 'a')).message.result);
    const { ino } = statSync(path);
    await reload({ socket: { mode: '666' } });
    assert.equal(mode(path), 0o666);
    assert.equal(statSync(path).ino, ino);
    await reload({});
    assert.equal(mode(path), 0o600);
    assert.ok((await call(path, 'b')).message.result);
  });

  test('the clients of a proxy at it are known by its headers, if it is trusted', async (t) => {
    const { path, reload, said } = await start(t, { trustedProxies: ['unix', '10.0.0.0/8'] });
    await call(path, 'told', { 'X-Forwarded-For': '203.0.113.9, 192.0.2.7:4711, 10.0.0.1' });
    await said(/event=call\.end .*remote=192\.0\.2\.7:4711/);
    await reload({ trustedProxies: ['10.0.0.0/8'] });
    await call(path, 'untold', { 'X-Forwarded-For': '192.0.2.8' });
    await said(/event=call\.end .*remote=unix( |$)/m);
  });

  test('… or by a PROXY header', async (t) => {
    const { path, said } = await start(t, { trustedProxies: ['unix'], proxyProtocol: 'required' });
    const answer = (bytes) =>
      new Promise((resolve, reject) => {
        let all = '';
        const socket = connect(path, () => socket.write(bytes));
        socket.setEncoding('utf8').on('data', (chunk) => {
          all += chunk;
          if (all.includes('\r\n\r\n')) socket.end();
        });
        socket.on('close', () => resolve(all));
        socket.on('error', reject);
      });
    const get = 'GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n';
    assert.match(await answer(`PROXY TCP4 192.0.2.7 192.0.2.1 4711 443\r\n${get}`), /^HTTP\/1\.1 404 /);
    await said(/event=request\.refused .*remote=192\.0\.2\.7:4711/);
    assert.equal(await answer(get), '');
    await said(/event=proxy_header\.refused .*remote=unix/);
  });
});
