// JSON texts that are legal and unusual, from a seed. Texts are latin1 strings: one character is one byte.

/** mulberry32: the same seed gives the same messages everywhere. */
export function randomFrom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n) => Math.floor(next() * n);
  return {
    below,
    chance: (share) => next() < share,
    pick: (list) => list[below(list.length)],
    shuffled(list) {
      const copy = [...list];
      for (let i = copy.length - 1; i > 0; i--) {
        const j = below(i + 1);
        [copy[i], copy[j]] = [copy[j], copy[i]];
      }
      return copy;
    },
  };
}

const bytes = (text) => Buffer.from(text, 'utf8').toString('latin1');

const NUMBERS = [
  ...['0', '-0', '1', '-1', '1.0', '1.10', '-0.0', '0.1e-400', '1e400', '-1E+400', '1e2', '1E2', '1E+2', '1e-7', '100e-2'],
  ...['123456789012345678901234567890', '-987654321098765432109876543210', '9007199254740993', '18446744073709551616'],
  ...['0.1000000000000000055511151231257827', '3.141592653589793238462643383279502884197', '4e-0', '5e+00'],
];

// The bytes between the quotes.
const PIECES = [
  ...['', 'a', 'plain text', '\\/', '/', '\\u0041', '\\u0000', '\\u001f', '\\b\\f\\n\\r\\t', '\\"', '\\\\', '\\\\\\"'],
  ...['\\ud800', '\\udfff', '\\udc00\\ud800', '\\uD83D\\uDE00', '\\ud83dx', '\\u00e9', '\\u2028\\u2029', '\\u002f'],
  ...['\x7f', 'é', '\u2028', '\u2029', '\ufeff', '\u{1f600}', '\ufffd', '\u{10ffff}', 'e\u0301'].map(bytes),
  ...['{\\"id\\":1}', '\\"progressToken\\":7', 'data: x', '\\n\\ndata: {}', 'id: 9', ': comment', '}{', '],[', '//', '/* */'],
];

// Names that mean something where they belong.
const OURS = [
  ...['id', 'jsonrpc', 'method', 'params', 'result', 'error', 'code', '_meta', 'name', 'uri', 'progressToken', 'requestId'],
  ...['io.modelcontextprotocol/protocolVersion', 'io.modelcontextprotocol/subscriptionId', 'io.lineward/timeoutMs'],
  ...['\\u0069d', 'p\\u0061rams', '\\u005fmeta', 'progress\\u0054oken', 'requestState', 'inputResponses', 'resultType'],
];
const UNKNOWN = ['', 'x', 'X', 'Ids', 'IDs', 'vendor/key', '\\u0078', bytes('ключ'), '\\ud800', '__proto__', 'constructor', 'a b', '\\/'];

/** How a text is laid out: what stands between its tokens. */
const LAYOUTS = {
  compact: () => '',
  spaced: (random) => ' '.repeat(random.below(3)),
  tabs: (random) => '\t'.repeat(random.below(2)),
  lines: (random, depth) => `\n${'  '.repeat(depth)}`,
  crlf: (random, depth) => `\r\n${'    '.repeat(depth)}`,
  wild: (random) => random.pick(['', ' ', '\n', '\r', '\r\n', '\t', ' \r\n\t ', '\n\n']),
  cr: (random) => random.pick(['', '', ' ', '\r']),
};
export const WITH_LINE_ENDS = Object.keys(LAYOUTS).filter((name) => name !== 'cr');
export const ON_ONE_LINE = ['compact', 'spaced', 'tabs', 'cr'];

export class Generator {
  constructor(random) {
    this.random = random;
    this.layout = LAYOUTS.compact;
  }

  use(layouts) {
    this.layout = LAYOUTS[this.random.pick(layouts)];
  }

  gap(depth) {
    return this.layout(this.random, Math.min(depth, 12));
  }

  /** An object of [key bytes, value] pairs, in this order; a value is a text, or a function of its depth. */
  object(pairs, depth = 0) {
    if (!pairs.length) return `{${this.gap(depth)}}`;
    const inner = pairs.map(([key, value]) => {
      const text = typeof value === 'function' ? value(depth + 1) : value;
      return `${this.gap(depth + 1)}"${key}"${this.gap(0)}:${this.gap(0)}${text}`;
    });
    return `{${inner.join(',')}${this.gap(depth)}}`;
  }

  array(values, depth = 0) {
    if (!values.length) return `[${this.gap(depth)}]`;
    const inner = values.map((value) => this.gap(depth + 1) + (typeof value === 'function' ? value(depth + 1) : value));
    return `[${inner.join(',')}${this.gap(depth)}]`;
  }

  string() {
    const { random } = this;
    return `"${Array.from({ length: random.below(4) }, () => random.pick(PIECES)).join('')}"`;
  }

  number() {
    return this.random.pick(NUMBERS);
  }

  /** A request's id or a progress token: any number or string. */
  id() {
    const { random } = this;
    const strings = ['"1"', '"\\u0041\\/"', '"listen:0"', '"\\ud800"', '"id"', `"${bytes('ид')}"`, '""', '"{"'];
    return random.pick([
      ...['1', '1.0', '0', '-1', '123456789012345678901234567890'],
      ...strings,
      String(random.below(1000)),
    ]);
  }

  /** Any value; keys that look like ours, and keys that stand twice, are everywhere in it. */
  value(depth = 0, room = 4) {
    const { random } = this;
    const kind = random.below(room > 0 ? 8 : 5);
    if (kind < 2) return this.string();
    if (kind < 4) return this.number();
    if (kind === 4) return random.pick(['true', 'false', 'null', '{}', '[]']);
    const size = random.below(5);
    if (kind === 5) return this.array(Array.from({ length: size }, () => (at) => this.value(at, room - 1)), depth);
    const keys = Array.from({ length: size }, () => random.pick(random.chance(0.6) ? OURS : UNKNOWN));
    if (size > 1 && random.chance(0.4)) keys[size - 1] = keys[0];
    return this.object(
      keys.map((key) => [key, (at) => this.value(at, room - 1)]),
      depth,
    );
  }

  /** A value in that many objects and arrays. */
  nested(levels) {
    const { random } = this;
    let text = this.number();
    for (let i = 0; i < levels; i++) text = random.chance(0.5) ? `[${text}]` : `{"${random.pick(OURS)}":${text}}`;
    return text;
  }

  /** An object as a tool's arguments or the data of an error. */
  payload(depth, deepest = 95) {
    const { random } = this;
    const pairs = Array.from({ length: 1 + random.below(4) }, () => [
      random.pick(random.chance(0.5) ? OURS : UNKNOWN),
      (at) => this.value(at),
    ]);
    if (random.chance(0.1)) pairs.push(['deep', this.nested(1 + random.below(deepest))]);
    return this.object(pairs, depth);
  }

  /** Unknown members, some twice, for an object in which `known` have a meaning. */
  strangers(known) {
    const { random } = this;
    const free = [...UNKNOWN, ...OURS.filter((key) => !known.includes(JSON.parse(`"${key}"`)))];
    const keys = [...new Set(Array.from({ length: random.below(3) }, () => random.pick(free)))];
    // Only what no message knows may stand twice here: anything else might be read in two ways.
    if (random.chance(0.2)) keys.push(...Array(2).fill(random.pick(UNKNOWN)));
    return keys.map((key) => [key, (at) => this.value(at, 2)]);
  }
}
