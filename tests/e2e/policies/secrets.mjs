// `redact` on the wire, in both directions and everything that can carry a text: clients say SECRET-1 to SECRET-8, servers
// SECRET-9. Neither is on the other side, nor in Lineward's log.
import assert from 'node:assert/strict';
import { write } from '../roads/raw.mjs';

const WAIT_MS = 30_000;

export async function keepsSecrets(place, road, era, check) {
  const label = `${road.name}, ${era}`;
  const client = await place.client(road, era, { capabilities: { elicitation: {} } });
  const name = (word) => (road.prefixed ? `alpha__${word}` : word);
  const seen = (method, target, from) =>
    place.judge.reports.until((report, at) => at >= from && report.server === place.name && report.method === method && report.target === target, `${method} ${target}`, WAIT_MS);
  const reaches = async (what, method, target, run) => {
    const from = place.judge.reports.items.length;
    const error = await Promise.all([seen(method, target, from), run()]).then(() => undefined, (one) => one);
    check(place, `${label}: ${what}`, () => assert.ifError(error));
  };
  client.reply = () => ({ action: 'accept', content: { key: 'SECRET-1', more: 'it is SECRET-2' } });
  const call = (word, args, options) => client.request('tools/call', { name: name(word), arguments: args }, options).answer;

  await reaches('arguments', 'tools/call', 'open_s', () => call('open_s', { a: 'SECRET-3', b: [{ c: 'x SECRET-4 y' }] }));
  await reaches('a log line and progress', 'tools/call', 'log_s', () =>
    call('log_s', {}, { token: 'p', ...(era === 'modern' && { meta: { 'io.modelcontextprotocol/logLevel': 'debug' } }) }));
  await reaches('an error', 'tools/call', 'error_s', () => call('error_s', { a: 'SECRET-5' }));
  await reaches('a prompt', 'prompts/get', 'open_s', () => client.request('prompts/get', { name: name('open_s'), arguments: { a: 'SECRET-6' } }).answer);
  await reaches('a completion', 'completion/complete', 'open_s', () =>
    client.request('completion/complete', { ref: { type: 'ref/prompt', name: name('open_s') }, argument: { name: 'a', value: 'SECRET-7' } }).answer);
  await reaches('an answer to a question', 'answer', 'ask_s', () =>
    era === 'modern' ? client.callAnswering('ask_s', { a: 'SECRET-3' }) : client.call('ask_s', { a: 'SECRET-3' }).answer);
  if (era === 'legacy' && place.era === 'legacy') {
    await reaches('the reason of a cancel', 'aborted', 'wait_s', async () => {
      const from = place.judge.reports.items.length;
      const sent = client.request('tools/call', { name: name('wait_s'), arguments: {} });
      await seen('tools/call', 'wait_s', from);
      await client.post(write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: sent.id, reason: 'SECRET-8 was it' } }));
    });
  }
}

export function spillsNothing(place, reports) {
  const told = reports.filter(({ text }) => /SECRET-[1-8]/.test(text));
  assert.deepEqual(told.slice(0, 3), [], 'at the server');
  const heard = place.heard.filter((text) => /SECRET-9/.test(text));
  assert.deepEqual(heard.slice(0, 3), [], 'at a client');
  const logged = place.gateways.flatMap(({ log }) => log.items).filter((line) => /SECRET-\d/.test(line));
  assert.deepEqual(logged.slice(0, 3), [], 'in the log');
}
