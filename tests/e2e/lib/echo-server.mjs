// A stdio server in one line of Node that echoes requests. Its answer to a tools/call has the `_meta` that came, its list
// a tool with that as its description. It speaks both eras.
const SOURCE = String.raw`
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const info = { name: 'echo', version: '1' };
  const text = JSON.stringify(params?._meta ?? null);
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: info },
    'server/discover': {
      resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': info },
    },
    'tools/list': { tools: [{ name: 'echo', description: text, inputSchema: { type: 'object' } }], resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
    'tools/call': { content: [{ type: 'text', text }], resultType: 'complete' },
  };
  if (process.argv[1] === 'legacy' && method === 'server/discover') return say({ id, error: { code: -32601, message: 'no' } });
  say(results[method] ? { id, result: results[method] } : { id, error: { code: -32601, message: 'no' } });
});`;

/** As an entry of mcpServers. */
export const echoServer = (era, more = {}) => ({
  command: process.execPath,
  args: ['-e', SOURCE, era],
  protocolEra: era,
  ...more,
});
