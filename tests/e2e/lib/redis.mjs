// A real Redis (Debian's redis-server) on a Unix socket in a folder of the test's own, without persistence.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from './events.mjs';
import { eventually } from './operator.mjs';

/** Why it cannot be used, or false. */
export const noRedis =
  spawnSync('redis-server', ['--version']).status === 0 ? false : 'there is no redis-server here (apt-get install redis-server)';

/** {socket, start(), kill(), signal(name)}; ended with the test. */
export function redis(t, { password = '' } = {}) {
  const folder = temporaryFolder(t);
  const socket = join(folder, 'redis.sock');
  let child;
  const answers = () =>
    new Promise((resolve) => {
      const asked = connect(socket);
      asked.once('error', () => resolve(false));
      asked.once('data', (bytes) => {
        asked.destroy();
        resolve(/^(\+PONG|-NOAUTH)/.test(bytes.toString()));
      });
      asked.write('PING\r\n');
    });
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  t.after(kill);
  return {
    socket,
    async start() {
      // By stdin: a password must not be visible in ps.
      child = spawn('redis-server', ['-'], { cwd: folder, stdio: ['pipe', 'ignore', 'ignore'] });
      child.stdin.end(
        `port 0\nunixsocket ${socket}\nsave ""\nappendonly no\ndir ${folder}\n${password ? `requirepass ${password}\n` : ''}`,
      );
      await eventually(answers, 'a Redis that answers');
    },
    kill,
    signal: (name) => child.kill(name),
  };
}
