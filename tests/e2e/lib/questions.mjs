// Clients of which a server may ask something in the middle of a call, and what the fixtures' tools then say.
import assert from 'node:assert/strict';
import { textOf } from './target.mjs';

const sampled = (text) => ({ role: 'assistant', model: 'test-model', content: { type: 'text', text } });

/**
 * A client that answers every kind of question as `name` does. Handlers go by method; `capabilities` are those that
 * are more than plain.
 */
export const everyKind = (name, capabilities = {}) => ({
  capabilities: { elicitation: {}, sampling: {}, roots: {}, ...capabilities },
  requests: {
    'elicitation/create': ({ params }) =>
      params.mode === 'url'
        ? { action: 'accept' }
        : { action: 'accept', content: { name, color: 'blue', context: name } },
    'sampling/createMessage': () => sampled(`greetings, ${name}`),
    'roots/list': () => ({ roots: [{ uri: `file:///${name}` }] }),
  },
});

/** A client with a user that declines. */
export const DECLINING = {
  capabilities: { elicitation: {} },
  requests: { 'elicitation/create': () => ({ action: 'decline' }) },
};

/** The answers of everyKind(name) reach the tools: questions of each kind, several at once and in rounds; and a prompt. */
export async function isHeard(client, name) {
  const call = async (tool) => textOf(await client.callTool({ name: `test_input_required_result_${tool}` }));
  assert.equal(await call('elicitation'), `Hello, ${name}!`);
  assert.equal(await call('sampling'), `greetings, ${name}`);
  assert.equal(await call('list_roots'), `Roots: file:///${name}`);
  assert.equal(await call('multiple_inputs'), `greetings, ${name} (${name}, 1 roots)`);
  assert.equal(await call('multi_round'), `${name} likes blue`);
  const prompt = await client.getPrompt({ name: 'test_input_required_result_prompt' });
  assert.equal(prompt.messages[0].content.text, `Use this context: ${name}`);
}

/** That a DECLINING client did not want to is what the tool hears. */
export async function isHeardToDecline(client) {
  const result = await client.callTool({ name: 'test_elicitation', arguments: { message: 'Well?' } });
  assert.match(textOf(result), /action=decline/);
}
