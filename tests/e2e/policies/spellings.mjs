// How a client may spell what a rule forbids. Each is a function of the member's key, the forbidden value and an allowed one;
// it gives the members that stand in the parameters (or in `ref`), as text. `whole` makes of a whole message another text,
// `header` says what stands in Mcp-Name.
const q = JSON.stringify;
const hex = (text, from = 0, to = text.length) =>
  [...text].map((c, at) => (at >= from && at < to ? `\\u${c.codePointAt(0).toString(16).padStart(4, '0')}` : c)).join('');
const member = (key, value) => `${q(key)}:${value}`;
const named = (name, write, more = {}) => ({ name, write, ...more });

/** Spellings of any string, name or URI. */
const TEXTS = [
  named('plain', (k, f) => member(k, q(f))),
  named('escaped', (k, f) => member(k, `"${hex(f)}"`)),
  named('escaped letter', (k, f) => member(k, `"${hex(f, 2, 3)}"`)),
  named('escaped, upper case', (k, f) => member(k, `"${hex(f).replace(/[a-f]/g, (c) => c.toUpperCase())}"`)),
  named('escaped slashes', (k, f) => member(k, q(f).replaceAll('/', '\\/'))),
  named('escaped key', (k, f) => `"${hex(k, 1, 2)}":${q(f)}`),
  named('twice, last', (k, f, a) => `${member(k, q(a))},${member(k, q(f))}`),
  named('twice, first', (k, f, a) => `${member(k, q(f))},${member(k, q(a))}`),
  named('twice, escaped key last', (k, f, a) => `${member(k, q(a))},"${hex(k)}":${q(f)}`),
  named('twice, escaped key first', (k, f, a) => `"${hex(k)}":${q(f)},${member(k, q(a))}`),
  named('array', (k, f) => member(k, `[${q(f)}]`)),
  named('array in an array', (k, f) => member(k, `[[${q(f)}]]`)),
  named('object', (k, f) => member(k, `{"toString":${q(f)},"name":${q(f)}}`)),
  named('number, then text', (k, f) => `${member(k, '1')},${member(k, q(f))}`),
  named('__proto__', (k, f) => `"__proto__":{${member(k, q(f))}}`),
  named('beside __proto__', (k, f, a) => `${member(k, q(a))},"__proto__":{${member(k, q(f))}}`),
  named('constructor', (k, f, a) => `${member(k, q(a))},"constructor":{"prototype":{${member(k, q(f))}}}`),
  named('key in another case', (k, f) => member(k.toUpperCase(), q(f))),
  named('key in another case beside', (k, f, a) => `${member(k, q(a))},${member(k[0].toUpperCase() + k.slice(1), q(f))}`),
  named('key with a blank', (k, f, a) => `${member(k, q(a))},${member(`${k} `, q(f))}`),
  named('key with NUL', (k, f, a) => `${member(k, q(a))},"${k}\\u0000":${q(f)}`),
  named('blanks between', (k, f) => `\t${q(k)} \r\n : \n ${q(f)} `),
  named('another header', (k, f) => member(k, q(f)), { header: 'allowed' }),
  named('no header', (k, f) => member(k, q(f)), { header: 'none' }),
  named('encoded header', (k, f) => member(k, q(f)), { header: 'base64' }),
  named('parameters twice, last', (k, f) => member(k, q(f)), { whole: (text, plain) => text.replace('"params":', `"params":${plain},"params":`) }),
  named('parameters twice, first', (k, f) => member(k, q(f)), { whole: (text, plain) => text.replace(/\}$/, `,"params":${plain}}`) }),
  named('method twice', (k, f) => member(k, q(f)), { whole: (text) => text.replace('"method":', '"method":"ping","method":') }),
  named('method twice, ping last', (k, f) => member(k, q(f)), { whole: (text) => text.replace('"params":', '"method":"ping","params":') }),
  named('escaped method', (k, f) => member(k, q(f)), { whole: (text) => text.replace(/("method":"[a-z]+)\//, '$1\\u002f') }),
  named('escaped key of the method', (k, f) => member(k, q(f)), { whole: (text) => text.replace('"method":', '"m\\u0065thod":') }),
  named('escaped key of the parameters', (k, f) => member(k, q(f)), { whole: (text) => text.replace('"params":', '"par\\u0061ms":') }),
  named('batch', (k, f) => member(k, q(f)), { whole: (text) => `[${text}]` }),
  named('behind a mark of order', (k, f) => member(k, q(f)), { whole: (text) => `\ufeff${text}` }),
  named('behind another value', (k, f) => member(k, q(f)), { whole: (text) => `{} ${text}` }),
  named('an answer as well', (k, f) => member(k, q(f)), { whole: (text) => text.replace('"method":', '"result":{},"method":') }),
  named('no id', (k, f) => member(k, q(f)), { whole: (text) => text.replace(/"id":\d+,/, '') }),
];

/** Names that a server might take for the forbidden one. */
const NAMES = [
  named('blank before', (k, f) => member(k, q(` ${f}`))),
  named('NUL behind', (k, f) => member(k, `"${f}\\u0000"`)),
  named('lone surrogate', (k, f) => member(k, `"${f}\\ud800"`)),
  named('full width', (k, f) => member(k, q(f.replace('s', 'ｓ')))),
];

/** URIs that come to the same in the URL of WHATWG, which the SDKs read with. */
const uri = (name, spell) => named(name, (k, f) => member(k, q(spell(f))));
const URIS = [
  uri('scheme in capitals', (f) => f.replace('file:', 'FILE:')),
  uri('localhost', (f) => f.replace('file://', 'file://localhost')),
  uri('LOCALHOST', (f) => f.replace('file://', 'file://LOCALHOST')),
  uri('one slash', (f) => f.replace('file:///', 'file:/')),
  uri('no slash', (f) => f.replace('file:///', 'file:')),
  uri('dot segments', (f) => f.replace('/secret', '/open/../secret')),
  uri('a dot', (f) => f.replace('/secret', '/./secret')),
  uri('encoded dots', (f) => f.replace('/secret', '/open/%2e%2e/secret')),
  uri('encoded dots, upper case', (f) => f.replace('/secret', '/open/.%2E/secret')),
  uri('encoded letter', (f) => f.replace('secret', '%73ecret')),
  uri('encoded slash', (f) => f.replace('secret/', 'secret%2f')),
  uri('backslashes', (f) => f.replace('file:///', 'file:\\\\\\')),
  uri('a backslash', (f) => f.replace('secret/', 'secret\\')),
  uri('blank before', (f) => ` ${f}`),
  uri('blank behind', (f) => `${f} `),
  uri('tab within', (f) => f.replace('secret', 'sec\tret')),
  uri('line end within', (f) => f.replace('secret', 'sec\nret')),
  uri('tab in the scheme', (f) => f.replace('file:', 'fi\tle:')),
  uri('control before', (f) => `\u0001${f}`),
  uri('fragment', (f) => `${f}#part`),
  uri('query', (f) => `${f}?a=b`),
  uri('parameters', (f) => `${f};a=b`),
  uri('doubled slash', (f) => f.replace('secret/', 'secret//')),
  uri('more slashes', (f) => f.replace('file:///', 'file://///')),
];

export const SPELLINGS = { name: [...TEXTS, ...NAMES], uri: [...TEXTS, ...URIS] };
