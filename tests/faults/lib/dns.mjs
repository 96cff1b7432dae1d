// A name server for one row: names → {addresses} | {code} | {silent}.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export class NameServer {
  /** Port 53 of a loopback address of its own; needs root. */
  static async start(host, names) {
    const server = new NameServer();
    server.names = names;
    server.asked = [];
    server.socket = createSocket('udp4');
    server.socket.on('message', (query, from) => server.#answer(query, from));
    server.socket.bind(53, host);
    await Promise.race([
      once(server.socket, 'listening'),
      once(server.socket, 'error').then(([error]) => Promise.reject(error)),
    ]);
    return server;
  }

  #answer(query, { port, address }) {
    const labels = [];
    let at = 12;
    for (; query[at]; at += query[at] + 1) labels.push(query.toString('latin1', at + 1, at + 1 + query[at]));
    const type = query.readUInt16BE(at + 1);
    const question = query.subarray(12, at + 5);
    const name = labels.join('.').toLowerCase();
    this.asked.push(name);
    const known = this.names[name] ?? { code: 3 };
    if (known.silent) return;
    const addresses = type === 1 ? (known.addresses ?? []) : [];
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | (known.code ?? 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(addresses.length, 6);
    const records = addresses.map((one) =>
      Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...one.split('.').map(Number)]),
    );
    this.socket.send(Buffer.concat([head, question, ...records]), port, address);
  }

  close() {
    this.socket.close();
  }
}
