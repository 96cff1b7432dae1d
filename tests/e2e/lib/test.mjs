// node:test's test(), with a time limit, and with a clean-up that goes backwards and never stops half-way. The last
// started part ends first, and a gateway is ended even when a client could not be.
import { test as nodeTest } from 'node:test';
import { bounded } from './events.mjs';

const TEST_MS = 90_000;
const CLEANUP_MS = 60_000;

export function test(name, ...rest) {
  const body = rest.pop();
  nodeTest(name, { timeout: TEST_MS, ...rest[0] }, async (t) => {
    const cleanups = [];
    t.after(async () => {
      const errors = [];
      for (const cleanup of cleanups.reverse()) {
        await bounded((async () => cleanup())(), CLEANUP_MS, 'a clean-up').catch((error) =>
          errors.push(error),
        );
      }
      if (errors.length === 1) throw errors[0];
      if (errors.length) throw new AggregateError(errors, errors.map(({ message }) => message).join('; '));
    });
    await body({ after: (cleanup) => cleanups.push(cleanup), skip: (why) => t.skip(why) });
  });
}
