// The documentation: its links have targets, its pictures are what their texts say, every command in a block of shell exists
// in this binary. The blocks marked "sh run" are run, each page's in one shell, in an empty folder.
//
// npx is played here: packages that the tests have anyway (tests/e2e/node_modules) stand for the registry. Lineward's default
// addresses become free ones, so that pages can run in parallel, and so does its control socket. A command that names no
// gateway would find those of other tests.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import { brokenLinks, pagesOf, split } from '../../../conf/docs/links.mjs';
import { draw, stale } from '../../../conf/docs/pictures.mjs';
import { binary } from '../lib/binary.mjs';
import { bounded, temporaryFolder } from '../lib/events.mjs';
import { freePort } from '../lib/ports.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const modules = join(root, 'tests/e2e/node_modules');
const skip = DIRECT;
const pages = pagesOf(root);
const blocksOf = (page) => split(readFileSync(join(root, page), 'utf8')).blocks.filter(({ info }) => /^sh\b/.test(info));

/** Commands of a block that are Lineward's: words up to what the shell takes away. */
function* commandsIn(block) {
  for (const line of block.lines.join('\n').replaceAll('\\\n', ' ').split('\n')) {
    const found = /^\s*(?:[\w./-]*\/)?lineward\s+([^|<>#;&]*)/.exec(line);
    if (found) yield found[1].trim().split(/\s+/);
  }
}

describe('documentation', { skip }, () => {
  test('every link leads somewhere', () => assert.deepEqual(brokenLinks(root), []));

  test('a link that leads nowhere is found', (t) => {
    const folder = temporaryFolder(t);
    const [page, none] = ['page', 'none'].map((name) => `${name}.md`);
    writeFileSync(join(folder, page), `# A b\n\n[x](${none}) [y](#a-b) [z](#none) \`[q](${none})\`\n\n\`\`\`\n[r](${none})\n\`\`\`\n`);
    assert.deepEqual(brokenLinks(folder, [page]), [`${page}: there is no ${none}`, `${page}: ${page} has no #none`]);
  });

  test('every picture is what its text says', () => {
    assert.deepEqual(stale().map(({ picture }) => picture), [], 'node conf/docs/pictures.mjs draws them');
    assert.throws(() => draw('who a, b\na -> c x'), /c is not among: a, b/);
  });

  test('every block of shell can be read by a shell', () => {
    for (const page of pages) {
      for (const block of blocksOf(page)) {
        const read = spawnSync('bash', ['-n'], { input: block.lines.join('\n'), encoding: 'utf8' });
        assert.equal(read.status, 0, `${page}:${block.line}: ${read.stderr}`);
      }
    }
  });

  test('every command and every option in them is there', () => {
    const helps = new Map();
    const helpOf = (command) => {
      if (!helps.has(command)) helps.set(command, spawnSync(binary(), [command, '--help'], { encoding: 'utf8' }));
      return helps.get(command);
    };
    let looked = 0;
    for (const page of pages) {
      const text = readFileSync(join(root, page), 'utf8');
      // Also commands within sentences, in backticks.
      const spans = [...split(text).rest.matchAll(/`(lineward [^`]+)`/g)].map(([, said]) => ({ line: said, lines: [said] }));
      for (const block of [...blocksOf(page), ...spans]) {
        for (const [command, ...words] of commandsIn(block)) {
          if (!/^[a-z]/.test(command)) continue; // `lineward -t`, `lineward COMMAND`
          const { status, stdout } = helpOf(command);
          assert.equal(status, 0, `${page}:${block.line}: lineward ${command}`);
          const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
          for (const flag of own.filter((word) => /^--[a-z]/.test(word)).map((word) => word.split('=')[0])) {
            assert.match(stdout, new RegExp(`${flag}\\b`), `${page}:${block.line}: lineward ${command} ${flag}`);
            ++looked;
          }
        }
      }
    }
    assert.ok(looked > 20, String(looked));
  });

  for (const page of pages) {
    const blocks = blocksOf(page).filter(({ info }) => info === 'sh run');
    if (blocks.length === 0) continue;
    test(`${page}: what it says to type works`, { timeout: 120_000 }, async (t) => {
      const folder = temporaryFolder(t);
      symlinkSync(binary(), join(folder, 'lineward'));
      writeFileSync(join(folder, 'npx'), `#!/bin/sh
[ "$1" = -y ] && shift
name=$1; shift
exec "${process.execPath}" "${modules}/$name/dist/index.js" "$@"
`);
      chmodSync(join(folder, 'npx'), 0o755);
      const [mcp, ops] = [await freePort(), await freePort()];
      const answers = (port) => `until (exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null; do sleep 0.05; done`;
      const script = blocks.map(({ lines, line }) => {
        const text = lines.join('\n').replaceAll(':8000', `:${mcp}`).replaceAll(':9464', `:${ops}`);
        return `echo "== line ${line}"\n${text}\n${/&\s*$/.test(text) ? answers(mcp) : ''}`;
      });
      const child = spawn('bash', ['-euo', 'pipefail', '-c', `${script.join('\n')}\nkill $(jobs -p) 2>/dev/null || true; wait`], {
        cwd: folder,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, PATH: `${folder}:${process.env.PATH}`, HOME: folder, XDG_RUNTIME_DIR: folder,
               LINEWARD_ADMIN_ADDRESS: `unix:${join(folder, 'admin.sock')}`,
               LINEWARD_LISTEN_ADDRESS: `127.0.0.1:${mcp}`, LINEWARD_OPS_ADDRESS: `127.0.0.1:${ops}` }, // prettier-ignore
      });
      t.after(() => {
        try {
          process.kill(-child.pid, 'SIGKILL');
        } catch {
          // nothing left
        }
      });
      let said = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (said += bytes));
      const code = await bounded(new Promise((resolve) => child.once('exit', resolve)), 100_000, 'the end');
      assert.equal(code, 0, said);
      assert.ok(existsSync(folder));
    });
  }
});
