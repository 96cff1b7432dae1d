// lineward adapt, init and fmt as a user runs them in a shell.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { lineward } from '../lib/operator.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const piped = (args, input) => spawnSync(binary(), args, { input, encoding: 'utf8' });

describe('files', { skip: DIRECT }, () => {
  test('a client file becomes a configuration that validates, and another client reads it back', async (t) => {
    const folder = temporaryFolder(t);
    const cursor = join(folder, '.cursor', 'mcp.json');
    mkdirSync(join(folder, '.cursor'));
    writeFileSync(
      cursor,
      `{ // mine
        "mcpServers": {
          "one": { "command": "node", "args": ["a b.mjs"], "env": { "TOKEN": "s3cr3t" }, },
          "two": { "url": "https://two.example/mcp", "headers": { "Authorization": "Bearer \${env:TWO}" } }
        } }`,
    );
    const ours = await lineward(['adapt', cursor]);
    assert.equal(ours.code, 0, ours.err);
    assert.match(ours.err, /detected as cursor; use --from to override/);
    assert.doesNotMatch(ours.err, /s3cr3t/);
    assert.match(ours.out, /TOKEN: s3cr3t/);
    const file = join(folder, 'lineward.yaml');
    writeFileSync(file, ours.out);
    assert.equal((await lineward(['validate', '--strict', file], { TWO: 't' })).code, 0);
    const code = await lineward(['adapt', file, '--to', 'claude-code']);
    assert.deepEqual(JSON.parse(code.out).mcpServers.two, {
      type: 'http',
      url: 'https://two.example/mcp',
      headers: { Authorization: 'Bearer ${TWO}' },
    });
    for (const form of ['mcpservers', 'vscode', 'claude', 'claude-code', 'cursor', 'gemini', 'codex']) {
      const there = await lineward(['adapt', file, '--to', form]);
      assert.equal(there.code, 0, there.err);
      const back = piped(['adapt', '-', '--from', form], there.out);
      assert.equal(back.status, 0, back.stderr);
      assert.match(back.stdout, /command: node\n/);
      assert.match(back.stdout, /two\.example/);
    }
    assert.equal((await lineward(['adapt', file, '--to', 'word'])).code, 2);
    assert.equal((await lineward(['adapt', file, '--from', 'word'])).code, 2);
    assert.equal((await lineward(['adapt'])).code, 2);
    assert.equal((await lineward(['adapt', join(folder, 'none')])).code, 69);
    const bad = piped(['adapt', '-'], '{ "mcpServers": ');
    assert.equal(bad.status, 78);
    assert.match(bad.stderr, /^error: stdin:\d+:\d+: /);
    assert.equal(piped(['adapt', '-'], '[]').status, 78);
  });

  test('a file with names as people write them, and with bad entries, runs, and becomes a configuration that validates', async (t) => {
    const folder = temporaryFolder(t);
    const theirs = join(folder, 'claude_desktop_config.json');
    const servers = {
      'awslabs.aws-documentation-mcp-server': { command: 'cat' },
      'My notes': { command: 'cat' },
      'My/notes': { command: 'cat' },
      '@scope/tool': { command: 'cat' },
      nothing: {},
      wrong: { url: 'ftp://x' },
      ok: { command: 'cat' },
    };
    writeFileSync(theirs, JSON.stringify({ mcpServers: servers }));
    const validated = await lineward(['validate', theirs]);
    assert.equal(validated.code, 0, validated.err);
    const said = validated.out + validated.err;
    assert.match(said, /the server '@scope\/tool' is called 'scope-tool' here/);
    assert.match(said, /server 'nothing' has no command and no url; this server is left out/);
    const names = [...said.matchAll(/the server 'My.notes' is called '(My-notes-[0-9a-f]{4})' here/g)].map((m) => m[1]);
    assert.equal(new Set(names).size, 2, said);
    for (const make of [(to) => lineward(['init', to, '--from', theirs]), async (to) => {
      const adapted = await lineward(['adapt', theirs]);
      writeFileSync(to, adapted.out);
      return adapted;
    }]) {
      const ours = join(folder, `${make.length}${Math.random()}.yaml`);
      const made = await make(ours);
      assert.equal(made.code, 0, made.err);
      assert.match(made.err, /server 'nothing': it has no command and no url, and is left out/);
      assert.match(made.err, /server 'wrong': .*; it is left out/);
      assert.match(made.err, /server 'My notes': it is called 'My-notes-[0-9a-f]{4}' here/);
      const again = await lineward(['validate', '--strict', ours]);
      assert.equal(again.code, 0, again.out + again.err);
      for (const name of [...names, 'scope-tool', 'ok']) assert.match(readFileSync(ours, 'utf8'), new RegExp(`^  ${name}:`, 'm'));
    }
  });

  test('init writes a file that validates, with the servers of another one, and never over one', async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'lineward.yaml');
    assert.equal((await lineward(['init', file])).code, 0);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const first = readFileSync(file, 'utf8');
    assert.equal((await lineward(['validate', file])).code, 0);
    const again = await lineward(['init', file]);
    assert.equal(again.code, 1);
    assert.match(again.err, /is there already/);
    assert.equal(readFileSync(file, 'utf8'), first);
    const client = join(folder, 'claude_desktop_config.json');
    writeFileSync(client, JSON.stringify({ theme: 'dark', mcpServers: { fs: { command: 'npx', args: ['-y', 'fs'] } } }));
    const printed = await lineward(['init', '--from', client, '-']);
    assert.equal(printed.code, 0, printed.err);
    const checked = piped(['validate', '-'], printed.out);
    assert.equal(checked.status, 0, checked.stderr);
    assert.match(printed.out, /^ {2}fs:\n {4}command: npx$/m);
    assert.equal((await lineward(['init', join(folder, 'none', 'x.yaml')])).code, 69);
    // Our own file by its other word; and one without any server, of which nothing is written.
    const other = join(folder, 'other.yaml');
    writeFileSync(other, 'listen: { address: ":9000" }\nauth: { anonymous: allow }\nservers: { mem: { command: npx } }\n');
    const ours = await lineward(['init', '--from', other, '-']);
    assert.equal(ours.code, 0, ours.err);
    assert.match(ours.out, /^ {2}mem:\n {4}command: npx$/m);
    assert.match(ours.err, /only the servers are taken over: listen, auth are left out/);
    for (const text of ['servers_typo: { mem: { command: npx } }\n', 'mcpServers: {}\n', 'root: "x:0:0"\n']) {
      writeFileSync(other, text);
      const target = join(folder, 'not-made.yaml');
      const none = await lineward(['init', '--from', other, target]);
      assert.equal(none.code, 78, none.err);
      assert.match(none.err, /other\.yaml: there are no servers in it/);
      assert.ok(!existsSync(target));
    }
    // The file that init writes is valid.
    assert.equal((await lineward(['fmt', '--diff', file])).code, 0, (await lineward(['fmt', '--diff', file])).out);
  });

  test('fmt puts a file in order once, keeps its mode, and leaves what it does not understand', async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'lineward.yaml');
    const text = '# kept\nmcpServers:\n  s:\n    args: [x] # why\n    command: y\n\n\n# where\nlisten: { address: 127.0.0.1:0 }  \n';
    writeFileSync(file, text);
    chmodSync(file, 0o640);
    const diff = await lineward(['fmt', '--diff', file]);
    assert.equal(diff.code, 1);
    assert.match(diff.out, /^\+listen: \{ address: 127\.0\.0\.1:0 \}$/m);
    assert.equal(readFileSync(file, 'utf8'), text);
    const ordered = '# where\nlisten: { address: 127.0.0.1:0 }\n# kept\nmcpServers:\n  s:\n    command: y\n    args: [x] # why\n';
    assert.equal((await lineward(['fmt', file])).out, ordered);
    assert.equal((await lineward(['fmt', '--write', file])).code, 0);
    assert.equal(readFileSync(file, 'utf8'), ordered);
    assert.equal(statSync(file).mode & 0o777, 0o640);
    assert.equal((await lineward(['fmt', '--diff', file])).code, 0);
    // A link stays one, and what it leads to is put in order.
    const link = join(folder, 'link.yaml');
    symlinkSync('lineward.yaml', link);
    writeFileSync(file, text);
    if (process.getuid() === 0) chownSync(file, 1234, 1235);
    assert.equal((await lineward(['fmt', '--write', link])).code, 0);
    assert.ok(lstatSync(link).isSymbolicLink());
    assert.equal(readFileSync(file, 'utf8'), ordered);
    if (process.getuid() === 0) assert.deepEqual([statSync(file).uid, statSync(file).gid], [1234, 1235]);
    assert.equal(statSync(file).mode & 0o777, 0o640);
    assert.deepEqual(readdirSync(folder).sort(), ['lineward.yaml', 'link.yaml']);
    assert.equal((await lineward(['fmt', '--write', '--diff', file])).code, 2);
    writeFileSync(file, 'listen: [');
    assert.equal((await lineward(['fmt', '--write', file])).code, 78);
    assert.equal(readFileSync(file, 'utf8'), 'listen: [');
    assert.equal(piped(['fmt', '-'], '{}').status, 2);
    assert.equal((await lineward(['fmt', join(folder, 'none')])).code, 69);
  });
});
