// The rows of the matrix. Each check gets {party, record, server} and throws when its feature does not work. It may
// return the key of the note that has the reason for fewer checks in this cell.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { Inbox } from '../lib/events.mjs';
import { releaseFile } from '../fixtures/running.mjs';
import { textOf } from '../lib/target.mjs';

const LOG_MS = 5_000; // a line comes before its call's answer or right after it, if it comes
const WATCHED = 'test://watched-resource';
const [TOOLS_CHANGED, UPDATED, LOG, COMPLETE] = [
  'notifications/tools/list_changed',
  'notifications/resources/updated',
  'notifications/message',
  'notifications/elicitation/complete',
];

/** The notes of cells that cannot work, by key. */
export const NOTES = {
  completion:
    'notifications/elicitation/complete is unknown to 2026-07-28. Checked instead: the user is sent to the page, the ' +
    'server gets the answer and the call ends; no such notification reaches the client, no elicitationId a modern one.',
  alone: 'In 2026-07-28 a log line goes with a call. Checked: with the call it arrives.',
  roots:
    '2026-07-28 has no notifications/roots/list_changed. Checked instead: the server hears none, and its next ' +
    'roots/list gets the roots of that moment.',
};

async function tools({ party, server }) {
  assert.equal(party.client.getServerVersion().name, `lineward-fixture-${server.era}`);
  const { tools: list } = await party.client.listTools();
  const contact = list.find(({ name }) => name === 'json_schema_2020_12_tool');
  assert.equal(contact.inputSchema.properties.address.$ref, '#/$defs/address');
  const value = { text: 'Zürich ☃ 🂡', list: [1, null, { deep: true }] };
  assert.deepEqual(JSON.parse(textOf(await party.call('test_echo', { value }))).value, value);
  assert.equal((await party.call('test_error_handling')).isError, true);
  await assert.rejects(party.call('no_such_tool'), { code: -32602 });
}

async function progress({ party, record }) {
  const steps = new Inbox();
  let ended = false;
  const held = party.call('test_hold', { steps: 5, tag: 'held' }, { onprogress: (step) => steps.put(step) });
  const outcome = held.finally(() => (ended = true));
  outcome.catch(() => {});
  await steps.count(5, 'five progress notifications of a call that goes on');
  assert.equal(ended, false);
  writeFileSync(releaseFile(record.env.FIXTURE_LOG, 'held'), '');
  assert.equal(textOf(await outcome), 'held');
  assert.deepEqual(
    steps.items.map(({ progress: at, total, message }) => [at, total, message]),
    [1, 2, 3, 4, 5].map((n) => [n, 5, `held ${n}`]),
  );
}

/** Sets what the client answers for one call, and gives back what it was asked meanwhile. */
async function asking(party, answers, run) {
  const before = party.asked.length;
  party.answers = answers;
  try {
    const result = await run();
    return { result, asked: party.asked.slice(before) };
  } finally {
    party.answers = {};
  }
}

async function form({ party }) {
  const content = { username: 'Ada ☃', email: 'ada@example.org' };
  const { result, asked } = await asking(
    party,
    { 'elicitation/create': () => ({ action: 'accept', content }) },
    () => party.call('test_elicitation', { message: 'Who are you?' }),
  );
  assert.equal(textOf(result), `User response: action=accept, content=${JSON.stringify(content)}`);
  assert.equal(asked.length, 1);
  assert.equal(asked[0].params.message, 'Who are you?');
  assert.deepEqual(Object.keys(asked[0].params.requestedSchema.properties), ['username', 'email']);
  const declined = await asking(party, { 'elicitation/create': () => ({ action: 'decline' }) }, () =>
    party.call('test_elicitation', { message: 'And now?' }),
  );
  assert.match(textOf(declined.result), /action=decline/);
}

async function visit(party, action) {
  const url = `https://login.example.org/${action}?state=a%20b`;
  const { result, asked } = await asking(party, { 'elicitation/create': () => ({ action }) }, () =>
    party.call('test_elicitation_url', { url }),
  );
  assert.equal(textOf(result), `The user answered ${action}`);
  assert.equal(asked.length, 1);
  const { mode, message, url: seen, elicitationId } = asked[0].params;
  assert.deepEqual({ mode, message, seen }, { mode: 'url', message: 'Please sign in', seen: url });
  if (party.era === 'legacy') assert.match(elicitationId, /./);
  else assert.equal(elicitationId, undefined);
  return elicitationId;
}

async function url({ party }) {
  await visit(party, 'accept');
  await visit(party, 'decline');
}

/** The server says that the page was finished; the client hears it with the id of the question. */
async function completed({ party, server }) {
  const mark = party.mark();
  const elicitationId = await visit(party, 'accept');
  if (party.era === 'legacy' && server.era === 'legacy') {
    const ids = () => party.since(mark, COMPLETE).map(({ params }) => params.elicitationId);
    await party.news.when(() => (ids().includes(elicitationId) ? true : undefined), COMPLETE);
    return undefined;
  }
  await party.call('test_echo'); // what the server said before is here by now
  assert.deepEqual(party.since(mark, COMPLETE), []);
  return 'completion';
}

