// Cells that fail and are known to, each with the reason. A cell that is listed and passes fails the run.
//
//   { feature, servers, version, error, reason }: the row, the short names of the servers, the revision of the client, and
//   what the check then says
import { MODERN } from '../lib/target.mjs';

export const KNOWN = [
  {
    feature: 'log at a level',
    servers: ['1e'],
    version: MODERN,
    error: /^three log lines did not come/,
    reason:
      'Over HTTP+SSE every log line comes on the one stream and names no call; Lineward drops them instead of giving ' +
      'them to the only call that they can belong to.',
  },
  {
    feature: '… that names no call',
    servers: ['1h', '1e'],
    version: MODERN,
    error: /^a log line did not come/,
    reason:
      'From HTTP servers such a line comes on the GET stream (or HTTP+SSE); Lineward drops it there, where over stdio it ' +
      'goes to the only call in flight.',
  },
];
