// lineward tools and lineward call: against published servers, fixtures, and a gateway that is running.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { bounded, fixtureRecord, LIMIT_MS, temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { lineward } from '../lib/operator.mjs';
import { everything, filesystem, memory, toolsFixture } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const call = (words, command, env) => lineward(['call', ...words, '--', ...command], env);
const tools = (words, command, env) => lineward(['tools', ...words, '--', ...command], env);

/** A running command: its end, and what it has said on stderr so far. */
function begin(args, env = {}) {
  const child = spawn(binary(), args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { out: '', err: '' };
  for (const [name, stream] of [['out', child.stdout], ['err', child.stderr]])
    stream.setEncoding('utf8').on('data', (chunk) => (texts[name] += chunk));
  const end = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code: code ?? signal, ...texts })));
  const heard = (pattern) =>
    bounded(
      new Promise((resolve) => {
        const look = () => pattern.test(texts.err) && resolve();
        child.stderr.on('data', look);
        look();
      }),
      LIMIT_MS,
      `${pattern} on stderr`,
    );
  return { kill: (signal) => child.kill(signal), heard, end: () => bounded(end, LIMIT_MS, 'the end of the command') };
}

/** Runs it on a terminal of its own (script(1)), typing each answer when its question is there. */
function onTerminal(args, answers, env = {}) {
  const words = [binary(), ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', words, '/dev/null'], { env: { ...process.env, TERM: 'xterm', ...env } });
  let text = '';
  const left = [...answers];
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
    while (left.length && left[0][0].test(text)) child.stdin.write(left.shift()[1]);
  });
  const end = new Promise((resolve) => child.once('close', (code) => resolve({ code, text })));
  return bounded(end, LIMIT_MS, 'the end of the command on a terminal').catch((error) => {
    child.kill('SIGKILL');
    throw new Error(`${error.message}:\n${text}`);
  });
}