async function sampling({ party }) {
  const reply = { role: 'assistant', model: 'test-model', content: { type: 'text', text: 'Paris, naturally' } };
  const { result, asked } = await asking(party, { 'sampling/createMessage': () => reply }, () =>
    party.call('test_sampling', { prompt: 'The capital of France?' }),
  );
  assert.equal(textOf(result), 'LLM response: Paris, naturally');
  assert.equal(asked.length, 1);
  const [message] = asked[0].params.messages;
  assert.equal(textOf({ content: [message.content].flat() }), 'The capital of France?');
  assert.equal(asked[0].params.maxTokens, 100);
}

async function rootsAre(party, uri) {
  const { result, asked } = await asking(party, { 'roots/list': () => ({ roots: [{ uri, name: 'here' }] }) }, () =>
    party.call('test_input_required_result_list_roots'),
  );
  assert.equal(textOf(result), `Roots: ${uri}`);
  assert.equal(asked.length, 1);
}

const roots = ({ party }) => rootsAre(party, 'file:///home/ada');

async function rootsChanged({ party, server, record }) {
  await rootsAre(party, 'file:///old');
  // SDK 2.x refuses to send in 2026-07-28 what that revision does not have.
  if (party.era === 'modern') await assert.rejects(party.client.sendRootsListChanged(), /roots\/list_changed/);
  else await party.client.sendRootsListChanged();
  const crosses = party.era === 'legacy' && server.era === 'legacy';
  if (crosses) await record.until({ event: 'roots', tag: 'changed' });
  await rootsAre(party, 'file:///new');
  assert.equal(record.events.filter(({ event }) => event === 'roots').length, crosses ? 1 : 0);
  return crosses ? undefined : 'roots';
}

const toolsChange = async (party) => {
  const mark = party.mark();
  await party.call('test_trigger_tool_change');
  await party.newsOf(mark, TOOLS_CHANGED);
};

async function subscription({ party }) {
  const stop = await party.watchTools();
  const start = party.mark();
  await party.call('test_touch_resource'); // no subscription: sends nothing
  const unsubscribe = await party.watch(WATCHED);
  const mark = party.mark();
  await party.call('test_touch_resource');
  assert.equal((await party.newsOf(mark, UPDATED)).params.uri, WATCHED);
  await unsubscribe();
  await party.call('test_touch_resource'); // as little
  await toolsChange(party); // what came before it is here by now
  assert.equal(party.since(start, UPDATED).length, 1);
  await stop();
}

async function listChanged({ party }) {
  const names = async () => (await party.client.listTools()).tools.map(({ name }) => name);
  const stop = await party.watchTools();
  const before = await names();
  await toolsChange(party);
  const after = await names();
  assert.equal(Math.abs(after.length - before.length), 1);
  assert.notEqual(after.includes('test_simple_text_again'), before.includes('test_simple_text_again'));
  await stop();
}

async function log({ party }) {
  const mark = party.mark();
  await party.setLevel('error');
  await party.call('test_tool_with_logging');
  await party.setLevel('info');
  await party.call('test_tool_with_logging');
  await party.news.when(() => (party.since(mark, LOG).length >= 3 ? true : undefined), 'three log lines', LOG_MS);
  assert.deepEqual(
    party.since(mark, LOG).map(({ params }) => [params.level, params.data]),
    ['started', 'processing', 'completed'].map((what) => [
      'info',
      what === 'processing' ? 'Tool processing data' : `Tool execution ${what}`,
    ]),
  );
}

/** A line that names no call, as servers of SDK 1.x send them: it goes to the call it can only belong to. */
async function logAlone({ party, server }) {
  const mark = party.mark();
  await party.setLevel('error');
  await party.call('test_log_alone');
  await party.setLevel('info');
  await party.call('test_log_alone');
  assert.equal((await party.newsOf(mark, LOG, 'a log line', LOG_MS)).params.data, 'A line on its own');
  assert.equal(party.since(mark, LOG).length, 1);
  return server.era === 'legacy' ? undefined : 'alone';
}

async function cancel({ party, record }) {
  const abort = new AbortController();
  const outcome = assert.rejects(party.call('test_wait', { tag: 'cut' }, { signal: abort.signal }));
  await record.until({ event: 'started', tag: 'cut' });
  const meanwhile = party.call('test_sleep', { ms: 100, tag: 'goes on' });
  abort.abort('changed my mind');
  await Promise.all([outcome, record.until({ event: 'aborted', tag: 'cut' })]);
  assert.equal(textOf(await meanwhile), 'goes on');
}

async function completion({ party }) {
  const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
  const { completion: found } = await party.client.complete({ ref, argument: { name: 'arg1', value: 'pa' } });
  assert.deepEqual(found.values, ['paris', 'park', 'party']);
}

async function prompt({ party }) {
  const { prompts } = await party.client.listPrompts();
  assert.ok(prompts.some(({ name }) => name === 'test_prompt_with_arguments'));
  const given = { arg1: 'ä', arg2: '☃' };
  const { messages } = await party.client.getPrompt({ name: 'test_prompt_with_arguments', arguments: given });
  assert.equal(messages[0].content.text, "Prompt with arguments: arg1='ä', arg2='☃'");
}

export const FEATURES = [
  ['tools', tools],
  ['progress', progress],
  ['elicitation, form', form],
  ['elicitation, URL', url],
  ['… its completion', completed],
  ['sampling', sampling],
  ['roots', roots],
  ['… their change', rootsChanged],
  ['resource subscription', subscription],
  ['tools list_changed', listChanged],
  ['log at a level', log],
  ['… that names no call', logAlone],
  ['cancel', cancel],
  ['completion', completion],
  ['prompt', prompt],
];
