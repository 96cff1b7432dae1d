// Many of something: what is idle beside a call, servers, members, buckets.
import { LegacyClient, WIDE, asking, content, forUris, inOneGo, isError, isResult, isStatus, joined, listening, modern, repeat, telling, world, worldOf } from '../ground.mjs';
import { DISCOVERED } from '../wire.mjs';
import { listRows, tools } from './one.mjs';
import { key, keyLine, withKey } from './policies.mjs';

const KIB = 1024;
export const call = (args = '', name = 't') => `"name":"${name}","arguments":{${args}}`;
export const roomy = { idleConnections: 10000, maxInFlight: 100000, maxQueue: 100000, maxParked: 100000, maxSessions: 100000, maxGatewaySessions: 100000 };
export const wide = (server, config) => world({ limits: roomy, instances: 10000, ...server }, { listen: { ...WIDE.listen, maxSessions: 100000 }, ...config });

// ---- idle beside a call

/** Once n of something are there, a call costs what it did. `more(meter, count, before)` brings count more. */
export const beside = (name, n, unit, where, more, work) => ({
  name: `idle: ${name}`,
  n,
  unit,
  kind: 'flat',
  inOrder: true,
  world: where,
  at: async (meter, size, added) => {
    meter.kept ??= new Map(); // what the row needs at every size
    await more(meter, added, size - added);
    return work(meter);
  },
});
export const once = async (meter, key, make) => {
  if (!meter.kept.has(key)) meter.kept.set(key, await make());
  return meter.kept.get(key);
};
const modernCall = async (meter) => once(meter, 'call', () => asking(meter, modern('/mcp', 'tools/call', call())));
const legacyCall = async (meter) =>
  once(meter, 'legacy call', async () => {
    const client = await LegacyClient.open(meter);
    const bytes = client.bytes('tools/call', call());
    return async () => isResult(await client.wire.ask(bytes));
  });
const sessions = async (meter, count) => {
  const wire = await once(meter, 'wire', () => meter.connect());
  for (let i = 0; i < count; ++i) await LegacyClient.open(meter, { wire });
};
const sessionsThatCalled = async (meter, count) => {
  const wire = await once(meter, 'wire', () => meter.connect());
  for (let i = 0; i < count; ++i) {
    const client = await LegacyClient.open(meter, { wire });
    isResult(await client.ask('tools/call', call()));
  }
};
const streams = async (meter, count) => {
  for (let i = 0; i < count; ++i) {
    const client = await LegacyClient.open(meter);
    client.wire.send(`GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: ${client.session}\r\n\r\n`);
  }
};
const connections = async (meter, count) => {
  for (let i = 0; i < count; ++i) await meter.connect();
};
const listens = async (meter, count, before) => {
  for (let i = 0; i < count; ++i) await listening(meter, forUris(`"file:///${before + i}"`));
};
export const isHanging = (text) => text.includes('"hang"', 0, 'latin1');
export const hangs = (meter) => (meter.server.on['tools/call'] = ({ text }, say) => (isHanging(text) ? undefined : say.result(content())));
export const callsInFlight = async (meter, count) => {
  hangs(meter);
  const bytes = modern('/mcp', 'tools/call', call('', 'hang'));
  const from = meter.server.heard ?? 0;
  for (let i = 0; i < count; ++i) (await meter.connect()).send(bytes);
  while ((meter.server.heard ?? 0) < from + count) await new Promise((turn) => setImmediate(turn));
};
const legacyCallsInFlight = async (meter, count, before) => {
  hangs(meter);
  const client = await once(meter, 'client', () => LegacyClient.open(meter));
  const from = meter.server.heard ?? 0;
  for (let i = 0; i < count; ++i) {
    const wire = await meter.connect();
    wire.send(client.bytes('tools/call', call('', 'hang'), { id: before + i + 10 }));
  }
  while ((meter.server.heard ?? 0) < from + count) await new Promise((turn) => setImmediate(turn));
};
const asksBack = `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"form","message":"Name?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"s"}`;
const parked = async (meter, count) => {
  meter.server.on['tools/call'] = ({ text }, say) => say.result(isHanging(text) ? asksBack : content());
  const wire = await once(meter, 'parking', () => meter.connect());
  const bytes = modern('/mcp', 'tools/call', call('', 'hang'), { capabilities: '{"elicitation":{"form":{}}}' });
  for (let i = 0; i < count; ++i) isResult(await wire.ask(bytes));
};
const cancels = async (meter) =>
  once(meter, 'cancels', async () => {
    const client = meter.kept.get('client');
    const cancel = (i) => client.bytes('notifications/cancelled', `"requestId":${1000000 + i}`, { id: null });
    return inOneGo(await meter.connect(), 100, cancel, isStatus(202));
  });
