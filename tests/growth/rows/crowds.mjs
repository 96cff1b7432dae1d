// Many clients at once: what is told to them, how they come and leave, where there is no room for one more.
import { setImmediate as turn } from 'node:timers/promises';
import { LegacyClient, allAsk, asking, content, forUris, isResult, isStatus, listening, modern, repeat, world } from '../ground.mjs';
import { call, hangs, httpWorld, once, roomy, stdioWorld, wide } from './many.mjs';

const updated = (id) =>
  `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":${id}}}}`;
const oneSeat = world({ limits: { ...roomy, maxInFlight: 1 } });

export const rows = [
  {
    name: 'listen, modern → stdio: clients of one notification',
    n: 20,
    unit: 'listens',
    inOrder: true,
    world: stdioWorld,
    at: async (meter, n, added) => {
      meter.kept ??= new Map();
      const wires = await once(meter, 'wires', () => []);
      for (let i = 0; i < added; ++i) wires.push(await listening(meter, '"toolsListChanged":true'));
      return async () => {
        const heard = wires.map((wire) => wire.seen('list_changed', 10));
        for (let i = 0; i < 10; ++i) for (const { message, say } of meter.server.listens.slice(-1)) say.message(updated(message.id));
        await Promise.all(heard);
      };
    },
  },
  {
    name: 'calls: clients that leave at once',
    n: 20,
    unit: 'clients',
    world: stdioWorld,
    at: async (meter, n) => async () => {
      hangs(meter);
      const from = meter.server.heard ?? 0;
      const wires = await Promise.all(repeat(n, () => meter.connect()));
      for (const wire of wires) wire.send(modern('/mcp', 'tools/call', call('', 'hang')));
      while ((meter.server.heard ?? 0) < from + n) await turn();
      for (const wire of wires) wire.close();
    },
  },
  {
    name: 'calls: connections that come and go',
    n: 20,
    unit: 'connections',
    world: httpWorld,
    at: async (meter, n) => async () => {
      const wires = await Promise.all(repeat(n, () => meter.connect()));
      for (const wire of wires) wire.close();
    },
  },
  ...[
    ['calls at once over connections of their own', httpWorld],
    ['calls that wait in the queue of their server', oneSeat],
  ].map(([name, where]) => ({
    name,
    n: 20,
    unit: 'calls',
    world: where,
    at: async (meter, n) => {
      const wires = await Promise.all(repeat(n, () => meter.connect()));
      const bytes = modern('/mcp', 'tools/call', call());
      return () => allAsk(wires, bytes);
    },
  })),
  {
    name: 'calls: clients that leave the queue',
    n: 25,
    unit: 'clients',
    world: oneSeat,
    at: async (meter, n) => {
      const seat = await meter.connect(); // its call has the only place
      return async () => {
        hangs(meter);
        if (!meter.seated) {
          meter.seated = true;
          const from = meter.server.heard ?? 0;
          seat.send(modern('/mcp', 'tools/call', call('', 'hang')));
          while ((meter.server.heard ?? 0) === from) await turn();
        }
        const wires = await Promise.all(repeat(n, () => meter.connect()));
        for (const wire of wires) wire.send(modern('/mcp', 'tools/call', call()));
        await meter.settled();
        for (const wire of wires) wire.close();
      };
    },
  },
  ...[
    ['of one wish', () => '"toolsListChanged":true'],
    ['of wishes of their own', (i) => forUris(`"file:///${i}"`)],
  ].map(([what, wish]) => ({
    name: `listens ${what}: clients that come and leave`,
    n: 20,
    unit: 'clients',
    world: stdioWorld,
    at: async (meter, n) => async () => {
      const wires = await Promise.all(repeat(n, (i) => listening(meter, wish(i))));
      for (const wire of wires) wire.close();
    },
  })),
  {
    name: 'sessions: that come and go all at once',
    n: 20,
    unit: 'sessions',
    world: wide({ era: 'legacy' }),
    at: async (meter, n) => {
      const wire = await meter.connect();
      return async () => {
        const all = [];
        for (let i = 0; i < n; ++i) all.push(await LegacyClient.open(meter, { wire }));
        for (const { session } of all) isStatus(200, 202, 204)(await wire.ask(`DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: ${session}\r\n\r\n`));
      };
    },
  },
  {
    name: 'buckets: a new one, where there is no room for one more',
    n: 250,
    unit: 'buckets',
    kind: 'flat',
    world: (n) => wide({ era: 'modern' }, { plugins: [{ rateLimit: { key: 'principal+tool', requests: 1000000, per: '24h', maxKeys: n } }] }),
    at: async (meter, n) => {
      const wire = await meter.connect();
      let number = 0;
      const next = async () => isResult(await wire.ask(modern('/mcp', 'tools/call', call('', `tool_${++number}`))));
      for (let i = 0; i < n; ++i) await next();
      return next;
    },
  },
  {
    name: 'processes: busy ones, beside a call in one of its own',
    n: 4,
    unit: 'processes',
    kind: 'flat',
    inOrder: true,
    world: wide({ road: 'stdio', era: 'modern', isolation: 'call', pool: { prewarm: 2 } }),
    at: async (meter, n, added) => {
      hangs(meter);
      for (let i = 0; i < added; ++i) {
        const from = meter.server.heard ?? 0;
        (await meter.connect()).send(modern('/mcp', 'tools/call', call('', 'hang')));
        while ((meter.server.heard ?? 0) === from) await turn();
      }
      return asking(meter, modern('/mcp', 'tools/call', call()));
    },
  },
  {
    name: 'parked calls: the retry of one, beside others',
    n: 10,
    unit: 'calls',
    kind: 'flat',
    inOrder: true,
    world: wide({ road: 'stdio', era: 'legacy' }),
    at: async (meter, n, added) => {
      const asks = '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Name?","requestedSchema":{"type":"object","properties":{}}}}';
      meter.server.on['tools/call'] = (_, say) => {
        meter.waiting = say;
        say.message(asks);
      };
      meter.server.answered = () => meter.waiting.result(content());
      const wire = await meter.connect();
      const options = { capabilities: '{"elicitation":{"form":{}}}' };
      const park = async () => {
        const answer = await wire.ask(modern('/mcp', 'tools/call', call(), options));
        isResult(answer);
        return /"requestState":"([^"]+)"/.exec(answer.body.toString())?.[1];
      };
      for (let i = 0; i < added; ++i) await park();
      return async () => {
        const state = await park();
        if (!state) throw new Error('the call was not parked');
        isResult(await wire.ask(modern('/mcp', 'tools/call', `${call()},"inputResponses":{"question-1":{"action":"accept","content":{}},"q":{"action":"accept","content":{}}},"requestState":"${state}"`, options)));
      };
    },
  },
];
