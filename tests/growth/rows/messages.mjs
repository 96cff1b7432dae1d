// Dimensions of one message: requests and answers, on the roads that treat them differently.
import { LegacyClient, ROADS, along, answering, asking, askingAnew, clientOf, content, isError, isResult, isStatus, joined, modern, repeat, world } from '../ground.mjs';
import { chunked, meta, message, post } from '../wire.mjs';
import { setImmediate as turn } from 'node:timers/promises';

const KIB = 1024;
const call = (args) => `"name":"t","arguments":{${args}}`;
const filler = (bytes) => `"filler":"${'x'.repeat(bytes)}"`;
const nested = (levels, inside) => `{"a":`.repeat(levels) + inside + '}'.repeat(levels);
const nestedArrays = (levels, inside) => '['.repeat(levels) + inside + ']'.repeat(levels);
const http = ROADS['modern → HTTP'];

/** Rows that all roads have; at(n) gives the inside of params. */
const requests = [
  ['depth of arguments (128 KiB within)', 12, 'levels', (n) => call(`"a":${nested(n, `{${filler(128 * KIB)}}`)}`), 'flat'],
  ['depth of arrays (128 KiB within)', 12, 'levels', (n) => call(`"a":${nestedArrays(n, `{${filler(128 * KIB)}}`)}`), 'flat'],
  ['length of a string', 128 * KIB, 'bytes', (n) => call(filler(n))],
  ['keys of arguments', 2000, 'keys', (n) => call(joined(n, (i) => `"key${i}":${i}`))],
  ['one key again and again', 2000, 'keys', (n) => call(joined(n, () => `"key":1`))],
  ['elements of an array', 8000, 'elements', (n) => call(`"a":[${joined(n, (i) => i)}]`)],
  ['escapes in a string', 8000, 'escapes', (n) => call(`"a":"${'\\u00e9'.repeat(n)}"`)],
  ['escapes in a key', 4000, 'escapes', (n) => call(`"${'\\u00e9'.repeat(n)}":1`)],
  ['members of _meta', 1000, 'members', (n) => [call(''), joined(n, (i) => `"org.example/m${i}":${i}`)]],
  ['unknown members of params', 1000, 'members', (n) => `${call('')},${joined(n, (i) => `"other${i}":${i}`)}`],
  ['white space and line breaks', 64 * KIB, 'bytes', (n) => call(`"a":1${' \n'.repeat(n / 2)}`)],
];

function requestRows(road, which) {
  return which.map(([what, n, unit, at, kind]) => ({
    name: `request, ${road}: ${what}`,
    n,
    unit,
    kind,
    world: ROADS[road].world,
    at: async (meter, size) => {
      const text = at(size);
      const [params, more = ''] = Array.isArray(text) ? text : [text];
      const client = await clientOf(meter, ROADS[road].client);
      const bytes =
        ROADS[road].client === 'modern' ? client.bytes('tools/call', params, { more }) : client.bytes('tools/call', more ? `${params},"_meta":{${more}}` : params);
      return async () => isResult(await client.wire.ask(bytes));
    },
  }));
}

const textItem = (text) => `{"type":"text","text":"${text}"}`;
const done = (inside) => `{${inside ? `${inside},` : ''}"content":[{"type":"text","text":"done"}],"resultType":"complete"}`;
const answers = [
  ['depth of content (128 KiB within)', 12, 'levels', (n) => done(`"structuredContent":${nested(n, `{${filler(128 * KIB)}}`)}`), 'flat'],
  ['size', 128 * KIB, 'bytes', (n) => content('x'.repeat(n))],
  ['items of content', 1000, 'items', (n) => `{"content":[${joined(n, (i) => textItem(`item ${i}`))}],"resultType":"complete"}`],
  ['escapes in a text', 8000, 'escapes', (n) => content('\\u00e9'.repeat(n))],
  ['keys of structuredContent', 2000, 'keys', (n) => done(`"structuredContent":{${joined(n, (i) => `"key${i}":${i}`)}}`)],
  ['unknown members of the result', 1000, 'members', (n) => done(joined(n, (i) => `"other${i}":${i}`))],
  ['members of _meta', 1000, 'members', (n) => done(`"_meta":{${joined(n, (i) => `"org.example/m${i}":${i}`)}}`)],
];
const answerRows = (road, which) =>
  which.map(([what, n, unit, at, kind]) => ({
    name: `answer, ${road}: ${what}`,
    n,
    unit,
    kind,
    world: ROADS[road].world,
    at: (meter, size) => {
      const text = at(size);
      return along(meter, ROADS[road], 'tools/call', call(''), (_, say) => say.result(text));
    },
  }));

