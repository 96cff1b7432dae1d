// A TCP relay that does to connections what networks do: reset, stall, slice, limit, close.
import { connect, createServer } from 'node:net';
import { once } from 'node:events';

/**
 * Between a client and 127.0.0.1:port. `mood` holds for what passes from now on, towards the client:
 *   slice N   N bytes a write, one a turn      stall   nothing passes      limit N   reset after N bytes
 */
export class Middlebox {
  static async before(port) {
    const box = new Middlebox();
    box.server = createServer({ noDelay: true }, (near) => box.#join(near, port));
    box.server.listen(0, '127.0.0.1');
    await once(box.server, 'listening');
    box.port = box.server.address().port;
    return box;
  }

  pairs = new Set();
  mood = {};
  connections = 0;

  #join(near, port) {
    ++this.connections;
    const far = connect({ port, host: '127.0.0.1', noDelay: true });
    const pair = { near, far, passed: 0 };
    this.pairs.add(pair);
    const leave = () => {
      this.pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) socket.on('error', leave).on('close', leave);
    near.on('data', (bytes) => far.write(bytes));
    far.on('data', (bytes) => this.#pass(pair, bytes));
  }

  async #pass(pair, bytes) {
    const { slice, stall, limit } = this.mood;
    if (stall) return;
    pair.passed += bytes.length;
    if (limit !== undefined && pair.passed > limit) return pair.near.resetAndDestroy();
    if (!slice) return pair.near.write(bytes);
    pair.queue = (pair.queue ?? Promise.resolve()).then(async () => {
      for (let at = 0; at < bytes.length; at += slice) {
        pair.near.write(bytes.subarray(at, at + slice));
        await new Promise(setImmediate);
      }
    });
  }

  /** RST towards the client on every connection. */
  reset() {
    for (const { near } of [...this.pairs]) near.resetAndDestroy();
  }

  close() {
    for (const { near, far } of [...this.pairs]) {
      near.destroy();
      far.destroy();
    }
    this.server.close();
  }
}
