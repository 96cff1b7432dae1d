// The operator's side: `lineward ps`, `cancel` and `status`, the ops listener, and raw modern requests to have something
// to look at.
import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { binary } from './binary.mjs';
import { LIMIT_MS } from './events.mjs';
import { META, lastMessage, modernPost } from './modern.mjs';

/** Runs a command of the binary, or of what stands around it, to its end: {code, out, err}. */
export function lineward(args, env = {}, program = binary()) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const texts = { out: '', err: '' };
    child.stdout.on('data', (bytes) => (texts.out += bytes));
    child.stderr.on('data', (bytes) => (texts.err += bytes));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...texts }));
  });
}

/** GET over TCP or a Unix socket: {status, headers, body}. */
export function get(where, path, { method = 'GET', headers = {}, body } = {}) {
  const to = where.startsWith('/') ? { socketPath: where } : { host: where.split(':')[0], port: where.split(':')[1] };
  return new Promise((resolve, reject) => {
    const sent = request({ ...to, path, method, headers: { host: 'localhost', ...headers } }, (response) => {
      let text = '';
      response.on('data', (bytes) => (text += bytes));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: text }));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

/** The address behind "Metrics" that the gateway printed. */
export const opsOf = (gateway) => /Metrics {2}http:\/\/([^/\s]+)\/metrics/.exec(gateway.stderr())?.[1];

/** A modern tools/call by hand. abort() leaves; answer resolves with the last message. */
export function callTool(url, name, args = {}, { id = 1, token = 'p' } = {}) {
  const leave = new AbortController();
  const _meta = { [`${META}clientInfo`]: { name: 'probe', version: '2.1' }, progressToken: token };
  const request = modernPost('tools/call', { name, arguments: args, _meta }, { id });
  const answer = fetch(url, { ...request, signal: leave.signal })
    .then((response) => response.text())
    .then(lastMessage);
  answer.catch(() => {});
  return { answer, abort: () => leave.abort() };
}

/** Calls look() until it gives something; 30 s at most. */
export async function eventually(look, what) {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what} did not happen within ${LIMIT_MS / 1000}s`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