/** Rows of this front or this envelope alone. */
const heads = [
  {
    name: 'request: length of its id',
    n: 120,
    unit: 'bytes',
    at: (meter, n) => asking(meter, modern('/mcp', 'tools/call', call(''), { id: `"${'i'.repeat(n)}"` })),
  },
  {
    name: 'request: escapes in its id',
    n: 20,
    unit: 'escapes',
    at: (meter, n) => asking(meter, modern('/mcp', 'tools/call', call(''), { id: `"${'\\u00e9'.repeat(n)}"` })),
  },
  {
    name: 'request: length of an id that is too long',
    n: 128 * KIB,
    unit: 'bytes',
    at: (meter, n) => asking(meter, modern('/mcp', 'tools/call', call(''), { id: `"${'i'.repeat(n)}"` }), isStatus(400)),
  },
  {
    name: 'request: length of the name of a tool',
    n: 2 * KIB,
    unit: 'bytes',
    at: (meter, n) => asking(meter, modern('/mcp', 'tools/call', `"name":"${'t'.repeat(n)}","arguments":{}`)),
  },
  {
    name: 'request: members beside params',
    n: 1000,
    unit: 'members',
    at: (meter, n) =>
      asking(
        meter,
        post('/mcp', `{${joined(n, (i) => `"other${i}":${i}`)},${message('tools/call', `${call('')},${meta()}`).slice(1)}`, {
          headers: { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 't' },
        }),
      ),
  },
  {
    name: 'request: digits of a number',
    n: 64 * KIB,
    unit: 'digits',
    at: (meter, n) => asking(meter, modern('/mcp', 'tools/call', call(`"a":${'1'.repeat(n)}`))),
  },
  {
    name: 'request: client capabilities',
    n: 1000,
    unit: 'members',
    at: (meter, n) => asking(meter, modern('/mcp', 'tools/call', call(''), { capabilities: `{"experimental":{${joined(n, (i) => `"c${i}":{}`)}}}` })),
  },
  {
    name: 'request: broken JSON at its end',
    n: 128 * KIB,
    unit: 'bytes',
    at: (meter, n) => asking(meter, post('/mcp', `{"jsonrpc":"2.0","id":1,"method":"ping","params":{${filler(n)}`), isStatus(400)),
  },
  {
    name: 'request: brackets that are never closed',
    n: 100,
    unit: 'brackets',
    at: (meter, n) => asking(meter, post('/mcp', '[{"a":'.repeat(n)), isStatus(400)),
  },
  {
    name: 'request: header fields',
    n: 300,
    unit: 'fields',
    at: (meter, n) => askingAnew(meter, '/mcp', repeat(n, (i) => `X-Field-${i}: ${i}\r\n`).join('')),
  },
  {
    name: 'request: one header field again and again',
    n: 300,
    unit: 'fields',
    at: (meter, n) => askingAnew(meter, '/mcp', 'X-Field: 1\r\n'.repeat(n)),
  },
  {
    name: 'request: tabs in header fields',
    n: 2 * KIB,
    unit: 'tabs',
    at: (meter, n) => askingAnew(meter, '/mcp', `X-Tabs: ${'\ta'.repeat(n)}\r\n`),
  },
  {
    name: 'request: length of a header field',
    n: 16 * KIB,
    unit: 'bytes',
    at: (meter, n) => askingAnew(meter, '/mcp', `X-Long: ${'x'.repeat(n)}\r\n`),
  },
  {
    name: 'request: cookies',
    n: 500,
    unit: 'cookies',
    at: (meter, n) => askingAnew(meter, '/mcp', `Cookie: ${repeat(n, (i) => `c${i}=v${i}`).join('; ')}\r\n`),
  },
  {
    name: 'request: media types of Accept',
    n: 500,
    unit: 'types',
    at: (meter, n) => askingAnew(meter, '/mcp', `Accept: ${repeat(n, (i) => `text/x${i};q=0.1`).join(', ')}\r\n`),
  },
  {
    name: 'request: X-Forwarded-For',
    n: 500,
    unit: 'addresses',
    at: (meter, n) => askingAnew(meter, '/mcp', `X-Forwarded-For: ${repeat(n, (i) => `10.0.${i >> 8}.${i & 255}`).join(', ')}\r\n`),
  },
  {
    name: 'request: query',
    n: KIB - 20, // a target has 8 KiB at most
    unit: 'bytes',
    at: (meter, n) => asking(meter, modern(`/mcp?${'a=1&'.repeat(n / 4)}`, 'tools/call', call(''))),
  },
  {
    name: 'request: slashes at the end of the path',
    n: KIB - 20,
    unit: 'slashes',
    at: (meter, n) => asking(meter, modern(`/mcp${'/'.repeat(n)}`, 'tools/call', call('')), isStatus(200, 404)),
  },
  {
    name: 'request: path that is not there',
    n: KIB - 20,
    unit: 'bytes',
    at: (meter, n) => asking(meter, modern(`/${'p/'.repeat(n / 2)}`, 'tools/call', call('')), isStatus(404)),
  },
  {
    name: 'request: body in chunks of 16 bytes',
    n: KIB,
    unit: 'chunks',
    at: (meter, n) => asking(meter, modern('/mcp', 'tools/call', call(filler(16 * n)), { chunk: 16 })),
  },
  {
    name: 'request: body in chunks of a byte, which is refused when there were too many',
    n: 4 * KIB,
    unit: 'chunks',
    at: async (meter, n) => {
      const bytes = modern('/mcp', 'tools/call', call(filler(n)), { chunk: 1 });
      return async () => {
        const wire = await meter.connect();
        isStatus(200, 400)(await wire.ask(bytes));
        wire.close();
      };
    },
  },
  {
    name: 'request: extensions of chunks',
    n: 20,
    unit: 'chunks',
    at: (meter, n) => {
      const plain = modern('/mcp', 'tools/call', call(filler(KIB * n)), { chunk: KIB }).toString('latin1');
      return asking(meter, Buffer.from(plain.replaceAll('\r\n400\r\n', `\r\n400;${'e'.repeat(600)}\r\n`).replaceAll('\r\n400\r\n', '\r\n400;e\r\n'), 'latin1'));
    },
  },
  {
    name: 'request: body that comes piece by piece',
    n: 100,
    unit: 'pieces',
    at: async (meter, n) => {
      const wire = await meter.connect();
      const bytes = modern('/mcp', 'tools/call', call(filler(4 * KIB * n)));
      return async () => {
        for (let at = 0; at < bytes.length; at += 4 * KIB) {
          wire.send(bytes.subarray(at, at + 4 * KIB));
          await turn();
        }
        isResult(await wire.next());
      };
    },
  },
  {
    name: 'request: head that comes piece by piece',
    n: 100,
    unit: 'pieces',
    at: async (meter, n) => {
      const wire = await meter.connect();
      const bytes = modern('/mcp', 'tools/call', call(''), { head: repeat(n, (i) => `X-${i}: ${'v'.repeat(200)}\r\n`).join('') });
      return async () => {
        for (let at = 0; at < bytes.length; at += 200) {
          wire.send(bytes.subarray(at, at + 200));
          await turn();
        }
        isResult(await wire.next());
      };
    },
  },
  {
    name: 'request: pipelined requests',
    n: 50,
    unit: 'requests',
    at: async (meter, n) => {
      const wire = await meter.connect();
      const bytes = Buffer.concat(repeat(n, (i) => modern('/mcp', 'tools/call', call(''), { id: i })));
      return async () => {
        wire.send(bytes);
        for (let i = 0; i < n; ++i) isResult(await wire.next());
      };
    },
  },
  {
    name: 'request: refused ones, pipelined',
    n: 50,
    unit: 'requests',
    at: async (meter, n) => {
      const wire = await meter.connect();
      const bytes = Buffer.concat(repeat(n, (i) => post('/mcp', message('tools/call', call(''), { id: i }), { headers: { 'MCP-Protocol-Version': '1999-01-01' } })));
      return async () => {
        wire.send(bytes);
        for (let i = 0; i < n; ++i) isStatus(400)(await wire.next());
      };
    },
  },
].map((row) => ({ world: http.world, ...row }));

