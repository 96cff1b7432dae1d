// HTTP/2 towards the gateway: Node's client, and frames by hand.
import { once } from 'node:events';
import { connect } from 'node:http2';
import { connect as dial } from 'node:net';
import { lastMessage, modernPost } from './modern.mjs';

/** An HTTP/2 connection, closed with the test. */
export async function session(t, url, options = {}) {
  const opened = connect(new URL(url).origin, { rejectUnauthorized: false, ...options });
  opened.on('error', () => {});
  t.after(() => opened.destroy());
  await once(opened, 'remoteSettings');
  return opened;
}

/** A stream with a whole request; `body` undefined: none. */
export function open(connection, url, { method, headers = {}, body }) {
  const { pathname, search } = new URL(url);
  const fields = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const stream = connection.request({ ':method': method, ':path': pathname + search, ...fields }, { endStream: body === undefined });
  stream.on('error', () => {});
  if (body !== undefined) stream.end(body);
  return stream;
}

/** The answer: {status, headers, text}, or {reset: code}. */
export function answer(stream) {
  return new Promise((resolve) => {
    let head;
    let text = '';
    stream.once('response', (headers) => (head = headers));
    stream.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    stream.once('close', () =>
      resolve(head && stream.rstCode === 0 ? { status: head[':status'], headers: head, text } : { reset: stream.rstCode, text }),
    );
  });
}

/** A modern call: {status, message}, or {reset}. */
export async function call(connection, url, name, args = {}, more = {}) {
  const request = modernPost('tools/call', { name, arguments: args, ...more }, { id: 1 });
  const { text, ...rest } = await answer(open(connection, url, request));
  return { ...rest, message: text && rest.reset === undefined ? lastMessage(text) : undefined };
}

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
export const [DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, , PING, GOAWAY, WINDOW_UPDATE, CONTINUATION] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
export const END_STREAM = 1;
export const END_HEADERS = 4;

export function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Header fields, none of them compressed (RFC 7541, 6.2.3). */
export function fields(entries) {
  const text = (value) => {
    const bytes = Buffer.from(value);
    if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
    const size = [127];
    let left = bytes.length - 127;
    for (; left >= 128; left >>= 7) size.push((left & 127) | 128);
    return Buffer.concat([Buffer.from([...size, left]), bytes]);
  };
  return Buffer.concat(Object.entries(entries).map(([name, value]) => Buffer.concat([Buffer.from([0x10]), text(name), text(value)])));
}

/** A request that Lineward answers with 404, as fields. */
export const refusedGet = (more = {}) => fields({ ':method': 'GET', ':scheme': 'http', ':path': '/nothing', ':authority': '127.0.0.1', ...more });

/** Each flood has the frames of its n-th step, and the fault that Lineward counts. */
export const FLOODS = {
  'streams that are reset at once': {
    fault: 'resets',
    frames: (n) => [frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, refusedGet()), frame(RST_STREAM, 0, 2 * n + 1, Buffer.from([0, 0, 0, 8]))],
  },
  PING: { fault: 'control_frames', frames: () => [frame(PING, 0, 0, Buffer.alloc(8))] },
  SETTINGS: { fault: 'control_frames', frames: () => [frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0, 1, 0, 0]))] },
  'priorities of streams that do not exist': { fault: 'control_frames', frames: (n) => [frame(PRIORITY, 0, 2 * n + 1, Buffer.from([0, 0, 0, 0, 1]))] },
  'window updates': { fault: 'control_frames', frames: () => [frame(WINDOW_UPDATE, 0, 0, Buffer.from([0, 0, 0, 1]))] },
  'empty DATA': {
    fault: 'control_frames',
    frames: (n) => (n === 0 ? [frame(HEADERS, END_HEADERS, 1, refusedGet({ ':method': 'POST' }))] : [frame(DATA, 0, 1)]),
  },
  'CONTINUATION without end': {
    fault: 'head',
    frames: (n) => (n === 0 ? [frame(HEADERS, 0, 1, refusedGet())] : [frame(CONTINUATION, 0, 1, fields({ x: 'y' }))]),
  },
  'a head that is small on the wire only': {
    fault: 'head',
    frames: (n) => (n === 0 ? [frame(HEADERS, 0, 1, Buffer.concat([refusedGet(), Buffer.from([0x40, 1]), Buffer.from('x'), Buffer.from([127, 0x91, 0x1e]), Buffer.alloc(3984, 'v')]))] : [frame(CONTINUATION, 0, 1, Buffer.alloc(1000, 0xbe))]),
  },
};

/**
 * A connection that writes frames by hand: {socket, send(bytes), ended, frames}; `ended` resolves with the code of GOAWAY
 * (null: none came) when the connection is closed.
 */
export async function rawConnection(t, url) {
  const socket = dial(Number(new URL(url).port), '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  const frames = [];
  let bytes = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const size = bytes.readUIntBE(0, 3);
      frames.push({ type: bytes[3], flags: bytes[4], stream: bytes.readUInt32BE(5), payload: bytes.subarray(9, 9 + size) });
      bytes = bytes.subarray(9 + size);
    }
  });
  const ended = new Promise((resolve) => socket.once('close', resolve)).then(() => frames.findLast(({ type }) => type === GOAWAY)?.payload.readUInt32BE(4) ?? null);
  const send = (...parts) => new Promise((resolve) => (socket.writable ? socket.write(Buffer.concat(parts), resolve) : resolve()));
  await send(PREFACE, frame(SETTINGS, 0, 0));
  return { socket, send, ended, frames };
}
