// The features of both fixture servers (fixtures/catalogue.mjs), as a client finds them.
import assert from 'node:assert/strict';
import { textOf } from './target.mjs';

/** Tools, prompts, resources and completion, one or two of each. */
export async function findsWhatIsOffered(client) {
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === 'test_echo'));
  assert.equal(
    textOf(await client.callTool({ name: 'test_simple_text' })),
    'This is a simple text response for testing.',
  );
  assert.equal((await client.callTool({ name: 'test_error_handling' })).isError, true);
  const given = { arg1: 'ä', arg2: '☃' };
  const prompt = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: given });
  assert.equal(prompt.messages[0].content.text, "Prompt with arguments: arg1='ä', arg2='☃'");
  assert.equal((await client.listResources()).resources.length, 3);
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 1);
  const { contents } = await client.readResource({ uri: 'test://template/7/data' });
  assert.equal(JSON.parse(contents[0].text).id, '7');
  const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
  const { completion } = await client.complete({ ref, argument: { name: 'arg1', value: 'pa' } });
  assert.deepEqual(completion.values, ['paris', 'park', 'party']);
}
