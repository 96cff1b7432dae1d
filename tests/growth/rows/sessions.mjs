// Dimensions of a legacy session: what its server says to it beside calls, what it has open when it ends.
import { LegacyClient, WIDE, asking, inOneGo, isStatus, modern, repeat, world } from '../ground.mjs';
import { event } from '../wire.mjs';

const call = (name = 't') => `"name":"${name}","arguments":{}`;
const limits = { idleConnections: 10000, maxInFlight: 100000, maxQueue: 100000, maxSessions: 100000 };
const streaming = world({ era: 'legacy', streams: true, limits }, { listen: { ...WIDE.listen, maxSessions: 100000 } });
const plain = world({ era: 'legacy', limits }, { listen: { ...WIDE.listen, maxSessions: 100000 } });
const stdio = world({ road: 'stdio', era: 'legacy', limits, instances: 1000 });

/** A session with a client's GET stream, and the server's side of it. */
async function listening(meter, client) {
  const wire = await meter.connect();
  const before = meter.server.streams?.length;
  wire.send(`GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: ${client.session}\r\n\r\n`);
  while (meter.server.streams && meter.server.streams.length === before) await new Promise((turn) => setImmediate(turn));
  return { wire, stream: meter.server.streams?.at(-1) };
}
const updated = '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}';
const hang = (meter) => (meter.server.on['tools/call'] = () => {});
const heard = async (meter, count) => {
  while ((meter.server.heard ?? 0) < count) await new Promise((turn) => setImmediate(turn));
};

export const rows = [
  {
    name: 'session: notifications on its stream',
    n: 50,
    unit: 'notifications',
    world: streaming,
    at: async (meter, n) => {
      const client = await LegacyClient.open(meter);
      const { wire, stream } = await listening(meter, client);
      return async () => {
        const there = wire.seen('resources/updated', n);
        stream.write(repeat(n, () => event(updated)).join(''));
        await there;
      };
    },
  },
  {
    name: 'session: 20 notifications on its stream, beside other sessions that have one',
    n: 20,
    unit: 'sessions',
    kind: 'flat',
    inOrder: true,
    world: streaming,
    at: async (meter, n, added) => {
      let last;
      for (let i = 0; i < added; ++i) last = await listening(meter, await LegacyClient.open(meter));
      return async () => {
        const there = last.wire.seen('resources/updated', 20);
        last.stream.write(repeat(20, () => event(updated)).join(''));
        await there;
      };
    },
  },
  {
    name: 'session: notifications that wait for a stream',
    n: 30, // at most 256 wait
    unit: 'notifications',
    world: stdio,
    at: async (meter, n) => {
      const client = await LegacyClient.open(meter);
      return async () => {
        meter.server.on['tools/call'] = (_, say) => {
          say.result('{"content":[]}');
          say.bytes(`${updated}\n`.repeat(n));
        };
        isStatus(200)(await client.ask('tools/call', call()));
        const { wire } = await listening(meter, client);
        await wire.seen('resources/updated', 1).finally(() => wire.close());
      };
    },
  },
  {
    name: 'session: its end, with calls in flight',
    n: 20,
    unit: 'calls',
    world: plain,
    at: async (meter, n) => async () => {
      hang(meter);
      const client = await LegacyClient.open(meter);
      const from = meter.server.heard ?? 0;
      const wires = await Promise.all(repeat(n, () => meter.connect()));
      for (const [i, wire] of wires.entries()) wire.send(client.bytes('tools/call', call(), { id: i + 10 }));
      await heard(meter, from + n);
      isStatus(200, 202, 204)(await client.wire.ask(`DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: ${client.session}\r\n\r\n`));
      for (const wire of wires) wire.close();
    },
  },
  {
    name: 'session: a call, beside others of it in flight',
    n: 200,
    unit: 'calls',
    kind: 'flat',
    inOrder: true,
    world: plain,
    at: async (meter, n, added) => {
      meter.server.on['tools/call'] = ({ text }, say) => (text.includes('"hang"', 0, 'latin1') ? undefined : say.result('{"content":[]}'));
      meter.client ??= await LegacyClient.open(meter);
      const from = meter.server.heard ?? 0;
      for (let i = 0; i < added; ++i) (await meter.connect()).send(meter.client.bytes('tools/call', call('hang'), { id: n + i + 1000 }));
      await heard(meter, from + added);
      return async () => isStatus(200)(await meter.client.ask('tools/call', call()));
    },
  },
  {
    name: 'session: a newcomer, where there is no room for one more',
    n: 250,
    unit: 'sessions',
    kind: 'flat',
    world: (n) => world({ era: 'legacy', limits }, { listen: { ...WIDE.listen, maxSessions: n } }),
    at: async (meter, n) => {
      const wire = await meter.connect();
      for (let i = 0; i < n; ++i) await LegacyClient.open(meter, { wire });
      return async () => LegacyClient.open(meter, { wire });
    },
  },
  ...[
    ['notifications', 'notifications', plain, 202, (client) => client.bytes('notifications/roots/list_changed', '', { id: null })],
    ['subscriptions', 'URIs', stdio, 200, (client, i, n) => client.bytes('resources/subscribe', `"uri":"file:///${n}/${i}"`, { id: i + 1 })],
  ].map(([what, unit, where, status, bytes]) => ({
    name: `session: ${what} of its client`,
    n: 50,
    unit,
    world: where,
    at: async (meter, n) => {
      const client = await LegacyClient.open(meter);
      return inOneGo(client.wire, n, (i) => bytes(client, i, n), isStatus(status));
    },
  })),
  {
    name: 'preflight: headers that are asked for',
    n: 100,
    unit: 'headers',
    world: world({ era: 'modern' }, { listen: { ...WIDE.listen, allowedOrigins: ['https://page.example'] } }),
    at: async (meter, n) => {
      const bytes = `OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: https://page.example\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: ${repeat(n, (i) => `x-h${i}`).join(', ')}\r\n\r\n`;
      return asking(meter, bytes, isStatus(200, 204));
    },
  },
  {
    name: 'log: length of a name, with redact in the log',
    n: 1024,
    unit: 'bytes',
    world: world({ era: 'modern' }, { log: { level: 'info' }, plugins: [{ redact: { patterns: ['sk-[A-Za-z0-9]{20,}'] } }] }),
    at: (meter, n) => asking(meter, modern('/mcp', 'tools/call', call('t'.repeat(n))), isStatus(200)),
  },
];
