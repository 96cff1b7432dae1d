// A modern request written by hand: what its headers and its body have to say, however it is sent.
export const MODERN = '2026-07-28';
export const META = 'io.modelcontextprotocol/';

/** The options of fetch() for a modern request (without an id: a notification); `headers` and params._meta are added. */
export function modernPost(method, params = {}, { id, headers = {} } = {}) {
  const _meta = { [`${META}protocolVersion`]: MODERN, [`${META}clientCapabilities`]: {}, ...params._meta };
  const name = params.name ?? params.uri;
  return {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': MODERN,
      'Mcp-Method': method,
      ...(name && { 'Mcp-Name': name }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
  };
}

/** The last message of an answer, JSON or event stream; undefined when there is none. */
export function lastMessage(text) {
  const data = text.startsWith('{') ? text : text.split('\n').findLast((line) => line.startsWith('data: '))?.slice(6);
  return data && JSON.parse(data);
}
