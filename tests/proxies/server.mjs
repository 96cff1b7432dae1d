// A stdio server of 2026-07-28 for the proxies: `quiet` never answers, `events` sends twenty progress notifications with
// the time of each, `big` answers with the length of its argument. Each call and each cancel is a line in the file that
// is the first argument: {"what", "at", "name"}.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , journal] = process.argv;
const tell = (line) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`);
const note = (what, name) => appendFileSync(journal, `${JSON.stringify({ what, name, at: Date.now() })}\n`);
const tool = (name) => ({ name, inputSchema: { type: 'object' } });
const done = (id, text) => tell({ id, result: { resultType: 'complete', content: [{ type: 'text', text }] } });

const answers = {
  'server/discover': (id) =>
    tell({
      id,
      result: {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        serverInfo: { name: 'proxied', version: '1' },
        ttlMs: 0,
        cacheScope: 'public',
      },
    }),
  'tools/list': (id) =>
    tell({ id, result: { resultType: 'complete', tools: ['quiet', 'events', 'big'].map(tool), ttlMs: 0, cacheScope: 'public' } }),
  'tools/call': (id, { name, arguments: given, _meta }) => {
    note('call', name);
    if (name === 'big') return done(id, String(given.text.length));
    if (name !== 'events') return;
    let sent = 0;
    const timer = setInterval(() => {
      if (sent === 20) {
        clearInterval(timer);
        return done(id, 'all');
      }
      const params = { progressToken: _meta.progressToken, progress: ++sent, message: String(Date.now()) };
      tell({ method: 'notifications/progress', params });
    }, 50);
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'notifications/cancelled') return note('cancel');
  answers[method]?.(id, params);
});
