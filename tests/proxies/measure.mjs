// Measures Lineward's promises behind a proxy, from the client's side: the arrival of a leave, the time of a
// silent call's head, the delay of events, the life of a quiet stream.
import { readFileSync } from 'node:fs';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect } from 'node:net';
import { modernPost } from '../e2e/lib/modern.mjs';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A call on a connection of its own; `heard` has the bytes of its answer, each piece with its time. */
export function call(port, name, params = {}, { host = 'mcp.example.com' } = {}) {
  const { headers, body } = modernPost('tools/call', { name, arguments: {}, ...params }, { id: 1 });
  const head = Object.entries({ Host: host, ...headers, 'Content-Length': Buffer.byteLength(body) });
  const heard = [];
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  const over = new Promise((resolve) => socket.once('close', resolve).once('error', () => {}));
  socket.on('data', (bytes) => heard.push({ at: Date.now(), text: bytes.toString() }));
  socket.write(`POST /mcp HTTP/1.1\r\n${head.map(([key, value]) => `${key}: ${value}\r\n`).join('')}\r\n${body}`);
  const text = () => heard.map((piece) => piece.text).join('');
  return { socket, heard, over, text, begun: Date.now() };
}

const lines = (journal) => readFileSync(journal, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const count = (journal, what) => lines(journal).filter((line) => line.what === what).length;

async function until(met, limitMs) {
  const end = Date.now() + limitMs;
  while (Date.now() < end) {
    const found = met();
    if (found !== undefined && found !== false) return found;
    await pause(5);
  }
  return undefined;
}

/** Milliseconds from the client's leaving to the cancel at the server; undefined: it did not come in time. */
async function left(port, journal, { afterHead, halfClose = false, limitMs = 20_000 }) {
  const before = { calls: count(journal, 'call'), cancels: count(journal, 'cancel') };
  const one = call(port, 'quiet');
  if (!(await until(() => count(journal, 'call') > before.calls, 20_000))) throw new Error(`no call came: ${one.text()}`);
  if (afterHead) {
    if (!(await until(() => one.heard.length > 0, 20_000))) throw new Error('no head came');
    await pause(700); // both comments of a beat are out
  }
  const at = Date.now();
  halfClose ? one.socket.end() : one.socket.destroy();
  await until(() => count(journal, 'cancel') > before.cancels, limitMs);
  const last = lines(journal).filter((line) => line.what === 'cancel')[before.cancels];
  one.socket.destroy();
  if (last === undefined) await until(() => count(journal, 'cancel') > before.cancels, 2_000);
  return last && last.at - at;
}

/** The same for a call on HTTP/2 that ends with RST_STREAM while its connection stays. */
async function reset(session, journal, { afterHead, limitMs = 20_000 }) {
  const before = { calls: count(journal, 'call'), cancels: count(journal, 'cancel') };
  const { headers, body } = modernPost('tools/call', { name: 'quiet', arguments: {} }, { id: 1 });
  const stream = session.request({ ':method': 'POST', ':path': '/mcp', ':authority': 'mcp.example.com', ...headers });
  let heard = false;
  stream.on('data', () => (heard = true)).on('error', () => {});
  stream.end(body);
  if (!(await until(() => count(journal, 'call') > before.calls, 20_000))) throw new Error('no call came over HTTP/2');
  if (afterHead) {
    if (!(await until(() => heard, 20_000))) throw new Error('no head came over HTTP/2');
    await pause(700); // both comments of a beat are out
  }
  const at = Date.now();
  stream.close(constants.NGHTTP2_CANCEL);
  await until(() => count(journal, 'cancel') > before.cancels, limitMs);
  const last = lines(journal).filter((line) => line.what === 'cancel')[before.cancels];
  return last && last.at - at;
}

/** Leaves by RST_STREAM, at a proxy that speaks HTTP/2 without TLS. */
export async function resets(port, journal) {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  session.on('error', () => {}); // the streams report it too
  try {
    return {
      beforeHead: await reset(session, journal, { afterHead: false }),
      inStream: await reset(session, journal, { afterHead: true }),
    };
  } finally {
    session.destroy();
  }
}

/** When the head of a silent call came. */
async function headOf(port, journal) {
  const cancels = count(journal, 'cancel');
  const one = call(port, 'quiet');
  const came = await until(() => one.heard[0]?.at, 20_000);
  const status = /^HTTP\/1\.1 (\d+)/.exec(one.text())?.[1];
  one.socket.destroy();
  await until(() => count(journal, 'cancel') > cancels, 20_000);
  return { ms: came && came - one.begun, status: Number(status) };
}

/** By how much the latest of twenty events is late. */
async function events(port) {
  const one = call(port, 'events', { _meta: { progressToken: 1 } });
  await until(() => one.text().includes('"result"'), 20_000);
  one.socket.destroy();
  const late = [];
  for (const { at, text } of one.heard) {
    for (const [, sent] of text.matchAll(/"message":"(\d+)"/g)) late.push(at - Number(sent));
  }
  return { count: late.length, latest: Math.max(...late) };
}

/** A call with an argument of 1 MiB. */
async function large(port) {
  const one = call(port, 'big', { arguments: { text: 'x'.repeat(1 << 20) } });
  await until(() => one.text().includes('\r\n\r\n'), 20_000);
  await until(() => one.text().includes('"result"'), 3_000);
  one.socket.destroy();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(one.text())?.[1]);
}

/** Does a silent call's stream stay for so long? */
async function quiet(port, journal, ms) {
  const cancels = count(journal, 'cancel');
  const one = call(port, 'quiet');
  const cut = await Promise.race([one.over.then(() => Date.now() - one.begun), pause(ms).then(() => undefined)]);
  one.socket.destroy();
  await until(() => count(journal, 'cancel') > cancels, 20_000);
  return cut;
}

export async function measure(port, journal, { quietMs = 65_000 } = {}) {
  return {
    head: await headOf(port, journal),
    leaveBeforeHead: await left(port, journal, { afterHead: false }),
    leaveInStream: await left(port, journal, { afterHead: true }),
    halfClose: await left(port, journal, { afterHead: true, halfClose: true }),
    events: await events(port),
    large: await large(port),
    ...(quietMs > 0 && { cutAfter: await quiet(port, journal, quietMs) }),
  };
}
