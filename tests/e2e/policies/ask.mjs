// Requests down to their bytes, and what is asked of each policy.
import { request as httpRequest } from 'node:http';
import { META, MODERN } from '../roads/servers.mjs';
import { SPELLINGS } from './spellings.mjs';

const q = JSON.stringify;
let ids = 1000;

const envelope = (client) =>
  client.era === 'modern'
    ? `,"_meta":${q({
        [`${META}protocolVersion`]: MODERN,
        [`${META}clientInfo`]: { name: 'policies', version: '1' },
        [`${META}clientCapabilities`]: client.capabilities,
      })}`
    : '';

/** name: as in the table that is printed; `key`: the member that a rule is about; `params`: around it. */
export const METHODS = [
  { name: 'tools/call', key: 'name', params: (at) => `${at},"arguments":{}` },
  { name: 'tools/call as a task', method: 'tools/call', key: 'name', eras: /legacy/, params: (at) => `${at},"arguments":{},"task":{"ttl":60000}` },
  { name: 'prompts/get', key: 'name', params: (at) => `${at},"arguments":{}` },
  {
    name: 'completion/complete, a prompt',
    method: 'completion/complete',
    key: 'name',
    header: false,
    params: (at) => `"ref":{"type":"ref/prompt",${at}},"argument":{"name":"a","value":"v"}`,
  },
  { name: 'resources/read', key: 'uri', params: (at) => at },
  { name: 'resources/subscribe', key: 'uri', eras: /legacy/, params: (at) => at },
  { name: 'resources/unsubscribe', key: 'uri', eras: /legacy/, params: (at) => at },
  {
    name: 'completion/complete, a resource',
    method: 'completion/complete',
    key: 'uri',
    header: false,
    params: (at) => `"ref":{"type":"ref/resource",${at}},"argument":{"name":"a","value":"v"}`,
  },
];
export const TASKS = ['tasks/get', 'tasks/result', 'tasks/cancel'].map((name) => ({ name, key: 'taskId', eras: /legacy/, params: (at) => at }));

export const spellingsOf = ({ key }) => SPELLINGS[key === 'uri' ? 'uri' : 'name'];

/** The message, and the header fields that repeat what it says. */
function spelled(client, what, spelling, forbidden, allowed) {
  const method = what.method ?? what.name;
  const write = (at) => `{${what.params(at)}${envelope(client)}}`;
  const plain = write(`${q(what.key)}:${q(allowed)}`);
  const params = write(spelling.write(what.key, forbidden, allowed));
  const text = `{"jsonrpc":"2.0","id":${(ids += 1)},"method":${q(method)},"params":${params}}`;
  const headers = { 'Mcp-Method': method };
  const base64 = (value) => `=?base64?${Buffer.from(value).toString('base64')}?=`;
  const fits = (value) => (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value) ? value : base64(value));
  let name = forbidden;
  try {
    name = JSON.parse(params)[what.key] ?? name;
  } catch {
    // Then it is no message either.
  }
  const said = { allowed: fits(allowed), base64: base64(forbidden), none: undefined }[spelling.header ?? ''];
  const header = spelling.header ? said : typeof name === 'string' && !/[\ud800-\udfff]/.test(name) ? fits(name) : fits(forbidden);
  if (what.header !== false && header !== undefined) headers['Mcp-Name'] = header;
  return { text: spelling.whole ? spelling.whole(text, plain) : text, method, headers };
}

/** Over HTTP: resolves with the answer, whole. */
function post(client, text, headers) {
  return new Promise((resolve) => {
    const own = client.headers?.() ?? { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
    const all = { ...own, 'Content-Length': Buffer.byteLength(text), ...(client.era === 'modern' && headers), ...client.more };
    const request = httpRequest(client.to ?? client.url, { method: 'POST', headers: all, agent: client.agent }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (piece) => (body += piece));
      response.on('error', () => {}).on('close', () => resolve({ status: response.statusCode, body }));
    });
    request.on('error', () => resolve({ status: 0, body: '' }));
    request.end(text);
  });
}

/** Sends one; over HTTP it is answered then, on one stream it was written. */
export async function ask(client, what, spelling, forbidden, allowed) {
  const { text, headers } = spelled(client, what, spelling, forbidden, allowed);
  if (!client.process) return post(client, text, headers);
  await client.post(text.replace(/[\r\n]/g, ' ')); // a line
  return {};
}
