// Compares the values of a cell with those of the direct road: the same, better or worse.
import { createHash } from 'node:crypto';

/** Text that differs from run to run, and the words by which a road shows. */
const VOLATILE = [
  [/\d{4}-\d\d-\d\d[T ]\d\d[:-]\d\d[:-]\d\d[-.\d]*Z?/g, 'TIME'],
  [/(?:127\.0\.0\.1|localhost):\d{2,5}/g, 'HOST:PORT'],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID'],
  [/\\?"duration\\?":\d+/g, 'DURATION'],
];
const SHOWN = 160;

/** The value with its keys in order, without what differs from run to run, and without the aggregate's prefix. */
export function normal(value, { home, prefix }) {
  if (Array.isArray(value)) return value.map((one) => normal(one, { home, prefix }));
  if (value && typeof value === 'object') {
    const entries = Object.entries(value).filter(([, one]) => one !== undefined);
    const clean = entries.map(([key, one]) => [normal(key, { home, prefix }), normal(one, { home, prefix })]);
    return Object.fromEntries(clean.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
  if (typeof value !== 'string') return value;
  let text = value.replaceAll(home, 'HOME');
  for (const [pattern, word] of VOLATILE) text = text.replace(pattern, word);
  if (prefix) text = text.replaceAll(`${prefix}__`, '').replaceAll(`${prefix}+`, '');
  return text;
}

const short = (value) => {
  const text = JSON.stringify(value) ?? 'nothing';
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}… (${text.length} letters, ${hash})` : text;
};

/** The first places where two values differ, as lines. */
export function differences(before, after, at = '', found = []) {
  if (found.length >= 4 || JSON.stringify(before) === JSON.stringify(after)) return found;
  const both = [before, after];
  if (both.every((one) => one && typeof one === 'object') && Array.isArray(before) === Array.isArray(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) differences(before[key], after[key], `${at}.${key}`, found);
  } else found.push(`${at || 'value'}: ${short(before)} -> ${short(after)}`);
  return found;
}

/** A client's own failure, as against an answer of the server. */
function failed(value) {
  if (value === undefined || value === null) return true;
  if (value.failed) return true;
  if (value.status !== undefined) return !/^(✔ |)(connected|ready|ok)$/i.test(String(value.status));
  return value.result === undefined && value.tools === undefined && value.end === undefined;
}

// Members of 2026-07-28 that the aggregate adds to results, for clients of each revision.
const ADDED = ['resultType', 'ttlMs', 'cacheScope', 'io.modelcontextprotocol/serverInfo'];

// And one of 2025-11-25 that clients of 2026-07-28 do not get.
const LEFT_OUT = [...ADDED, 'execution'];

/** The value without these members, and without a _meta that held nothing else. */
function without(value, members) {
  if (Array.isArray(value)) return value.map((one) => without(one, members));
  if (!value || typeof value !== 'object') return value;
  const entries = Object.entries(value).filter(([key]) => !members.includes(key));
  const clean = entries.map(([key, one]) => [key, without(one, members)]);
  return Object.fromEntries(clean.filter(([key, one]) => key !== '_meta' || Object.keys(one ?? {}).length));
}

const ENDS = ['runs on', 'ended', 'cancelled'];

/** Whether a client can use a server at all. */
export const usable = (values) => !values.start && !['connect', 'list'].some((name) => name in values && failed(values[name]));

/** { mark: '=' | '+' | '!', lines } of an operation. */
function judge(before, after) {
  if (before?.end !== undefined && after?.end !== undefined) {
    const change = ENDS.indexOf(after.end) - ENDS.indexOf(before.end);
    const mark = change < 0 ? '!' : change > 0 ? '+' : '=';
    if (mark !== '=') return { mark, lines: [`${before.end} -> ${after.end}`] };
  }
  const lines = differences(before, after);
  if (!lines.length) return { mark: '=', lines };
  const mark = failed(before) && !failed(after) ? '+' : '!';
  return { mark, lines: mark === '+' ? [`${short(before)} -> works`] : lines };
}

/** Mark and differences of one operation of a cell. */
function judgeOperation({ direct, through, road, isNewer }, operation) {
  const [before, after] = [direct?.[operation], through[operation]];
  // A start or an end in order leaves no value.
  if (operation === 'start' || operation === 'the end') {
    if (after === undefined) return { mark: '+', lines: ['only direct it fails'] };
    return before === undefined ? { mark: '!', lines: [after.failed] } : { mark: '=', lines: [] };
  }
  // The client cannot use the server directly, or has no direct way.
  if (!direct || (!usable(direct) && usable(through))) return { mark: after === undefined || after.failed ? '!' : '+', lines: [] };
  // Its name, its instructions and what it can are of the aggregate.
  if (road.prefix && operation === 'connect') {
    return { mark: !failed(before) && failed(after) ? '!' : '=', lines: [short(after)] };
  }
  const members = isNewer ? LEFT_OUT : road.prefix ? ADDED : [];
  return members.length ? judge(without(before, members), without(after, members)) : judge(before, after);
}

// { operation, mark: '=' | '+' | '!', lines } for each operation of a cell. `direct` is absent where the two cannot talk directly. With
// `isNewer` the client may speak 2026-07-28 with Lineward, and the server's revision directly.
export function compareCell(cell) {
  const operations = new Set([...Object.keys(cell.direct ?? {}), ...Object.keys(cell.through)]);
  return [...operations].map((operation) => ({ operation, ...judgeOperation(cell, operation) }));
}
