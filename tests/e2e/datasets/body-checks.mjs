// The conditions for one request of tests/data/mcp-bodies and its answer. Each check returns what is wrong, in words.
import { argumentsOf, echoed, errorWith } from './fake-answers.mjs';
import { isUtf8, raw, replaced, shown } from './raw-json.mjs';

const BOM = '\xef\xbb\xbf';
const TOKEN = ['params', '_meta', 'progressToken'];

const differ = (what, got, expected) =>
  got === expected ? [] : [`${what}:\n      got      ${shown(String(got))}\n      expected ${shown(String(expected))}`];

/** The body as one line: what stands between tokens may only become blanks. */
export const oneLine = (body) => body.replace(BOM, '').replace(/[\r\n]/g, ' ');

/** The line that reached the server must be the body with Lineward's own integers for the id and the progress token. */
export function checkLine(body, line) {
  const id = raw(line, 'id');
  if (!/^\d+$/.test(id)) return [`the server got a line without an id of Lineward's own: ${shown(line)}`];
  let expected = replaced(oneLine(body), id, 'id');
  if (raw(body, ...TOKEN) === undefined) return differ('the line the server got', line, expected);
  const token = raw(line, ...TOKEN);
  if (!/^\d+$/.test(token)) return [`the progress token is not Lineward's own: ${shown(line)}`];
  expected = replaced(expected, token, ...TOKEN);
  return differ('the line the server got', line, expected);
}

/** The answer that fake-server.mjs gives, under the client's own id. */
function expectedAnswer(body) {
  const line = oneLine(body);
  const id = raw(line, 'id');
  const method = JSON.parse(raw(line, 'method'));
  if (method !== 'tools/call') return method === 'server/discover' ? undefined : errorWith(id, -32601);
  return echoed(id, JSON.parse(raw(line, 'params', 'name')), argumentsOf(line));
}

// Before the first call of a tool Lineward asks a modern server for its tools: their annotations say which headers to
// check.
const isOwn = (body, line) => raw(line, 'method') === '"tools/list"' && raw(oneLine(body), 'method') === '"tools/call"';

function checkAccepted(body, answer, all) {
  const reached = all.filter((line) => !isOwn(body, line));
  const message = answer.messages.items.at(-1) ?? '';
  const wrong = differ('id', raw(message, 'id'), raw(oneLine(body), 'id'));
  if (raw(message, 'result') === undefined) wrong.push(`no result: ${shown(message)}`);
  const expected = expectedAnswer(body);
  if (expected) wrong.push(...differ('the answer', message, expected));
  if (answer.messages.items.length !== 1) wrong.push(`${answer.messages.items.length} messages: ${shown(answer.body)}`);
  if (reached.length !== 1) wrong.push(`${reached.length} lines reached the server: ${shown(reached.join(' | '))}`);
  else wrong.push(...checkLine(body, reached[0]));
  return wrong;
}

/** An error belongs to the request's own id, or to none where that could not be read for certain. */
function checkErrorId(body, message) {
  const id = raw(message, 'id');
  if (id === undefined || id === 'null') return [];
  const own = raw(oneLine(body), 'id');
  const twice = body.match(/"id":/g)?.length > 1;
  return id === own && !twice ? [] : [`the error names the id ${shown(id)}: ${shown(message)}`];
}

function checkRefused(row, body, answer, reached) {
  const message = answer.messages.items.at(-1) ?? '';
  const code = raw(message, 'error', 'code');
  const wrong = [];
  if (row.jsonrpc_code !== '-' && !row.jsonrpc_code.split(',').includes(code)) {
    wrong.push(`code ${code}, expected ${row.jsonrpc_code}: ${shown(answer.body)}`);
  }
  if (raw(message, 'result') !== undefined) wrong.push(`a result: ${shown(message)}`);
  if (message) wrong.push(...checkErrorId(body, message));
  // Only what a server may refuse itself may have reached it.
  if (code === '-32601') reached.forEach((line) => wrong.push(...checkLine(body, line)));
  else if (reached.length) wrong.push(`it reached the server: ${shown(reached.join(' | '))}`);
  return wrong;
}

/**
 * @param row the row of index.tsv, or one made like it
 * @param answer the whole answer
 * @param reached the lines that the server got between the request and its answer
 */
export function checkBody(row, body, answer, reached) {
  const wrong = [];
  const { status } = answer;
  if (!row.http_status.split(',').includes(String(status))) {
    wrong.push(`status ${status}, expected ${row.http_status}: ${shown(answer.body)}`);
  }
  if (!isUtf8(answer.body)) wrong.push(`invalid UTF-8 in the answer: ${shown(answer.body)}`);
  const refused = status >= 400 || raw(answer.messages.items.at(-1) ?? '', 'error') !== undefined;
  if (refused) return [...wrong, ...checkRefused(row, body, answer, reached)];
  if (status !== 202) return [...wrong, ...checkAccepted(body, answer, reached)];
  if (answer.body) wrong.push(`202 with a body: ${shown(answer.body)}`);
  if (reached.length) wrong.push(`it reached the server: ${shown(reached.join(' | '))}`);
  return wrong;
}
