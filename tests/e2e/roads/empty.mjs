// Cells that cannot be, by what a promise needs and a road, a client or a server does not have; each with its reason.
const REASONS = {
  file: [({ road }) => road.flags, '`lineward stdio` before a command or a URL has no file: only what flags say'],
  headers: [({ road }) => road.front, 'stdio has no header fields'],
  streams: [({ road }) => road.front, 'on stdio no call has a stream of its own to close; a client that is gone is cancel.stdin'],
  'cancel messages': [
    ({ road, era }) => !road.front && era === 'modern',
    '2026-07-28 over HTTP cancels by closing the stream, not by a message',
  ],
  stdin: [({ road }) => !road.front, 'only `lineward stdio` has a client on its stdin'],
  'two clients': [({ road }) => road.front, '`lineward stdio` has one client'],
  listens: [({ era }) => era === 'legacy', 'subscriptions/listen is a method of 2026-07-28'],
};
const GONE = [({ road, era }) => road.reloads && era === 'legacy', 'a new form of the server ends legacy sessions (docs/reload.md)'];

const MORE = {
  'a server that stays': [
    REASONS.file,
    [
      ({ road, kind }) => road.reloads && kind === 'modern-http',
      'a form of a server that a reload has replaced goes with its last call, and what was kept open of cancelled ones with it',
    ],
  ],
  sessions: [
    [({ road }) => road.front, 'stdio has no DELETE; a client that is gone is cancel.stdin'],
    [({ road }) => road.name === 'sse', 'HTTP+SSE has no DELETE; the end of its stream is cancel.stream'],
    [({ era }) => era === 'modern', '2026-07-28 has no sessions'],
  ],
  'HTTP bodies': [
    [({ road }) => road.flags, REASONS.file[1]],
    [({ road }) => road.front, 'maxRequestBytes is of HTTP bodies; on stdio listen.maxBodyBytes bounds a line'],
  ],
  'one count': [
    [({ road }) => road.flags, REASONS.file[1]],
    [({ road }) => road.reloads, 'the new form of a server counts its own calls'],
  ],
  'a session that lives on': [GONE],
  acknowledgements: [
    GONE,
    [
      ({ road, era, serverEra }) => era === 'legacy' && serverEra === 'legacy' && !road.prefixed,
      'a session in front of a server of its own revisions is passed as it is',
    ],
  ],
  'listens of two clients': [
    REASONS['two clients'],
    REASONS.listens,
    [({ road }) => road.reloads, 'the listen of the first client ends with the reload for the second'],
  ],
  'listens at the server': [GONE, [({ serverEra }) => serverEra === 'legacy', 'servers of the legacy revisions have no listens']],
};

const ROAD = [
  [({ road, era }) => road.eras && !road.eras.test(era), 'HTTP+SSE is of 2024-11-05: it has legacy clients only'],
  [({ road, kind }) => road.kinds && !road.kinds.test(kind), 'a command is a stdio server, a URL an HTTP server'],
];

/** Why this cell is empty, or undefined. */
export function whyEmpty(cell) {
  const { needs } = cell.promise;
  const rules = [...ROAD, ...(needs ? (MORE[needs] ?? [REASONS[needs]]) : [])];
  return rules.find(([holds]) => holds(cell))?.[1];
}
