// A gateway with a configuration file that can be rewritten while it runs.
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { binary } from './binary.mjs';
import { temporaryFolder } from './events.mjs';
import { startListener } from './gateway.mjs';
import { get, lineward, opsOf } from './operator.mjs';
import { plainFixture } from './servers.mjs';

/** The plain fixture as a server of a configuration; another `form` is another server. */
export const plain = (form = '', more = {}) => {
  const [command, ...args] = plainFixture();
  return { command, args, env: { FORM: form }, ...more };
};

/** A gateway with a file that can be rewritten: write(servers, more), reload(...flags). */
export async function running(t, servers, { args = [], more = {}, stop = true } = {}) {
  const folder = temporaryFolder(t);
  const file = join(folder, 'lineward.json');
  const socket = join(folder, 'admin.sock');
  const text = (mcpServers, other = {}) =>
    JSON.stringify({
      listen: { address: '127.0.0.1:0' },
      ops: { address: '127.0.0.1:0' },
      admin: { address: `unix:${socket}` },
      ...other,
      mcpServers,
    });
  const write = (mcpServers, other) => {
    writeFileSync(`${file}.new`, text(mcpServers, other));
    renameSync(`${file}.new`, file);
  };
  write(servers, more);
  const gateway = await startListener(binary(), ['run', ...args, file]);
  if (stop) t.after(() => gateway.stop());
  const origin = new URL(gateway.url).origin;
  const metric = async (name) =>
    Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec((await get(opsOf(gateway), '/metrics')).body)?.[1]);
  return {
    gateway,
    folder,
    file,
    socket,
    write,
    text,
    metric,
    at: (name) => `${origin}/mcp/${name}`,
    reload: (...flags) => lineward(['reload', '--admin', `unix:${socket}`, ...flags]),
    status: async () => JSON.parse((await get(socket, '/api/v1/status')).body),
    calls: async () => JSON.parse((await get(socket, '/api/v1/calls')).body).calls,
  };
}
