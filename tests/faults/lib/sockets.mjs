// Clients in bytes: those that are slow, that leave in the middle, and very many at once.
import { connect } from 'node:net';
import { once } from 'node:events';
import { bounded } from '../../e2e/lib/events.mjs';

/** A connected socket; `text` gathers what came, `gone` resolves when it is closed. */
export async function dial(address, { host = '127.0.0.1' } = {}) {
  const socket = connect({ host, port: Number(address.split(':').pop()), noDelay: true });
  const one = { socket, text: '' };
  one.gone = new Promise((resolve) => socket.once('close', () => resolve(performance.now())));
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    one.text += bytes.toString('latin1');
    one.look?.();
  });
  await bounded(once(socket, 'connect'), 15_000, 'a connection');
  return one;
}

/** Resolves when the text holds that. */
export function seen(one, words, limitMs = 10_000) {
  const there = new Promise((resolve) => {
    one.look = () => one.text.includes(words) && resolve();
    one.look();
  });
  return bounded(there, limitMs, `"${words}" from the gateway`);
}

/** So many at once, `width` at a time. */
export async function many(n, make, width = 200) {
  const made = new Array(n);
  let next = 0;
  const work = async () => {
    for (let i = next++; i < n; i = next++) made[i] = await make(i);
  };
  await Promise.all(Array.from({ length: Math.min(width, n) }, work));
  return made;
}
