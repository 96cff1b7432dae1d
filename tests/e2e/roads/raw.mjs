// Messages down to their bytes: what JSON.parse would lose (1.0, thirty digits, escapes) is written and compared as text.

/** Text that goes into a message as it is. */
export class Raw {
  constructor(text) {
    this.text = text;
  }
}
export const raw = (text) => new Raw(text);

/** JSON.stringify, with the Raws in it as they are. */
export function write(value) {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(',')}}`;
}

/** A key for an id: equal ids of one type are equal, whatever the spelling. */
export const idKey = (id) => JSON.stringify(id);

/** Cuts a stream of bytes into lines. */
export function lines(stream, take) {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop();
    for (const line of parts) if (line.trim()) take(line);
  });
}

/** Cuts an event stream into events: {event, id, data}. */
export function events(stream, take) {
  let now = {};
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop();
    for (const part of parts) {
      const line = part.replace(/\r$/, '');
      if (line === '') {
        if (now.data) take(now);
        now = {};
        continue;
      }
      const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
      if (name === 'data') now.data = now.data === undefined ? value : `${now.data}\n${value}`;
      else if (name) now[name] = value;
    }
  });
}
