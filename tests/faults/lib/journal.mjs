// Events of fault servers, as they happen: processes started, calls that arrived, cancels.
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { bounded } from '../../e2e/lib/events.mjs';

export class Journal {
  static async open(folder, name = 'journal') {
    const journal = new Journal();
    journal.path = join(folder, name);
    journal.server = createServer((socket) => {
      journal.sockets.add(socket);
      socket.on('close', () => journal.sockets.delete(socket));
      socket.on('error', () => {});
      createInterface({ input: socket }).on('line', (line) => journal.#put(line));
    });
    await new Promise((resolve) => journal.server.listen(journal.path, resolve));
    return journal;
  }

  sockets = new Set();
  starts = []; // performance.now() of each
  pids = [];
  calls = new Map(); // nonce → how often it arrived
  cancels = new Map(); // nonce → how often it was cancelled
  listens = 0;
  unlistens = 0;
  #waiting = new Set();

  get env() {
    return { FAULT_JOURNAL: this.path };
  }

  #put(line) {
    const [what, whom] = line.split(' ');
    const count = (map) => map.set(whom, (map.get(whom) ?? 0) + 1);
    if (what === 'start') {
      this.starts.push(performance.now());
      this.pids.push(Number(whom));
    } else if (what === 'call') count(this.calls);
    else if (what === 'cancel') count(this.cancels);
    else if (what === 'listen') ++this.listens;
    else if (what === 'unlisten') ++this.unlistens;
    for (const look of [...this.#waiting]) look();
  }

  /** Resolves as soon as holds() is true; rejects after limitMs. */
  until(holds, what, limitMs = 10_000) {
    if (holds()) return Promise.resolve();
    let look;
    const seen = new Promise((resolve) => {
      look = () => {
        if (!holds()) return;
        resolve();
      };
      this.#waiting.add(look);
    });
    return bounded(seen, limitMs, what).finally(() => this.#waiting.delete(look));
  }

  called = (nonce, limitMs) => this.until(() => this.calls.has(nonce), `the arrival of ${nonce}`, limitMs);
  cancelled = (nonce, limitMs) => this.until(() => this.cancels.has(nonce), `the cancel of ${nonce}`, limitMs);
  /** How many calls arrived more than once. */
  get repeated() {
    return [...this.calls.values()].filter((times) => times > 1).length;
  }

  close() {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}
