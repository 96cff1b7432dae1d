// The files of tests/data/stdio-lines: written for the ids 1 and 2 and the token {TOKEN}, read as latin1.

/** A demand of text-crlf-injection.out: text that would end an event, if it got there unescaped. */
const INJECTION = '\\r\\n\\r\\ndata: x';

/**
 * The bytes with these in place of 1, 2 and {TOKEN}; all are raw JSON. The answer to id 2 says "two", so that the
 * two answers differ.
 */
export function substitute(text, { file, id, id2, token }) {
  let out = text.replace(/("id":2,[^\n]*?"text":")ok"/g, '$1two"');
  if (file.startsWith('text-crlf')) out = out.replace('"text":"ok"', () => `"text":"${INJECTION}"`);
  return out
    .replace(/"id":([12])(?=[,}])/g, (_, which) => `"id":${which === '1' ? id : id2}`)
    .replace(/"id":"1"/g, () => `"id":"${id}"`)
    .replace(/"id":\{1 \+ 2\^64\}/g, () => `"id":${/^\d+$/.test(id) ? BigInt(id) + 2n ** 64n : id}`)
    .replace(/"\{TOKEN\}"/g, () => token);
}

/** Does the file answer two calls? */
export const answersTwo = (text) => /"id":2[,}]/.test(text);

export const late = (id) =>
  `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","content":[{"type":"text","text":"late"}]}}`;

export const done = (id) =>
  `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}}`;

export const CHANGED = 'notifications/tools/list_changed';
export const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

/** The last message of a round on a client's listen (with its id there) or GET stream (without). */
export const marker = (id) =>
  id === undefined
    ? '{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{"_meta":{"round":"over"}}}'
    : `{"jsonrpc":"2.0","method":"${CHANGED}","params":{"_meta":{"${SUBSCRIPTION}":${id},"round":"over"}}}`;

export const acknowledgement = (id) =>
  `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"${SUBSCRIPTION}":${id}}}}`;