const sessionComesAndGoes = async (meter) =>
  once(meter, 'visitor', async () => {
    const wire = await meter.connect();
    return async () => {
      const client = await LegacyClient.open(meter, { wire });
      isStatus(200, 202, 204)(await wire.ask(`DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: ${client.session}\r\n\r\n`));
    };
  });
const listenComesAndGoes = async (meter) =>
  once(meter, 'listener', async () => {
    let number = 0;
    return async () => (await listening(meter, forUris(`"file:///new/${++number}"`))).close();
  });
const oneIsTold = async (meter) =>
  once(meter, 'told', async () => {
    const wire = await listening(meter, forUris('"file:///told"'));
    return telling(meter, wire, 20, () => 'file:///told');
  });

export const httpWorld = wide({ era: 'modern' });
export const stdioWorld = wide({ road: 'stdio', era: 'modern' });
const legacyWorld = wide({ era: 'legacy' });
const legacyStdioWorld = wide({ road: 'stdio', era: 'legacy' });
const idle = [
  beside('connections, beside a call', 100, 'connections', httpWorld, connections, modernCall),
  beside('listens, beside a call', 50, 'listens', httpWorld, listens, modernCall),
  beside('listens, beside a call, stdio', 50, 'listens', stdioWorld, listens, modernCall),
  beside('listens, beside a listen that comes and goes', 50, 'listens', stdioWorld, listens, listenComesAndGoes),
  beside('listens, beside a notification of one, stdio', 50, 'listens', stdioWorld, listens, oneIsTold),
  beside('calls in flight, beside a call', 50, 'calls', httpWorld, callsInFlight, modernCall),
  beside('calls in flight, beside a call, stdio', 50, 'calls', stdioWorld, callsInFlight, modernCall),
  beside('calls in flight, beside cancels of none of them', 50, 'calls', legacyWorld, legacyCallsInFlight, cancels),
  beside('answers that asked back, beside a call', 50, 'calls', httpWorld, parked, modernCall),
  beside('answers that asked back, beside a call, stdio', 50, 'calls', stdioWorld, parked, modernCall),
  beside('legacy sessions, beside a call of another', 100, 'sessions', legacyWorld, sessions, legacyCall),
  beside('legacy sessions that have called, beside a call of another', 100, 'sessions', legacyWorld, sessionsThatCalled, legacyCall),
  beside('legacy sessions, beside a modern call', 100, 'sessions', legacyWorld, sessionsThatCalled, modernCall),
  beside('legacy sessions, beside one that comes and goes', 100, 'sessions', legacyWorld, sessionsThatCalled, sessionComesAndGoes),
  beside('legacy sessions of a modern server, beside a call of another', 100, 'sessions', httpWorld, sessionsThatCalled, legacyCall),
  beside('legacy sessions of a modern server, beside a modern call', 100, 'sessions', httpWorld, sessionsThatCalled, modernCall),
  beside('legacy sessions with a stream, beside a call of another', 25, 'sessions', legacyWorld, streams, legacyCall),
  beside('processes of legacy sessions, beside a call of another', 6, 'processes', legacyStdioWorld, sessions, legacyCall),
  beside('processes of legacy sessions, beside a modern call', 6, 'processes', legacyStdioWorld, sessions, modernCall),
];

// ---- servers

const servers = [
  {
    name: 'servers: configured, beside a call of one',
    n: 4,
    unit: 'servers',
    kind: 'flat',
    world: (n) => worldOf(n, () => ({ era: 'modern' })),
    at: (meter) => asking(meter, modern('/mcp/s0', 'tools/call', call())),
  },
  {
    name: 'servers: configured, beside a call through all',
    n: 4,
    unit: 'servers',
    kind: 'flat',
    world: (n) => worldOf(n, () => ({ era: 'modern' })),
    at: async (meter) => {
      isResult(await (await meter.connect()).ask(modern('/mcp', 'tools/list')));
      return asking(meter, modern('/mcp', 'tools/call', call('', 's0__t')));
    },
  },
  ...[
    ['server/discover', ''],
    ['tools/list', ''],
    ['prompts/list', ''],
    ['resources/list', ''],
  ].map(([method, params]) => ({
    name: `aggregate: members, ${method}`,
    n: 3,
    unit: 'members',
    world: (n) => worldOf(n, () => ({ era: 'modern' })),
    at: (meter) => asking(meter, modern('/mcp', method, params)),
  })),
  {
    name: 'aggregate: members, listen',
    n: 3,
    unit: 'members',
    world: (n) => worldOf(n, () => ({ era: 'modern' })),
    at: async (meter) => async () => (await listening(meter, `"toolsListChanged":true,${forUris('"file:///a"')}`)).close(),
  },
  {
    name: 'aggregate: members, initialize of a legacy client',
    n: 3,
    unit: 'members',
    world: (n) => worldOf(n, () => ({ era: 'modern' })),
    at: async (meter) => {
      const wire = await meter.connect();
      return async () => {
        const client = await LegacyClient.open(meter, { wire });
        isStatus(200, 202, 204)(await wire.ask(`DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: ${client.session}\r\n\r\n`));
      };
    },
  },
];