describe('lineward tools and call', { skip: DIRECT }, () => {
  test('server-everything: its tools, a call, an image, progress, a timeout', async (t) => {
    const list = await tools([], everything());
    assert.equal(list.code, 0, list.err);
    assert.match(list.out, /^get-sum {2}Returns the sum of two numbers\n {4}a {2}number {2}required; First number$/m);
    const schema = await tools(['--schema', 'get-sum'], everything());
    assert.deepEqual(JSON.parse(schema.out).required, ['a', 'b']);
    assert.deepEqual(await call(['echo', 'message=hi'], everything()), { code: 0, out: 'Echo: hi\n', err: '' });
    const sum = await call(['get-sum', '--json', '{"a":1}', 'b=2.5'], everything());
    assert.equal(sum.out, 'The sum of 1 and 2.5 is 3.5.\n');
    const folder = temporaryFolder(t);
    const image = await call(['get-tiny-image', '--output', folder], everything());
    assert.equal(image.code, 0, image.err);
    assert.deepEqual(readdirSync(folder), ['get-tiny-image-1.png']);
    assert.equal(readFileSync(join(folder, 'get-tiny-image-1.png')).subarray(1, 4).toString(), 'PNG');
    const long = await call(['trigger-long-running-operation', 'duration=1', 'steps=2', '--progress'], everything());
    assert.match(long.err, /^\[#{10}-{10}\] 1\/2 .*\n\[#{20}\] 2\/2 /);
    // Progress that is not shown counts against the time limit all the same.
    const quiet = await call(['trigger-long-running-operation', 'duration=5', 'steps=10', '--timeout', '3s'], everything());
    assert.equal(quiet.code, 0, quiet.err);
    assert.equal(quiet.err, '');
    const late = await call(['trigger-long-running-operation', 'duration=30', 'steps=1', '--timeout', '1s'], everything());
    assert.equal(late.code, 124);
    assert.match(late.err, /reason timeout_request\n {2}fix +--timeout 5m/);
  });

  test('server-filesystem and server-memory: files and lists as arguments, a failure of the tool', async (t) => {
    const folder = temporaryFolder(t);
    const from = join(temporaryFolder(t), 'text');
    writeFileSync(from, 'one\ntwo ü\n');
    const path = join(folder, 'new.txt');
    const write = await call(['write_file', `path=${path}`, `content=@${from}`], filesystem(folder));
    assert.equal(write.code, 0, write.err);
    assert.equal(readFileSync(path, 'utf8'), 'one\ntwo ü\n');
    const read = await call(['read_multiple_files', `paths=${path}`, 'paths=/nowhere'], filesystem(folder));
    assert.match(read.out, /one\ntwo ü/);
    const outside = await call(['read_text_file', 'path=/etc/passwd'], filesystem(folder));
    assert.equal(outside.code, 5);
    assert.match(outside.out, /Access denied/);
    const entities = 'entities=[{"name":"a","entityType":"b","observations":["c"]}]';
    const file = { MEMORY_FILE_PATH: join(folder, 'memory.json') };
    assert.equal((await call(['create_entities', entities], memory(), file)).code, 0);
    const graph = await call(['read_graph', '--format', 'json'], memory(), file);
    assert.equal(JSON.parse(graph.out).structuredContent.entities[0].name, 'a');
  });

  test('arguments are typed by the schema', async (t) => {
    const words = ['count=3', 'share=1.5', 'on=true', 'name=12', 'tags=a', 'tags=b', 'where={"x":1}', 'maybe=null', 'colour=red'];
    const { out, err, code } = await call(['types', ...words], toolsFixture());
    assert.equal(code, 0, err);
    assert.deepEqual(JSON.parse(out), {
      count: 3,
      share: 1.5,
      on: true,
      name: '12',
      tags: ['a', 'b'],
      where: { x: 1 },
      maybe: null,
      colour: 'red',
    });
    for (const [given, said] of [
      [['count=x'], /count: 'x' is not an integer/],
      [['count=1', 'colour=gren'], /'gren' is none of "red" \| "green"; did you mean 'green'\?/],
      [['cuont=1'], /no argument 'cuont'; did you mean 'count'\?/],
      [['count=1', 'count=2'], /count is given twice/],
      [['name=x'], /^error: missing argument: count \(integer\): How many\n/],
      [['count=@/nonexistent'], /cannot read \/nonexistent: No such file/],
      [['--json', '[1]'], /--json: write an object/],
      [['--json', '{a:1}'], /--json: this is no JSON/],
      [['count'], /'count' is no argument: write name=value/],
    ]) {
      const wrong = await call(['types', ...given], toolsFixture());
      assert.equal(wrong.code, 2, wrong.err);
      assert.match(wrong.err, said);
    }
    const latin1 = join(temporaryFolder(t), 'latin1');
    writeFileSync(latin1, Buffer.from([0x63, 0x61, 0x66, 0xe9]));
    const bytes = await call(['types', 'count=1', `name=@${latin1}`], toolsFixture());
    assert.equal(bytes.code, 2, bytes.err);
    assert.match(bytes.err, /name: byte 4 of .*latin1 is no UTF-8/);
    const none = await call(['tipes'], toolsFixture());
    assert.equal(none.code, 1);
    assert.match(none.err, /there is no tool 'tipes'; did you mean 'types'\?/);
  });

  test('files are saved under names of ours, and nothing is written over', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'files-1.png'), 'mine');
    const { code, out, err } = await call(['files', '--output', folder], toolsFixture());
    assert.equal(code, 0, err);
    assert.equal(out, 'three files\nmore  file:///more\n');
    assert.deepEqual(readdirSync(folder).sort(), ['files-1.pdf', 'files-1.png', 'files-1.wav', 'files-2.png']);
    assert.equal(readFileSync(join(folder, 'files-1.png'), 'utf8'), 'mine');
    assert.equal(readFileSync(join(folder, 'files-1.pdf'), 'utf8'), '%PDF-');
    assert.match((await call(['files'], toolsFixture())).err, /image, image\/png, 8 bytes: --output DIR saves it/);
    assert.equal((await call(['files', '--output', join(folder, 'none')], toolsFixture())).code, 2);
  });

  test('isError is 5, what cannot be started 69, a tool that asks a caller without a terminal 1', async () => {
    const fails = await call(['fails'], toolsFixture());
    assert.equal(fails.code, 5);
    assert.equal(fails.out, 'no luck\n');
    const gone = await call(['x'], ['/nonexistent/server']);
    assert.equal(gone.code, 69);
    assert.match(gone.err, /'\/nonexistent\/server' was not found.*\n {2}where {2}\/nonexistent\/server\n {2}reason upstream_unreachable/);
    const dies = await call(['x'], ['sh', '-c', 'echo boom >&2; exit 3']);
    assert.equal(dies.code, 1);
    assert.match(dies.err, /exited with code 3; its last words: boom/);
    assert.equal((await lineward(['call', 'x', '--url', 'http://127.0.0.1:1/mcp'])).code, 69);
    const asks = await call(['ask'], toolsFixture());
    assert.equal(asks.code, 1);
    assert.deepEqual(JSON.parse(asks.out), { who: { action: 'cancel' } });
    assert.match(asks.err, /the tool asked a question that could not be answered here: Who is it\?\n {2}fix +call it on a terminal/);
  });

  test('nothing of a server steers the terminal, and there may be thousands of tools', async () => {
    const { out, code } = await tools(['--color', 'always'], toolsFixture('--many', '3000'));
    assert.equal(code, 0);
    assert.doesNotMatch(out.replaceAll(/\x1b\[\d*m/g, ''), /[\x00-\x09\x0b-\x1f\x7f\u202e]/);
    assert.match(out, /evil\?\[2J/);
    assert.match(out, /tool-2999/);
    const json = JSON.parse((await tools(['--format', 'json'], toolsFixture('--many', '3000'))).out);
    assert.equal(json.tools.length, 3007);
  });

  test('more tools than are listed: how many are shown is told, and those beyond can be called', async () => {
    const many = toolsFixture('--many', '10100');
    const { out, err } = await tools(['--format', 'json'], many);
    assert.equal(JSON.parse(out).tools.length, 10_000);
    assert.match(err, /only the first 10000 tools are shown/);
    const beyond = await call(['tool-10099', 'a=b'], many);
    assert.doesNotMatch(beyond.err, /there is no tool/);
  });

  test('a tool that asks again and again is given up at its second question if the caller cannot answer', async () => {
    const again = await call(['asks-again'], toolsFixture());
    assert.equal(again.code, 1);
    assert.match(again.err, /the tool asked a question that could not be answered here: Again\?\n {2}fix +call it on a terminal/);
  });

  test('Ctrl-C cancels the call and says what became of it; nothing is left', async (t) => {
    const record = fixtureRecord(t);
    const run = begin(['call', 'slow', '--progress', '--', ...toolsFixture()], record.env);
    await run.heard(/\] 1\/4 {2}dig\?\[2J/);
    run.kill('SIGINT');
    const { code, err } = await run.end();
    assert.equal(code, 130);
    assert.match(err, /cancelling \(Ctrl-C again ends now\)\n\S+ cancelled after .* was told \(notifications\/cancelled\) and stopped in \d+ms\n$/);
    const { pid } = await record.until({ event: 'cancelled' });
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });

  test('the running gateway: why a server cannot be had is its own word, and so are the ids of calls', { skip: NOT_PLAIN }, async (t) => {
    const socket = join(temporaryFolder(t), 'admin.sock');
    const [command, ...args] = toolsFixture();
    const admin = ['--admin', `unix:${socket}`];
    await startGatewayFrom(t, {
      ops: 'off',
      admin: { address: `unix:${socket}` },
      mcpServers: { well: { command, args }, dies: { command: 'sh', args: ['-c', 'exit 3'] }, gone: { command: '/nonexistent/server' } },
      plugins: [{ toolFilter: { deny: ['types'] } }],
    });
    for (const [server, said, fix] of [
      ['dies', /^error: .*dies exited with code 3\n {2}where .*\n {2}reason upstream_exited\n/, /fix {4}lineward doctor/],
      ['gone', /^error: .*'\/nonexistent\/server' was not found; .*\n {2}where .*\n {2}reason upstream_unreachable\n/, /fix {4}lineward doctor/],
    ]) {
      const { code, err } = await lineward(['tools', server, ...admin]);
      assert.notEqual(code, 0);
      assert.match(err, said);
      assert.match(err, fix);
    }
    // All as one: the results, and the servers without one.
    const all = await lineward(['tools', ...admin]);
    assert.equal(all.code, 0, all.err);
    assert.match(all.out, /^well__slow$/m);
    assert.match(all.err, /^note: tools of dies are missing: dies /m);
    assert.match(all.err, /^note: tools of gone are missing: gone /m);
    const unknown = await lineward(['call', 'dies__x', ...admin]);
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /^error: there is no tool 'dies__x'\n {2}where .*\n {2}fix .*\nnote: tools of dies are missing: /);
    const refused = await lineward(['call', 'types', 'count=1', '--upstream', 'well', ...admin]);
    assert.equal(refused.code, 1, refused.err);
    assert.equal((await lineward(['server', 'well', 'stop', ...admin])).code, 0);
    const held = await lineward(['tools', 'well', ...admin]);
    assert.match(held.err, /there is no server 'well' in service\n {2}where .*\n {2}reason upstream_unreachable\n {2}fix {4}lineward server well start\n$/);
    // A gateway of the command's own: its ids belong to no other client.
    assert.doesNotMatch((await tools([], ['sh', '-c', 'exit 3'])).err, / call c/);
  });

  test('the running gateway: its tools and calls, a server by its name, a cancel that reaches the server', { skip: NOT_PLAIN }, async (t) => {
    const socket = join(temporaryFolder(t), 'admin.sock');
    const record = fixtureRecord(t);
    const [command, ...args] = toolsFixture();
    const one = { command, args, env: record.env };
    const admin = ['--admin', `unix:${socket}`];
    await startGatewayFrom(t, {
      ops: 'off',
      admin: { address: `unix:${socket}` },
      aggregate: { path: '/all' },
      mcpServers: { first: one, second: one },
    });
    assert.match((await lineward(['tools', 'second', ...admin])).out, /^types {2}Gives its arguments back\.$/m);
    const typo = await lineward(['tools', 'secnod', ...admin]);
    assert.equal(typo.code, 2);
    assert.match(typo.err, /no server 'secnod'; did you mean 'second'\?/);
    const called = await lineward(['call', 'types', 'count=1', '--upstream', 'first', ...admin]);
    assert.equal(called.out, '{"count":1}\n', called.err);
    const run = begin(['call', 'slow', '--progress', '--upstream', 'first', ...admin]);
    await run.heard(/1\/4/);
    assert.match((await lineward(['ps', ...admin])).out, /slow +\S+ +tools\/call +lineward call \S+ +running 1\/4/);
    run.kill('SIGINT');
    const { code, err } = await run.end();
    assert.equal(code, 130);
    assert.match(err, /first was told \(notifications\/cancelled\) and stopped in/);
    // All as one: the servers with missing tools.
    assert.equal((await lineward(['server', 'second', 'stop', ...admin])).code, 0);
    const left = await lineward(['tools', ...admin]);
    assert.equal(left.code, 0, left.err);
    assert.match(left.out, /^first__types {2}/m);
    assert.equal(left.err, 'note: tools of second are missing: it is out of service (lineward server second start)\n');
    const stopped = await lineward(['call', 'second__types', 'count=1', ...admin]);
    assert.equal(stopped.code, 1);
    assert.match(stopped.err, /^error: there is no tool 'second__types'.*\n {2}where .*\n {2}fix .*\nnote: tools of second are missing: it is out of service /);
  });

  test('no gateway, and what does not fit together', async (t) => {
    const none = await lineward(['tools'], { XDG_RUNTIME_DIR: temporaryFolder(t), LINEWARD_ADMIN_ADDRESS: 'unix:/nonexistent' });
    assert.equal(none.code, 69);
    for (const [args, said] of [
      [['call'], /name a tool/],
      [['call', 'a=b'], /the tool's name comes first/],
      [['call', 'x', '--url', 'http://localhost/mcp', '--', 'x'], /give one of them/],
      [['call', 'x', '--token-file', '/t', '--', 'x'], /--token-file belongs to --url/],
      [['tools', '--timeout', '60', '--', 'x'], /--timeout: .*60/],
      [['tools', '-H', 'a: b', '--', 'x'], /-H belongs to --url/],
    ]) {
      const { code, err } = await lineward(args);
      assert.equal(code, 2, err);
      assert.match(err, said);
    }
  });

  test('a secret of -H and --token-file reaches the server and nothing else', async (t) => {
    const file = join(temporaryFolder(t), 'token');
    writeFileSync(file, 's3cr3t-token\n');
    const { code, out, err } = await lineward(['call', 'x', '-v', '--url', 'http://127.0.0.1:1/mcp', '--token-file', file]);
    assert.equal(code, 69);
    assert.doesNotMatch(out + err, /s3cr3t/);
  });

  test('on a terminal questions are asked, and wrong answers asked again', async () => {
    const { code, text } = await onTerminal(['call', 'ask', '--', ...toolsFixture()], [
      [/name \(string\): $/, 'Ada\n'],
      [/age \(integer, may be left out\): $/, 'old\n'],
      [/'old' is not an integer[^]*: $/, '36\n'],
    ]);
    assert.equal(code, 0, text);
    assert.match(text, /the server asks: Who is it\?/);
    assert.match(text, /\{"who":\{"action":"accept","content":\{"age":36,"name":"Ada"\}\}\}/);
  });
});
