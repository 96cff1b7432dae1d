// The access log as a file: what is in it, and what happens when it is rotated.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { temporaryFolder } from '../lib/events.mjs';
import { callTool, eventually, lineward } from '../lib/operator.mjs';
import { plain, running } from '../lib/reloading.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const linesOf = (path) => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []);
const call = async (one, nonce) => assert.ok((await callTool(one.gateway.url, 'echo', { nonce }).answer).result);
const arrives = (path, count) => eventually(() => linesOf(path).length >= count && linesOf(path), `${count} lines in ${path}`);

describe('accessLog', { skip: DIRECT }, () => {
  test('lines of JSON go to a file, and to the one that takes its place', async (t) => {
    const path = join(temporaryFolder(t), 'access.log');
    const one = await running(t, { s: plain() }, { more: { plugins: [{ accessLog: { path } }] } });
    await call(one, 's3cr3t');
    const [line] = (await arrives(path, 1)).map((text) => JSON.parse(text));
    assert.equal(line.method, 'tools/call');
    assert.equal(line.target, 'echo');
    assert.equal(line.reason, 'ok');
    assert.equal(line.status, 200);
    assert.equal(line.principal, 'anonymous');
    assert.match(line.time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.ok(line.dur_ms > 0 && line.bytes_in > 0 && line.bytes_out > 0);
    assert.equal(statSync(path).mode & 0o137, 0);

    renameSync(path, `${path}.1`);
    await call(one, 's3cr3t');
    await arrives(path, 1);
    unlinkSync(path);
    process.kill(one.gateway.pid, 'SIGUSR1');
    await eventually(() => existsSync(path), 'it is opened anew');
    await call(one, 's3cr3t');
    await arrives(path, 1);
    assert.equal(linesOf(`${path}.1`).length, 1);
    for (const file of [path, `${path}.1`]) assert.ok(!readFileSync(file, 'utf8').includes('s3cr3t'));
    assert.equal(await one.metric('lineward_access_log_dropped_total'), 0);
  });

  test('the signal of a rotation ends nothing if no file is to be opened anew', async (t) => {
    const path = join(temporaryFolder(t), 'access.log');
    const one = await running(t, { s: plain() }, { more: { plugins: [{ accessLog: { path } }] } });
    process.kill(one.gateway.pid, 'SIGUSR1');
    one.write({ s: plain() });
    assert.equal((await one.reload()).code, 0);
    process.kill(one.gateway.pid, 'SIGUSR1');
    await call(one, 'still there');
    assert.deepEqual(linesOf(path), []);
  });

  test('payloads only when asked for, and cut; what goes well can be thinned', async (t) => {
    const folder = temporaryFolder(t);
    const [args, thin] = [join(folder, 'args.log'), join(folder, 'thin.log')];
    const plugins = [
      { accessLog: { path: args, payload: 'all', payloadBytes: '20B', fields: ['target'] }, name: 'args' },
      { accessLog: { path: thin, sample: 4, format: 'logfmt', fields: ['target', 'reason'] }, name: 'thin' },
    ];
    const one = await running(t, { s: plain() }, { more: { plugins } });
    for (let i = 0; i < 8; ++i) await call(one, 'a nonce that is long enough');
    const lines = (await arrives(args, 8)).map((text) => JSON.parse(text));
    assert.equal(lines[0].arguments, '{"nonce":"a nonce th...');
    assert.ok(lines[0].result.length <= 23 && lines[0].result.startsWith('{'));
    assert.deepEqual(Object.keys(lines[0]), ['target', 'arguments', 'result']);
    assert.equal(linesOf(thin).length, 2);
    assert.equal(linesOf(thin)[0], 'target=echo reason=ok');
  });

  test('stdout belongs to the protocol on the stdio front', async (t) => {
    const file = join(temporaryFolder(t), 'lineward.json');
    writeFileSync(file, JSON.stringify({ accessLog: { path: 'stdout' }, mcpServers: { s: plain() } }));
    const { code, out, err } = await lineward(['stdio', file]);
    assert.notEqual(code, 0);
    assert.equal(out, '');
    assert.match(err, /stdout belongs to the protocol/);
  });
});
