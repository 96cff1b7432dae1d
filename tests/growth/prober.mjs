// A thread that sends the gateway one small request after the other, and reports the time of the slowest answer: the time that
// the loop was busy otherwise. A thread of its own, since this process is busy with large messages too. The waits of the two
// threads for a processor meanwhile (the kernel's account) are subtracted, since the machine causes them.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
import { bounded } from '../e2e/lib/events.mjs';

const LIMIT_MS = 60_000;

if (!isMainThread) {
  const socket = connect({ port: workerData.port, host: '127.0.0.1', noDelay: true });
  const request = 'GET /not/there HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const waitedMs = () =>
    ['/proc/thread-self/schedstat', `/proc/${workerData.pid}/schedstat`]
      .map((path) => Number(readFileSync(path, 'latin1').split(' ')[1]) / 1e6)
      .reduce((sum, ms) => sum + ms);
  let asked;
  let waited;
  let slowest = 0;
  let stopping = false;
  const ask = () => {
    waited = waitedMs();
    asked = performance.now();
    socket.write(request);
  };
  socket.on('connect', ask);
  socket.on('data', () => {
    const took = performance.now() - asked;
    slowest = Math.max(slowest, took - (waitedMs() - waited));
    if (!stopping) return setTimeout(ask, 0);
    parentPort.postMessage(slowest);
    socket.destroy();
    parentPort.close();
  });
  socket.on('error', () => parentPort.postMessage(-1));
  parentPort.on('message', (what) => {
    if (what === 'begin') slowest = 0;
    else stopping = true;
  });
  socket.once('data', () => parentPort.postMessage('ready'));
}

/** The slowest answer while `work` is done, in ms. */
export async function slowestDuring({ port, gateway }, work) {
  const prober = new Worker(fileURLToPath(import.meta.url), { workerData: { port, pid: gateway.pid } });
  const next = () => bounded(new Promise((resolve) => prober.once('message', resolve)), LIMIT_MS, 'an answer for the prober');
  await next();
  prober.postMessage('begin');
  await work();
  const slowest = next();
  prober.postMessage('end');
  return slowest;
}
