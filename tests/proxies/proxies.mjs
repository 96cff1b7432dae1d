// The proxies of docs/proxies.md, started with the configurations that stand there.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { accepts, freePort } from '../e2e/lib/ports.mjs';

const PAGE = fileURLToPath(new URL('../../docs/proxies.md', import.meta.url));
const HERE = dirname(fileURLToPath(import.meta.url));

/** The block of the page behind `<!-- run: NAME -->`. */
export function configuration(name) {
  const text = readFileSync(PAGE, 'utf8');
  const found = new RegExp(`<!-- run: ${name} -->\\s*\`\`\`[a-z]*\\n([^]*?)\`\`\``).exec(text);
  if (!found) throw new Error(`docs/proxies.md has no configuration of ${name}`);
  return found[1];
}

const inPath = (program) => [`/usr/sbin/${program}`, `/usr/bin/${program}`].find((path) => existsSync(path));
const first = (text) => text.split('\n').find(Boolean)?.trim() ?? '';
const saying = (program, ...args) => {
  const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return first(`${stdout}${stderr}`);
};

// name, program, file name of its configuration; its command for that file, in that folder; the changes for HTTP/2
// without TLS, if it supports that towards clients.
const PROGRAMS = [
  { name: 'nginx', version: ['-v'], file: 'nginx.conf', args: (file, folder) => ['-p', folder, '-e', 'stderr', '-c', file],
    whole: (text) => `daemon off;\npid nginx.pid;\nevents { worker_connections 4096; }\nhttp {\n${text}}\n`,
    h2: (text) => text.replace(':8080;', ':8080 http2;') },
  { name: 'haproxy', version: ['-v'], file: 'haproxy.cfg', args: (file) => ['-db', '-f', file],
    h2: (text) => text.replace('bind 127.0.0.1:8080', '$& proto h2') },
  { name: 'caddy', version: ['version'], file: 'Caddyfile', args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
    whole: (text) => `{\n  admin off\n  auto_https off\n  servers {\n    protocols h1 h2c\n  }\n}\n${text}`,
    h2: (text) => text },
  { name: 'apache2', version: ['-v'], file: 'apache.conf', args: (file, folder) => ['-X', '-d', folder, '-f', file],
    whole: (text, folder) =>
      ['mpm_event', 'proxy', 'proxy_http', 'authz_core']
        .map((one) => `LoadModule ${one}_module /usr/lib/apache2/modules/mod_${one}.so\n`)
        .join('') + `PidFile ${folder}/pid\nUser www-data\nGroup www-data\nErrorLog ${folder}/error.log\n${text}`,
    h2: (text) => `LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so\nProtocols h2c\n${text}` },
  { name: 'squid', version: ['-v'], file: 'squid.conf', args: (file) => ['-N', '-n', `lineward${process.pid}`, '-f', file],
    whole: (text, folder) =>
      `pid_filename ${folder}/squid.pid\ncache_log ${folder}/cache.log\ncoredump_dir ${folder}\ncache_effective_user proxy\nshutdown_lifetime 1 seconds\n${text}` },
  { name: 'nghttpx', version: ['--version'], file: 'nghttpx.conf', args: (file) => [`--conf=${file}`], h2: (text) => text },
  { name: 'http-proxy', file: 'http-proxy.mjs', module: 'http-proxy' },
  { name: 'http-proxy-middleware', file: 'http-proxy-middleware.mjs', module: 'http-proxy-middleware' },
  { name: 'http-proxy-3', file: 'http-proxy-3.mjs', module: 'http-proxy-3' },
  { name: 'fastify', file: 'fastify.mjs', module: '@fastify/http-proxy' },
];

function found(one) {
  if (one.module) {
    const manifest = join(HERE, 'node_modules', one.module, 'package.json');
    return existsSync(manifest) && { ...one, program: process.execPath, is: `${one.module} ${JSON.parse(readFileSync(manifest)).version}` };
  }
  const program = inPath(one.name);
  return program !== undefined && { ...one, program, is: saying(program, ...one.version) };
}

/** The installed proxies, and the names of the others. */
export function installed(only = []) {
  const wanted = PROGRAMS.filter(({ name }) => only.length === 0 || only.includes(name));
  const here = wanted.map(found);
  return { here: here.filter(Boolean), missing: wanted.filter((_, at) => !here[at]).map(({ name }) => name) };
}

/** Starts it in front of the gateway; resolves with the port and `stop`. */
export async function start(proxy, gateway, folder, { change = (text) => text } = {}) {
  const port = await freePort();
  const own = join(folder, proxy.name);
  mkdirSync(own, { recursive: true });
  // Squid gives its rights up, and writes there.
  chmodSync(folder, 0o755);
  chmodSync(own, 0o777);
  // Node's look for their modules from where they are.
  const file = proxy.module ? join(HERE, 'node_modules', `.run-${process.pid}-${proxy.file}`) : join(own, proxy.file);
  const text = change(configuration(proxy.name))
    .replaceAll('127.0.0.1:8000', gateway)
    .replaceAll('127.0.0.1 parent 8000', gateway.replace(':', ' parent '))
    .replaceAll('127.0.0.1,8000', gateway.replace(':', ','))
    .replaceAll('8080', String(port));
  writeFileSync(file, (proxy.whole ?? ((same) => same))(text, own));
  const args = proxy.module ? [file] : proxy.args(file, own);
  const child = spawn(proxy.program, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: own });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (said = (said + bytes).slice(-4000)));
  const stop = async () => {
    if (proxy.module) rmSync(file, { force: true });
    if (child.exitCode !== null || child.signalCode !== null) return;
    // Squid leaves shared memory behind when it is killed.
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
    await gone;
    clearTimeout(late);
  };
  for (const end = Date.now() + 40_000; !(await accepts(port)); ) {
    if (child.exitCode !== null || Date.now() > end) {
      await stop();
      throw new Error(`${proxy.name} does not listen: ${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { port, stop };
}