const together = worldOf(2, () => ({ era: 'modern' }));
const togetherOnConflict = worldOf(2, () => ({ era: 'modern' }), { aggregate: { prefixMode: 'onConflict' } });
/** Every member answers a method with the same. */
const merged = (what, n, unit, method, result, kind) => ({
  name: `aggregate, ${method}: ${what}`,
  n,
  unit,
  kind,
  world: together,
  at: async (meter, size) => {
    const text = result(size);
    const ask = await asking(meter, modern('/mcp', method));
    return () => {
      for (const server of Object.values(meter.servers)) server.on[method] = (_, say) => say.result(text);
      return ask();
    };
  },
});
const listOf = (key, items, more) => `{${more},"${key}":[${items}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`;
const deep = (levels, inside) => '{"a":'.repeat(levels) + inside + '}'.repeat(levels);
const filler = (bytes) => `{"filler":"${'x'.repeat(bytes)}"}`;
const aggregate = [
  ...listRows('aggregate', { world: together, client: 'modern' }),
  ...listRows('aggregate, onConflict', { world: togetherOnConflict, client: 'modern' }, tools.slice(0, 4)),
  ...listRows('aggregate, legacy client', { world: together, client: 'legacy' }, tools.filter(([what]) => /^(tools|depth.*schema|properties)/.test(what))),
  ...listRows('aggregate', { world: together, client: 'modern' }, [['resources', 250, 'resources', (n) => joined(n, (i) => `{"name":"r${i}","uri":"file:///${i}"}`)], ['length of a URI', 16 * KIB, 'bytes', (n) => `{"name":"r","uri":"file:///${'a'.repeat(n)}"}`]], 'resources/list', 'resources'),
  ...listRows('aggregate', { world: together, client: 'modern' }, [['templates', 250, 'templates', (n) => joined(n, (i) => `{"name":"r${i}","uriTemplate":"file:///${i}/{path}"}`)], ['expressions of a template', 1000, 'expressions', (n) => `{"name":"r","uriTemplate":"file:///${'{a}'.repeat(n)}"}`]], 'resources/templates/list', 'resourceTemplates'),
  ...listRows('aggregate', { world: together, client: 'modern' }, [['prompts', 250, 'prompts', (n) => joined(n, (i) => `{"name":"p${i}"}`)]], 'prompts/list', 'prompts'),
  merged('unknown members of its result', 500, 'members', 'tools/list', (n) => listOf('tools', '', joined(n, (i) => `"m${i}":${i}`))),
  merged('unknown members, one name again and again', 500, 'members', 'tools/list', (n) => listOf('tools', '', joined(n, () => '"m":1'))),
  merged('members of _meta', 500, 'members', 'tools/list', (n) => listOf('tools', '', `"_meta":{${joined(n, (i) => `"m${i}":${i}`)}}`)),
  merged('depth of an unknown member (128 KiB within)', 12, 'levels', 'tools/list', (n) => listOf('tools', '', `"m":${deep(n, filler(128 * KIB))}`), 'flat'),
  merged('length of nextCursor', 4 * KIB, 'bytes', 'tools/list', (n) => listOf('tools', '', `"nextCursor":"${'c'.repeat(n)}"`)),
  merged('capabilities', 500, 'members', 'server/discover', (n) => DISCOVERED.replace('"tools":{"listChanged":true}', `"tools":{"listChanged":true},"experimental":{${joined(n, (i) => `"x${i}":{}`)}}`)),
  merged('versions', 500, 'versions', 'server/discover', (n) => DISCOVERED.replace('["2026-07-28"]', `["2026-07-28",${joined(n, (i) => `"v${i}"`)}]`)),
  merged('length of instructions', 64 * KIB, 'bytes', 'server/discover', (n) => DISCOVERED.replace('{', `{"instructions":"${'i'.repeat(n)}",`)),
  {
    name: 'aggregate, tools/call: items of its content',
    n: 500,
    unit: 'items',
    world: together,
    at: async (meter, n) => {
      const text = `{"content":[${joined(n, (i) => `{"type":"resource_link","name":"l","uri":"file:///${i}"}`)}],"resultType":"complete"}`;
      isResult(await (await meter.connect()).ask(modern('/mcp', 'tools/list')));
      const ask = await asking(meter, modern('/mcp', 'tools/call', call('', 's0__t')));
      return () => {
        meter.server.on['tools/call'] = (_, say) => say.result(text);
        return ask();
      };
    },
  },
  ...[
    ['depth of its content (128 KiB within)', 12, 'levels', (n) => `{"content":[],"structuredContent":${deep(n, filler(128 * KIB))},"resultType":"complete"}`, 'flat'],
    ['size of its content', 128 * KIB, 'bytes', (n) => content('x'.repeat(n))],
    ['members of _meta', 500, 'members', (n) => `{"content":[],"_meta":{${joined(n, (i) => `"m${i}":${i}`)}},"resultType":"complete"}`],
  ].map(([what, n, unit, text, kind]) => ({
    name: `aggregate, tools/call: ${what}`,
    n,
    unit,
    kind,
    world: together,
    at: async (meter, size) => {
      const answer = text(size);
      isResult(await (await meter.connect()).ask(modern('/mcp', 'tools/list')));
      const ask = await asking(meter, modern('/mcp', 'tools/call', call('', 's0__t')));
      return () => {
        meter.server.on['tools/call'] = (_, say) => say.result(answer);
        return ask();
      };
    },
  })),
  {
    name: 'aggregate, resources/read: length of its URI',
    n: KIB,
    unit: 'bytes',
    world: together,
    at: (meter, n) => asking(meter, modern('/mcp', 'resources/read', `"uri":"s0+file:///${'a/'.repeat(n / 2)}"`)),
  },
  {
    name: 'aggregate: length of an unknown cursor',
    n: 4 * KIB,
    unit: 'bytes',
    world: together,
    at: (meter, n) => asking(meter, modern('/mcp', 'tools/list', `"cursor":"${'c'.repeat(n)}"`), isError),
  },
  {
    name: 'aggregate: URIs of a listen',
    n: 50,
    unit: 'URIs',
    world: together,
    at: async (meter, n) => {
      const wishes = forUris(joined(n, (i) => `"s0+file:///${i}"`));
      return async () => (await listening(meter, wishes)).close();
    },
  },
];

