// The control socket and the page of the console: by how much there is to show, and by what is sent to it.
import { content, isStatus, joined, modern, world } from '../ground.mjs';
import { CONTROL } from '../meter.mjs';
import { beside, call, callsInFlight, once, roomy } from './many.mjs';

const KIB = 1024;
const steered = () => world({ era: 'modern', limits: roomy }, { admin: CONTROL });
const WORLD = steered();
const get = (path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const form = (body) => `POST /console/do HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const json = (path, body) => `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

// The gateway closes each connection there with its answer.
const asked = (meter, bytes, judge = isStatus(200)) => async () => judge(await (await meter.control()).ask(bytes));
const shown = (what, path) => async (meter) => once(meter, what, () => asked(meter, get(path)));
const ended = async (meter, count) => {
  const wire = await once(meter, 'caller', () => meter.connect());
  meter.server.on['tools/call'] = (_, say) => say.result(content());
  for (let i = 0; i < count; ++i) isStatus(200)(await wire.ask(modern('/mcp', 'tools/call', call())));
};

const crowds = [
  { ...beside('calls in flight, GET /api/v1/calls', 100, 'calls', WORLD, callsInFlight, shown('calls', '/api/v1/calls')), kind: 'linear' },
  { ...beside('calls in flight, a page of 100 of them', 150, 'calls', steered(), callsInFlight, shown('page', '/api/v1/calls?limit=100')) },
  { ...beside('calls in flight, the page of the console without scripts', 250, 'calls', steered(), callsInFlight, shown('console', '/console')) },
  { ...beside('calls that have ended, the page of the console without scripts', 500, 'calls', steered(), ended, shown('console', '/console')) },
].map((row) => ({ ...row, name: row.name.replace('idle: ', 'console: ') }));

const sent = (name, n, unit, bytes, judge) => ({ name: `console: ${name}`, n, unit, world: WORLD, at: async (meter, size) => asked(meter, await bytes(size, meter), judge) });
// Only with the token that stands in the page is the rest of a form looked at.
const filled = (rest) => async (n, meter) => {
  const { body } = await (await meter.control()).ask(get('/console'));
  const token = /name="form" value="([^"]+)"/.exec(body.toString())[1];
  return form(`${rest(n)}&form=${token}&do=cancel&id=none`);
};
const missing = isStatus(404);
const texts = [
  sent('bytes of a form', 7 * KIB, 'bytes', filled((n) => `note=${'x'.repeat(n)}`), missing),
  sent('fields of a form', 500, 'fields', filled((n) => joined(n, () => 'a=b').replaceAll(',', '&')), missing),
  sent('escapes of a form', KIB, 'escapes', filled((n) => `${'%61'.repeat(n)}=1`), missing),
  sent('bytes of a request to cancel', 2 * KIB, 'bytes', (n) => json('/api/v1/calls/none/cancel', `{"reason":"${'x'.repeat(n)}"}`), isStatus(400, 404)),
  sent('members of a request to cancel', 250, 'members', (n) => json('/api/v1/calls/none/cancel', `{${joined(n, (i) => `"m${i}":1`)}}`), isStatus(400, 404)),
  sent('parameters of an address', 100, 'parameters', (n) => get(`/api/v1/calls?${joined(n, (i) => `p${i}=1`).replaceAll(',', '&')}`)),
];

export const rows = [...crowds, ...texts];
