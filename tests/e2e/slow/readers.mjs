// Clients that read when they are told to, and what a process needs of memory.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { bounded } from '../lib/events.mjs';

/** Sends a request (GET without a body) and reads nothing of the answer until it is told to. */
export function stalled(t, url, headers, body) {
  const { hostname, port, host, pathname } = new URL(url);
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
  const fields = Object.entries({ Host: host, ...headers, ...length });
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const socket = connect({ host: hostname, port: Number(port) });
  socket.pause();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {});
  socket.write(`${body === undefined ? 'GET' : 'POST'} ${pathname} HTTP/1.1\r\n${lines}\r\n${body ?? ''}`);
  t.after(() => socket.destroy());
  return {
    socket,
    closed,
    /** Small pieces, one in each turn of the event loop, until the text ends like that. */
    async readUntil(end, piece, ms) {
      const parts = [];
      let tail = '';
      const read = async () => {
        while (!tail.endsWith(end)) {
          const chunk = socket.read(Math.min(piece, socket.readableLength || piece));
          if (chunk === null) {
            await new Promise((resolve) => socket.once('readable', resolve));
            continue;
          }
          parts.push(chunk);
          tail = (tail + chunk.toString('latin1')).slice(-end.length);
          await new Promise(setImmediate);
        }
      };
      await bounded(read(), ms, 'the end of an answer');
      return Buffer.concat(parts).toString('latin1');
    },
  };
}

/** The body of an answer with a length or in chunks. */
export function bodyOf(answer) {
  const head = answer.indexOf('\r\n\r\n') + 4;
  if (!/^transfer-encoding: chunked\r$/im.test(answer.slice(0, head))) return answer.slice(head);
  const parts = [];
  for (let at = head; ;) {
    const line = answer.indexOf('\r\n', at);
    const size = parseInt(answer.slice(at, line), 16);
    if (!size) return parts.join('');
    parts.push(answer.slice(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}

const status = (pid, field) => {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return Number(line[1]) * 1024;
};
export const residentBytes = (pid) => status(pid, 'VmRSS');
/** A sanitizer's shadow memory reserves terabytes. */
export const isSanitized = (pid) => status(pid, 'VmSize') > 2 ** 40;

/** Polls, since the log of another process is no event. */
export async function eventually(holds, what, ms = 60_000) {
  for (const end = Date.now() + ms; !holds(); await delay(10)) {
    if (Date.now() > end) throw new Error(`${what} did not come within ${ms / 1000}s`);
  }
}
