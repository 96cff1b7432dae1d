// Verdaccio on a port of its own, with the tarballs of a folder published, and a home of npm's that knows no other registry.
import { spawn, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const here = import.meta.dirname;

const free_port = () => new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

// Ends with the test `t`.
export async function registry(t, tarballs) {
  const home = mkdtempSync(join(tmpdir(), 'lineward-npm-'));
  const port = await free_port();
  const others = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  writeFileSync(join(home, 'verdaccio.yaml'), readFileSync(join(here, 'verdaccio.yaml'), 'utf8').replace('"REGISTRY"', JSON.stringify(others)));
  const server = spawn(process.execPath,
    [join(here, 'node_modules/verdaccio/bin/verdaccio'), '--config', join(home, 'verdaccio.yaml'), '--listen', `127.0.0.1:${port}`],
    { cwd: home, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(async () => {
    server.kill('SIGTERM');
    if (server.exitCode === null) await new Promise((resolve) => server.once('exit', resolve));
    rmSync(home, { recursive: true, force: true });
  });
  await new Promise((resolve, reject) => {
    let said = '';
    server.stdout.on('data', (chunk) => /http address/.test(said += chunk) && resolve());
    server.once('exit', (code) => reject(new Error(`verdaccio ended with ${code}: ${said}`)));
  });
  const url = `http://127.0.0.1:${port}/`;
  writeFileSync(join(home, 'npmrc'), `registry=${url}\n//127.0.0.1:${port}/:_authToken=anybody\nupdate-notifier=false\nfund=false\naudit=false\n`);
  const env = { PATH: process.env.PATH, HOME: home, npm_config_userconfig: join(home, 'npmrc'), npm_config_cache: join(home, 'cache') };
  for (const file of readdirSync(tarballs).filter((name) => name.endsWith('.tgz'))) {
    execFileSync('npm', ['publish', join(tarballs, file), '--ignore-scripts', '--loglevel=error'], { env, cwd: home, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  return { url, env, home };
}

// An empty folder, gone with the test.
export function empty_folder(t) {
  const folder = mkdtempSync(join(tmpdir(), 'lineward-empty-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