const answerHeads = [
  {
    name: 'answer: header fields',
    n: 20,
    unit: 'fields',
    at: async (meter, n) => {
      const ask = await asking(meter, modern('/mcp', 'tools/call', call('')));
      return () => {
        meter.server.extraHead = repeat(n, (i) => `X-Field-${i}: ${i}\r\n`).join('');
        return ask().finally(() => (meter.server.extraHead = ''));
      };
    },
  },
  {
    name: 'answer: body in chunks of a byte',
    n: 4 * KIB,
    unit: 'chunks',
    at: (meter, n) =>
      answering(
        meter,
        'tools/call',
        ({ id }, say) => {
          const text = `{"jsonrpc":"2.0","id":${id},"result":${content('x'.repeat(n))}}`;
          say.raw('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n');
          say.raw(chunked(Buffer.from(text), 1));
        },
        modern('/mcp', 'tools/call', call('')),
      ),
  },
  {
    name: 'answer: error with much in it',
    n: 128 * KIB,
    unit: 'bytes',
    at: (meter, n) =>
      answering(meter, 'tools/call', (_, say) => say.error(`{"code":-32000,"message":"no","data":{${filler(n)}}}`), modern('/mcp', 'tools/call', call('')), isError),
  },
  {
    name: 'answer: length of the message of an error',
    n: 128 * KIB,
    unit: 'bytes',
    at: (meter, n) =>
      answering(meter, 'tools/call', (_, say) => say.error(`{"code":-32000,"message":"${'m'.repeat(n)}"}`), modern('/mcp', 'tools/call', call('')), isError),
  },
].map((row) => ({ world: http.world, ...row }));

