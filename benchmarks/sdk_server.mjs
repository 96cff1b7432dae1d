// The same two tools as echo_server.cc on the official SDK (2.x, both eras), for a server as people really run it.
import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(new URL('../tests/e2e/package.json', import.meta.url));
const { Server } = require('@modelcontextprotocol/server');
const { serveStdio } = require('@modelcontextprotocol/server/stdio');

const inputSchema = { type: 'object', properties: { nonce: { type: 'string' } } };
const journal = process.env.BENCH_CANCEL_FILE;
const note = (what, nonce) =>
  journal && appendFileSync(journal, `${what} ${nonce} ${process.hrtime.bigint()}\n`);

function createServer() {
  const server = new Server({ name: 'bench-sdk', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({
    tools: [
      { name: 'echo', inputSchema },
      { name: 'slow', inputSchema },
    ],
  }));
  server.setRequestHandler('tools/call', ({ params }, ctx) => {
    const { nonce } = params.arguments;
    if (params.name !== 'slow') return { content: [{ type: 'text', text: nonce }] };
    note('started', nonce);
    return new Promise((resolve) => {
      ctx.mcpReq.signal.addEventListener('abort', () => {
        note('cancelled', nonce);
        resolve({ content: [] });
      });
    });
  });
  return server;
}

serveStdio(createServer, { legacy: 'serve' });
