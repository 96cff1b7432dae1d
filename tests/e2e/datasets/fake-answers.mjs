// The answers of fake-server.mjs, for it and for comparisons.
import { raw } from './raw-json.mjs';

export const argumentsOf = (line) => raw(line, 'params', 'arguments') ?? '{}';

export const echoed = (id, tool, args) =>
  `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","content":[{"type":"text","text":"${tool}"}],"structuredContent":${args}}}`;

export const errorWith = (id, code) =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":"fails","data":{"n":1.10,"b":1,"a":2}}}`;
