// Ports for addresses that a configuration must name before a program listens there.
import { connect, createServer } from 'node:net';

// Below the ports that the kernel gives to connections and to listeners without one (ip_local_port_range): no other
// program gets it by accident.
const FIRST = 18000;
const COUNT = 12000;

const isFree = (port) =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** A port that was free a moment ago. */
export async function freePort() {
  for (let tries = 0; tries < 100; ++tries) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (await isFree(port)) return port;
  }
  throw new Error(`no port from ${FIRST} to ${FIRST + COUNT} is free`);
}

/** A program listens there. */
export const accepts = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false)).once('connect', () => (socket.destroy(), resolve(true)));
  });
