// Debian's haproxy in front of several gateways, each request to the next one.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './events.mjs';
import { eventually } from './operator.mjs';
import { accepts, freePort } from './ports.mjs';

const program = ['/usr/sbin/haproxy', 'haproxy'].find((path) => spawnSync(path, ['-v']).status === 0);

/** Why it cannot be used, or false. */
export const noHaproxy = program ? false : 'there is no haproxy here (apt-get install haproxy)';

/**
 * Resolves with {url}; ends with the test. `urls`: of the gateways. Unless `kept`, each request has a connection of
 * its own to a gateway. On a kept connection haproxy may write to a gateway that has just died, and that request is
 * lost. A check that takes long on a busy machine is no failure; one that is refused is.
 */
export async function haproxy(t, urls, { kept = true } = {}) {
  const port = await freePort();
  const servers = urls.map((url, at) => `  server r${at} ${new URL(url).host} check inter 250ms fall 1 rise 1`);
  const file = join(temporaryFolder(t), 'haproxy.cfg');
  writeFileSync(
    file,
    `global
  maxconn 400
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  timeout check 10s
  retries 3
  option redispatch 1
${kept ? '' : '  option http-server-close\n'}listen mcp
  bind 127.0.0.1:${port}
  balance roundrobin
${servers.join('\n')}
`,
  );
  const child = spawn(program, ['-db', '-f', file], { stdio: 'ignore' });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await eventually(() => accepts(port), 'a haproxy that accepts');
  return { url: `http://127.0.0.1:${port}/mcp` };
}
