// The messages that the two callers of a round must get, by the "expected" column of
// tests/data/stdio-lines/index.tsv.
import { answersTwo, late, substitute } from './lines.mjs';
import { isUtf8, raw, shown } from './raw-json.mjs';

const trimmed = (message) => message.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '').replaceAll('\r', ' ');

/** The messages of the file, those of a batch one by one, before anything is put in. */
const messagesOf = (text) =>
  text
    .replace(/^\xef\xbb\xbf/, '')
    .replace(/^\[(.*)\]\n$/, '$1')
    .replace('},{"jsonrpc"', '}\n{"jsonrpc"')
    .split('\n')
    .map(trimmed)
    .filter((line) => line.startsWith('{'));

/** Messages to one caller, under that caller's own id and token. */
function messagesFor(text, ids, which) {
  const isFor = (message) => {
    if (raw(message, 'method') === undefined) return raw(message, 'id') === (which === 'a' ? '1' : '2');
    return which === 'a' && raw(message, 'params', 'progressToken') === '"{TOKEN}"';
  };
  // Lineward's own number may come back as a text.
  return messagesOf(text)
    .map((message) => message.replace('"id":"1"', '"id":1'))
    .filter(isFor)
    .map((message) => substitute(message, ids));
}

/**
 * The possible answers for a caller: a list of alternatives, each "late" (the line was not for it), "error" or
 * the messages.
 *
 * @param row {file, expected}
 * @param ids {file, id, id2, token} of the callers
 * @param which 'a', the caller of `write`, or 'b', its neighbour
 */
export function allowed(row, text, ids, which) {
  const ends = !text.endsWith('\n');
  if (which === 'b' && !ends && !answersTwo(text)) return ['late'];
  const messages = messagesFor(text, ids, which);
  const answers = messages.filter((message) => raw(message, 'method') === undefined);
  switch (row.expected) {
    case 'deliver':
    case 'drop-line':
    case 'answer-child':
      return [answers.length ? messages : 'late'];
    case 'deliver-first':
      return [messages.slice(0, 1)];
    case 'error':
      return ['error'];
    case 'either':
      if (row.file.startsWith('noise-')) return [messages, 'late', 'error'];
      return [messages, 'error']; // it is answered, one way or the other
    default:
      throw new Error(`index.tsv expects ${row.expected}`);
  }
}

function isError(message, id) {
  const code = raw(message, 'error', 'code');
  if (raw(message, 'id') !== id || raw(message, 'result') !== undefined) return false;
  if (code === '-32603') return true;
  const reason = raw(message, 'error', 'data', 'io.lineward/gateway', 'reason');
  return code === '502' && ['"upstream_protocol"', '"upstream_exited"'].includes(reason);
}

const same = (got, expected) => got.length === expected.length && got.every((one, i) => one === expected[i]);

/**
 * The fault of an answer, in words.
 *
 * @param got {status, body, messages} of the answer; messages without those that the caller of this knows of
 */
export function checkAnswer(who, got, alternatives, id) {
  const wrong = [];
  if (got.status !== 200) wrong.push(`${who}: status ${got.status}, expected 200`);
  if (!isUtf8(got.body)) wrong.push(`${who}: invalid UTF-8 in the answer: ${shown(got.body)}`);
  const messages = got.messages.map(trimmed);
  const fits = (alternative) => {
    if (alternative === 'late') return same(messages, [late(id)]);
    if (alternative === 'error') return messages.length === 1 && isError(messages[0], id);
    return same(messages, alternative);
  };
  if (!alternatives.some(fits)) {
    const names = alternatives.map((one) => (typeof one === 'string' ? one : one.map(shown).join(' + ')));
    const what = same(messages, [late(id)]) ? 'nothing, until the server answered it again ("late")' : '';
    const came = what || messages.map(shown).join(' + ');
    wrong.push(`${who}:\n      got      ${came}\n      expected ${names.join(' or ')}`);
  }
  return wrong;
}
