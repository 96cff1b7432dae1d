// Dimensions of what a client says on stdin, where Lineward is its stdio server.
import { WIDE, message, repeat } from '../ground.mjs';
import { content, meta } from '../wire.mjs';

const KIB = 1024;
const front = {
  front: 'stdio',
  servers: { up: { era: 'modern', protocolEra: 'modern', limits: { maxInFlight: 100000, maxQueue: 100000 } } },
  config: { ...WIDE },
};
const call = (id, args = '', name = 't') => `${message('tools/call', `"name":"${name}","arguments":{${args}},${meta()}`, { id })}\n`;
const cancel = (id) => `${message('notifications/cancelled', `"requestId":${id}`, { id: null })}\n`;

let number = 0; // of requests, none of which has the id of another
const asked = (name, n, unit, of, kind) => ({
  name: `stdio front: ${name}`,
  n,
  unit,
  kind,
  world: front,
  at: (meter, size) => async () => {
    const answered = meter.front.lines(1);
    meter.front.send(of(size, ++number));
    await answered;
  },
});
const isHanging = ({ text }) => text.includes('"hang"', 0, 'latin1');
const hangs = (meter) => (meter.server.on['tools/call'] = (message, say) => (isHanging(message) ? undefined : say.result(content())));
const heard = async (meter, count) => {
  while (meter.server.heard < count) await new Promise((turn) => setImmediate(turn));
};

export const rows = [
  asked('length of a line', 128 * KIB, 'bytes', (n, id) => call(id, `"a":"${'x'.repeat(n)}"`)),
  asked('depth of arguments (128 KiB within)', 12, 'levels', (n, id) => call(id, `"a":${'{"a":'.repeat(n)}{"filler":"${'x'.repeat(128 * KIB)}"}${'}'.repeat(n)}`), 'flat'),
  asked('escapes of an id', 20, 'escapes', (n, id) => call(`"${'\\u00e9'.repeat(n)}${id}"`)),
  asked('empty lines', 2000, 'lines', (n, id) => '\n'.repeat(n) + call(id)),
  {
    name: 'stdio front: requests at once',
    n: 50,
    unit: 'requests',
    world: front,
    at: (meter, n) => async () => {
      const answered = meter.front.lines(n);
      meter.front.send(repeat(n, () => call(++number)).join(''));
      await answered;
    },
  },
  {
    name: 'stdio front: lines that are no messages',
    n: 50,
    unit: 'lines',
    world: front,
    at: (meter, n) => async () => {
      const answered = meter.front.lines(n);
      meter.front.send('no message\n'.repeat(n));
      await answered;
    },
  },
  {
    name: 'stdio front: calls that are cancelled',
    n: 25,
    unit: 'calls',
    world: front,
    at: (meter, n) => async () => {
      hangs(meter);
      const from = meter.server.heard ?? 0;
      const ids = repeat(n, () => ++number);
      meter.front.send(ids.map((id) => call(id, '', 'hang')).join(''));
      await heard(meter, from + n);
      meter.front.send(ids.map(cancel).join(''));
      const answered = meter.front.lines(1);
      meter.front.send(call(++number));
      await answered;
    },
  },
  {
    name: 'stdio front: calls in flight, beside 100 cancels of none of them',
    n: 50,
    unit: 'calls',
    kind: 'flat',
    inOrder: true,
    world: front,
    at: async (meter, n, added) => {
      hangs(meter);
      const from = meter.server.heard ?? 0;
      meter.front.send(repeat(added, () => call(`"${'h'.repeat(900)}${++number}"`, '', 'hang')).join(''));
      await heard(meter, from + added);
      return async () => {
        const answered = meter.front.lines(1);
        meter.front.send(repeat(100, (i) => cancel(1000000000 + i)).join('') + call(++number));
        await answered;
      };
    },
  },
];