const buckets = [
  beside('buckets of rateLimit, beside a call', 250, 'buckets', wide({ era: 'modern' }, { plugins: [{ rateLimit: { key: 'principal+tool', requests: 1000000, per: '24h' } }] }), async (meter, count, before) => {
    const wire = await once(meter, 'filling', () => meter.connect());
    for (let i = 0; i < count; ++i) isResult(await wire.ask(modern('/mcp', 'tools/call', call('', `tool_${before + i}`))));
  }, modernCall),
  beside('results in the cache, beside one that is there', 100, 'results', wide({ era: 'modern', cache: { enabled: true } }), async (meter, count, before) => {
    const wire = await once(meter, 'filling', () => meter.connect());
    meter.server.on['resources/read'] = (_, say) => say.result('{"contents":[],"resultType":"complete","ttlMs":3600000,"cacheScope":"private"}');
    for (let i = 0; i < count; ++i) isResult(await wire.ask(modern('/mcp', 'resources/read', `"uri":"file:///${before + i}"`)));
  }, async (meter) => once(meter, 'read', () => asking(meter, modern('/mcp', 'resources/read', '"uri":"file:///0"')))),
  beside('callers with keys, beside a call of one', 50, 'callers', wide({ era: 'modern', isolation: 'auto' }, { auth: { apiKey: { keys: repeat(400, (i) => keyLine(i)) } } }), async (meter, count, before) => {
    const wire = await once(meter, 'filling', () => meter.connect());
    for (let i = 0; i < count; ++i) isResult(await wire.ask(modern('/mcp', 'tools/call', call(), { headers: { 'X-API-Key': key(before + i) } })));
  }, async (meter) => once(meter, 'keyed', () => asking(meter, withKey('tools/call', call())))),
];

export const rows = [...idle, ...servers, ...aggregate, ...buckets];
