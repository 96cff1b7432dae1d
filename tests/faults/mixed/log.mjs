// Lineward's log held against what the clients saw: one `call.end` for each call, with the same end.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

const field = (line, name) => new RegExp(` ${name}=("(?:[^"\\\\]|\\\\.)*"|\\S+)`).exec(line)?.[1];

/** Resolves with {ended, sanitizer} after it has told the book of every violation. */
export async function judgeLog(path, book) {
  const ends = new Map();
  let sanitizer = false;
  for await (const line of createInterface({ input: createReadStream(path) })) {
    if (/AddressSanitizer|ThreadSanitizer|runtime error:/.test(line)) sanitizer = true;
    if (!line.includes('event=call.end')) continue;
    const id = /mixed-[0-9a-z]+/.exec(field(line, 'rpc_id') ?? '')?.[0];
    if (id === undefined) continue;
    if (ends.has(id)) book.violation(`two ends in the log: ${id}`);
    ends.set(id, field(line, 'reason'));
  }
  for (const [id, { end, reason, what }] of book.requests) {
    const logged = ends.get(id);
    const told = `${what.road} ${what.tool} ${id}`;
    if (end === undefined) book.violation(`no end at the client: ${told}`);
    else if (end === 'ok' && logged !== 'ok') book.violation(`answered, and ${logged} in the log: ${told}`);
    else if (end === 'error' && reason && logged !== reason) book.violation(`${reason}, and ${logged} in the log: ${told}`);
    else if (end === 'empty' && logged !== 'cancelled_client' && logged !== undefined) book.violation(`cancelled, and ${logged} in the log: ${told}`);
  }
  return { ended: ends.size, sanitizer };
}