const legacyHttp = world({ era: '2025-03-26' });
const batches = [
  {
    name: 'batch of 2025-03-26: its calls',
    n: 12,
    unit: 'calls',
    world: legacyHttp,
    at: async (meter, n) => {
      const client = await LegacyClient.open(meter, { revision: '2025-03-26' });
      const bytes = client.raw(`[${joined(n, (i) => message('tools/call', call(''), { id: i }))}]`);
      return async () => isResult(await client.wire.ask(bytes));
    },
  },
  {
    name: 'batch of 2025-03-26: its notifications',
    n: 12,
    unit: 'notifications',
    world: legacyHttp,
    at: async (meter, n) => {
      const client = await LegacyClient.open(meter, { revision: '2025-03-26' });
      const bytes = client.raw(`[${joined(n, (i) => message('notifications/cancelled', `"requestId":${i}`, { id: null }))}]`);
      return async () => isStatus(202)(await client.wire.ask(bytes));
    },
  },
  {
    name: 'batch of 2025-03-26: size of its calls (8 of them)',
    n: 32 * KIB,
    unit: 'bytes each',
    world: legacyHttp,
    at: async (meter, n) => {
      const client = await LegacyClient.open(meter, { revision: '2025-03-26' });
      const bytes = client.raw(`[${joined(8, (i) => message('tools/call', call(filler(n)), { id: i }))}]`);
      return async () => isResult(await client.wire.ask(bytes));
    },
  },
];

const pick = (rows, ...names) => rows.filter(([what]) => names.some((name) => what.startsWith(name)));
const some = ['depth', 'length', 'members of _meta', 'keys of', 'escapes in a string'];
const fewer = ['depth', 'size', 'items', 'members of _meta', 'unknown'];

export const rows = [
  ...requestRows('modern → HTTP', requests),
  ...heads,
  ...answerRows('modern → HTTP', answers),
  ...answerHeads,
  ...requestRows('modern → stdio', pick(requests, ...some, 'white space')),
  ...answerRows('modern → stdio', answers),
  ...requestRows('modern → legacy HTTP', pick(requests, ...some)),
  ...answerRows('modern → legacy HTTP', answers),
  ...requestRows('modern → legacy stdio', pick(requests, 'members of _meta', 'keys of')),
  ...answerRows('modern → legacy stdio', pick(answers, ...fewer)),
  ...requestRows('modern → HTTP+SSE', pick(requests, 'length')),
  ...answerRows('modern → HTTP+SSE', pick(answers, 'size', 'depth')),
  ...requestRows('legacy → HTTP', pick(requests, ...some)),
  ...answerRows('legacy → HTTP', answers),
  ...requestRows('legacy → legacy HTTP', pick(requests, ...some)),
  ...answerRows('legacy → legacy HTTP', pick(answers, ...fewer)),
  ...answerRows('legacy → legacy stdio', pick(answers, ...fewer)),
  ...batches,
];
