// Waiting for things to happen, and never longer than a limit.
import { mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const LIMIT_MS = 30_000; // of a busy machine

/** The promise, or an error when it takes longer. */
export function bounded(promise, ms, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms / 1000}s`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Everything that was put in, in order; until() waits for the first that fits, past ones included. */
export class Inbox {
  constructor() {
    this.items = [];
    this.waiting = new Set();
  }

  put(item) {
    this.items.push(item);
    for (const look of [...this.waiting]) look();
  }

  /** Resolves with what find(items) returns as soon as that is not undefined. */
  when(find, what = 'what was awaited', ms = LIMIT_MS) {
    return new Promise((resolve, reject) => {
      const end = (settle, value) => {
        clearTimeout(timer);
        this.waiting.delete(look);
        settle(value);
      };
      const timer = setTimeout(
        () =>
          end(
            reject,
            new Error(`${what} did not come within ${ms / 1000}s; there was ${JSON.stringify(this.items)}`),
          ),
        ms,
      );
      const look = () => {
        const found = find(this.items);
        if (found !== undefined) end(resolve, found);
      };
      this.waiting.add(look);
      look();
    });
  }

  until(fits, what, ms) {
    return this.when((items) => items.find(fits), what, ms);
  }

  /** Resolves when there are that many. */
  count(n, what, ms) {
    return this.when((items) => (items.length >= n ? items : undefined), what ?? `${n} of them`, ms);
  }
}

/** A folder of its own for a test, removed after it. */
export function temporaryFolder(t) {
  const folder = mkdtempSync(join(tmpdir(), 'lineward-e2e-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The events that a fixture writes into FIXTURE_LOG: pass env to its start, wait with until({event, tag}). */
export function fixtureRecord(t) {
  const path = join(temporaryFolder(t), 'record');
  writeFileSync(path, '');
  const inbox = new Inbox();
  const read = () => {
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    for (const line of lines.slice(inbox.items.length)) inbox.put(JSON.parse(line));
  };
  const watcher = watch(path, read);
  t.after(() => watcher.close());
  return {
    env: { FIXTURE_LOG: path },
    events: inbox.items,
    until: ({ event, tag }) =>
      inbox.until((one) => one.event === event && one.tag === tag, `${event} ${tag} in the fixture's record`),
  };
}

/** A promise with its handles outside. */
export function deferred() {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
}
