// How long the largest message of each kind occupies the loop: processor time of the whole message, in milliseconds.
import { LegacyClient, asking, isResult, joined, modern } from '../ground.mjs';
import { content, listed } from '../wire.mjs';
import { Meter } from '../meter.mjs';
import { slowestDuring } from '../prober.mjs';

const MIB = 1024 * 1024;
const call = (args = '', name = 't') => `"name":"${name}","arguments":{${args}}`;
const text = (bytes) => `"a":"${'x'.repeat(bytes)}"`;
const escapes = (bytes) => `"a":"${'\\u00e9'.repeat(bytes / 6)}"`;
const keys = (bytes) => joined(Math.floor(bytes / 16), (i) => `"k${String(i).padStart(7, '0')}":123`);
const toolsOf = (bytes) => listed('tools', joined(Math.floor(bytes / 512), (i) => `{"name":"tool_${i}","description":"${'d'.repeat(440)}","inputSchema":{"type":"object"}}`));

const REQUEST = 8 * MIB - 4096;
const ANSWER = 32 * MIB - 4096;
const LIST = 4 * MIB - 4096; // limits.maxListBytes
// By default, not with the limits that other rows move out of the way.
const single = { servers: { up: { protocolEra: 'modern' } } };
const stdio = { servers: { up: { road: 'stdio', protocolEra: 'modern' } } };
const pair = { servers: { s0: { protocolEra: 'modern' }, s1: { protocolEra: 'modern' } } };
const filtered = { ...single, config: { toolFilter: { deny: ['*_secret'] } } };
const redacted = { ...single, config: { plugins: [{ redact: { where: 'wire', patterns: ['sk-[A-Za-z0-9]{20,}'] } }] } };

const request = (inside) => (meter) => asking(meter, modern('/mcp', 'tools/call', call(inside)));
const answer = (result, method = 'tools/call', rest = call()) => async (meter) => {
  const ask = await asking(meter, modern('/mcp', method, rest));
  return () => {
    for (const server of Object.values(meter.servers)) server.on[method] = (_, say) => say.result(result());
    return ask();
  };
};
const oneFrom = (method, result) => async (meter) => {
  const ask = await asking(meter, modern('/mcp', method));
  return () => {
    for (const [at, server] of Object.values(meter.servers).entries()) server.on[method] = (_, say) => say.result(at ? listed('tools', '') : result());
    return ask();
  };
};
const ofAll = (result) => async (meter) => {
  isResult(await (await meter.connect()).ask(modern('/mcp', 'tools/list')));
  return answer(result, 'tools/call', call('', 's0__t'))(meter);
};
const legacyList = (result) => async (meter) => {
  const client = await LegacyClient.open(meter);
  return async () => {
    meter.server.on['tools/list'] = (_, say) => say.result(result());
    isResult(await client.ask('tools/list', ''));
  };
};

const kinds = [
  ['request of 8 MiB: one text', single, request(text(REQUEST))],
  ['request of 8 MiB: one text, to stdio', stdio, request(text(REQUEST))],
  ['request of 8 MiB: escapes', single, request(escapes(REQUEST))],
  ['request of 8 MiB: keys', single, request(keys(REQUEST))],
  ['request of 8 MiB: one text, redact on the wire', redacted, request(text(REQUEST))],
  ['request of 8 MiB: one text, at the aggregate', pair, async (meter) => {
    isResult(await (await meter.connect()).ask(modern('/mcp', 'tools/list')));
    return asking(meter, modern('/mcp', 'tools/call', call(text(REQUEST), 's0__t')));
  }],
  ['answer of 32 MiB: one text', single, answer(() => content('x'.repeat(ANSWER)))],
  ['answer of 32 MiB: one text, from stdio', stdio, answer(() => content('x'.repeat(ANSWER)))],
  ['answer of 32 MiB: keys', single, answer(() => `{"content":[],"structuredContent":{${keys(ANSWER)}},"resultType":"complete"}`)],
  ['answer of 8 MiB (redact.maxBytes): one text, redact on the wire', redacted, answer(() => content('x'.repeat(REQUEST)))],
  ['answer of 32 MiB: one text, at the aggregate', pair, ofAll(() => content('x'.repeat(ANSWER)))],
  ['answer of 32 MiB: keys, at the aggregate', pair, ofAll(() => `{"content":[],"structuredContent":{${keys(ANSWER)}},"resultType":"complete"}`)],
  ['answer with 4 MiB of small blocks, at the aggregate', pair, ofAll(() => `{"content":[${joined(Math.floor(LIST / 26), () => '{"type":"text","text":""}')}],"resultType":"complete"}`)],
  ['tools/list of 4 MiB', single, answer(() => toolsOf(LIST), 'tools/list', '')],
  ['tools/list of 4 MiB, toolFilter', filtered, answer(() => toolsOf(LIST), 'tools/list', '')],
  ['tools/list of 4 MiB, legacy client', single, legacyList(() => toolsOf(LIST))],
  ['tools/list of 4 MiB, at the aggregate', pair, oneFrom('tools/list', () => toolsOf(LIST))],
];

/** [{what, ms, wait}]: processor time, the least of three after one that was not counted; and the longest that another client waited, the middle one of five. */
export async function largest(only) {
  const out = [];
  for (const [what, where, at] of kinds.filter(([what]) => !only || what.includes(only))) {
    let meter;
    try {
      meter = await Meter.start(where, { cpuTime: true, env: {} });
      const work = await at(meter);
      await work();
      const costs = [];
      for (let i = 0; i < 3; ++i) costs.push(await meter.cost(work));
      const waits = [];
      for (let i = 0; i < 5; ++i) waits.push(await slowestDuring(meter, work));
      out.push({ what, ms: Math.min(...costs) / 1e6, wait: waits.toSorted((a, b) => a - b)[2] });
    } catch (error) {
      out.push({ what, why: error.message });
    }
    await meter?.close().catch(() => {});
  }
  return out;
}
