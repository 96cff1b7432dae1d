#!/usr/bin/env node
// A stdio server of both eras for the requests in tests/data/mcp-bodies: it answers with the bytes that it got.
//
//   echo, forbidden   the result carries the exact bytes of params.arguments, and the name of the tool
//   fail              an error with the code in arguments.code
//
// A call with a progress token gets one progress notification first.
import { argumentsOf, echoed, errorWith } from './fake-answers.mjs';
import { raw } from './raw-json.mjs';
import { handshake, parsed, serve, write } from './stdio.mjs';

const TOOLS = ['echo', 'forbidden', 'fail'].map((name) => `{"name":"${name}","inputSchema":{"type":"object"}}`);

function answer(id, line, message) {
  const { method, params } = message;
  const result =
    handshake(message) ??
    (method === 'tools/list'
      ? `{"resultType":"complete","tools":[${TOOLS}],"ttlMs":0,"cacheScope":"private"}`
      : undefined);
  if (result) return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
  if (method !== 'tools/call') return errorWith(id, -32601);
  if (params.name === 'fail') return errorWith(id, params.arguments.code);
  if (params.name !== 'echo' && params.name !== 'forbidden') return errorWith(id, -32602);
  return echoed(id, params.name, argumentsOf(line));
}

serve((line) => {
  const message = parsed(line);
  const id = raw(line, 'id');
  if (!message?.method || id === undefined) return;
  const token = raw(line, 'params', '_meta', 'progressToken');
  if (token !== undefined) {
    write(
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":0.50}}\n`,
    );
  }
  write(`${answer(id, line, message)}\n`);
});
