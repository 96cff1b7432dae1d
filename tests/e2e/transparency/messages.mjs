// The messages of one exchange, as templates: what Lineward may rewrite is a placeholder, everything else has to come
// out at the other end as it went in.
import { ON_ONE_LINE, WITH_LINE_ENDS } from './generate.mjs';

const ID = '\x00I\x00';
const TOKEN = '\x00T\x00';

/** The template with an id and a token in it. */
export const fill = (template, id, token) => template.replaceAll(ID, () => id).replaceAll(TOKEN, () => token);

/** Line ends between tokens cannot stand in a line: each byte of them becomes a blank. */
export const flat = (text) => text.replace(/[\r\n]/g, ' ');

const META = {
  modern: [
    ['io.modelcontextprotocol/protocolVersion', '"2026-07-28"'],
    ['io.modelcontextprotocol/clientCapabilities', '{}'],
    ['io.modelcontextprotocol/clientInfo', '{"name":"t","version":"1.0"}'],
  ],
  legacy: [],
};

// Members with a meaning, by place: unknown ones there must have other names.
const TOP = ['id', 'jsonrpc', 'method', 'params', 'result', 'error'];
const PARAMS = ['name', 'uri', '_meta', 'arguments', 'requestState', 'inputResponses', 'progressToken', 'requestId', 'level'];
const IN_META = [
  ...['progressToken', 'io.modelcontextprotocol/protocolVersion', 'io.modelcontextprotocol/subscriptionId'],
  'io.lineward/timeoutMs',
];
const RESULT = ['_meta', 'resultType', 'requestState', 'isError'];

const METHODS = [
  ...Array(6).fill('tools/call'),
  ...['prompts/get', 'resources/read', 'completion/complete', 'vendor/anything'],
];

/** `number` marks the request: it stands in it exactly once, as @number@. */
export function exchange(make, era, number) {
  const { random } = make;
  const method = random.pick(METHODS);
  const target = `@${number}@`;
  const token = random.chance(0.5) ? make.id() : undefined;
  const id = make.id();

  make.use(WITH_LINE_ENDS);
  const args = (at) => make.payload(at);
  const meta = random.shuffled([
    ...META[era],
    ...(token === undefined ? [] : [['progressToken', TOKEN]]),
    ...make.strangers(IN_META),
  ]);
  const params = random.shuffled([
    [method === 'resources/read' ? 'uri' : 'name', `"${target}"`],
    ...(random.chance(0.8) ? [['arguments', args]] : []),
    ...(meta.length ? [['_meta', (at) => make.object(meta, at)]] : []),
    ...make.strangers(PARAMS),
  ]);
  const request = make.object(
    random.shuffled([
      [random.chance(0.1) ? 'json\\u0072pc' : 'jsonrpc', '"2.0"'],
      [random.chance(0.1) ? '\\u0069d' : 'id', ID],
      [random.chance(0.1) ? 'm\\u0065thod' : 'method', random.chance(0.1) ? `"${method.replace('/', '\\/')}"` : `"${method}"`],
      [random.chance(0.1) ? 'p\\u0061rams' : 'params', (at) => make.object(params, at)],
      ...make.strangers(TOP),
    ]),
  );

  make.use(ON_ONE_LINE);
  const notifications = token === undefined ? [] : Array.from({ length: random.below(3) }, () => progress(make));
  return { number, method, target, id, token, request, notifications, ...answer(make, era) };
}

function progress(make) {
  const params = make.random.shuffled([
    ['progressToken', TOKEN],
    ['progress', make.number()],
    ...make.strangers(['progressToken', '_meta', 'uri', 'requestId', 'level', 'id']),
  ]);
  return make.object(
    make.random.shuffled([
      ['jsonrpc', '"2.0"'],
      ['method', '"notifications/progress"'],
      ['params', (at) => make.object(params, at)],
      ...make.strangers(TOP),
    ]),
  );
}

function answer(make, era) {
  const { random } = make;
  const fails = random.chance(0.15);
  const result = random.shuffled([
    ...(era === 'modern' ? [['resultType', '"complete"']] : []),
    ['content', (at) => make.array([(inner) => make.payload(inner)], at)],
    ...(random.chance(0.5) ? [['structuredContent', (at) => make.payload(at)]] : []),
    ...(random.chance(0.3) ? [['_meta', (at) => make.object(make.strangers(IN_META), at)]] : []),
    ...make.strangers(RESULT),
  ]);
  const error = random.shuffled([
    ['code', random.pick(['-32000', '-32099', '42', '-32603'])],
    ['message', make.string()],
    ['data', (at) => make.payload(at)],
    ...make.strangers(['code', 'message', 'data']),
  ]);
  const text = make.object(
    random.shuffled([
      ['jsonrpc', '"2.0"'],
      ['id', ID],
      fails ? ['error', (at) => make.object(error, at)] : ['result', (at) => make.object(result, at)],
      ...make.strangers(TOP),
    ]),
  );
  return { fails, answer: text, result: fails ? undefined : result };
}

/** A server's question and its client's answer. */
export function question(make) {
  const { random } = make;
  make.use(ON_ONE_LINE);
  const params = random.shuffled([
    ['message', make.string()],
    ['requestedSchema', (at) => make.object([['type', '"object"'], ['properties', (inner) => make.payload(inner, 60)]], at)],
    ...make.strangers(PARAMS),
  ]);
  const asks = make.object(
    random.shuffled([
      ['jsonrpc', '"2.0"'],
      ['id', ID],
      ['method', '"elicitation/create"'],
      ['params', (at) => make.object(params, at)],
      ...make.strangers(TOP),
    ]),
  );
  make.use(WITH_LINE_ENDS);
  const result = random.shuffled([['action', '"accept"'], ['content', (at) => make.payload(at)], ...make.strangers(RESULT)]);
  const says = make.object(
    random.shuffled([
      ['jsonrpc', '"2.0"'],
      ['id', ID],
      ['result', (at) => make.object(result, at)],
      ...make.strangers(TOP),
    ]),
  );
  return { id: make.id(), asks, says };
}

/** A notification of either side; `mark` stands in it once, as @mark@. */
export function notification(make, method, mark, layouts) {
  const { random } = make;
  make.use(layouts);
  const params = random.shuffled([
    ['mark', `"@${mark}@"`],
    ['data', (at) => make.payload(at)],
    ...make.strangers([...PARAMS, 'mark', 'data']),
  ]);
  return make.object(
    random.shuffled([
      ['jsonrpc', '"2.0"'],
      [random.chance(0.1) ? 'm\\u0065thod' : 'method', `"${method}"`],
      ['params', (at) => make.object(params, at)],
      ...make.strangers(TOP),
    ]),
  );
}
