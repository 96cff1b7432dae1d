// A call that its client gives up, as the server sees it.
import assert from 'node:assert/strict';
import { textOf } from './target.mjs';

/**
 * An SDK 1.x client gives one of two calls up: that one alone ends at the server, which is told why.
 *
 * @param record the fixtureRecord of the server behind the client
 */
export async function givesUpOneOfTwo(client, record) {
  const abort = new AbortController();
  const waiting = client.callTool({ name: 'test_wait', arguments: { tag: 'a' } }, undefined, {
    signal: abort.signal,
  });
  const outcome = assert.rejects(waiting, /changed my mind/);
  await record.until({ event: 'started', tag: 'a' });
  const meanwhile = client.callTool({ name: 'test_sleep', arguments: { ms: 300, tag: 'b' } });
  abort.abort('changed my mind');
  await outcome;
  const { reason } = await record.until({ event: 'aborted', tag: 'a' });
  assert.match(reason, /changed my mind/);
  assert.equal(textOf(await meanwhile), 'b');
  assert.equal(record.events.filter(({ event }) => event === 'aborted').length, 1);
}
