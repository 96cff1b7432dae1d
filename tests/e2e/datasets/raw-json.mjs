// Finds values in JSON text without parsing it, so that every byte can be compared. Texts are latin1 strings: one
// character is one byte.

const BLANK = /[ \t\r\n]/;

const afterBlanks = (text, at) => {
  while (at < text.length && BLANK.test(text[at])) at++;
  return at;
};

function afterString(text, at) {
  for (at++; text[at] !== '"'; at++) {
    if (at >= text.length) throw new Error('an unfinished string');
    if (text[at] === '\\') at++;
  }
  return at + 1;
}

function afterValue(text, at) {
  if (text[at] === '"') return afterString(text, at);
  if (text[at] !== '{' && text[at] !== '[') {
    while (at < text.length && !/[,\]} \t\r\n]/.test(text[at])) at++;
    return at;
  }
  let depth = 0;
  for (;;) {
    if (at >= text.length) throw new Error('an unfinished object or array');
    if (text[at] === '"') {
      at = afterString(text, at);
      continue;
    }
    if (text[at] === '{' || text[at] === '[') depth++;
    if ((text[at] === '}' || text[at] === ']') && --depth === 0) return at + 1;
    at++;
  }
}

/** The members of the object that begins at `at`: [{key, start, end}], start and end of the value. */
export function members(text, at = 0) {
  at = afterBlanks(text, at);
  if (text[at] !== '{') return [];
  const found = [];
  at = afterBlanks(text, at + 1);
  while (text[at] === '"') {
    const keyEnd = afterString(text, at);
    const key = JSON.parse(text.slice(at, keyEnd));
    at = afterBlanks(text, keyEnd);
    if (text[at] !== ':') throw new Error(`no colon at byte ${at}`);
    const start = afterBlanks(text, at + 1);
    const end = afterValue(text, start);
    found.push({ key, start, end });
    at = afterBlanks(text, end);
    if (text[at] === ',') at = afterBlanks(text, at + 1);
  }
  return found;
}

/** {start, end} of the value at that path of keys, or undefined. */
export function locate(text, ...path) {
  let place = { start: 0, end: text.length };
  for (const key of path) {
    place = members(text, place.start).find((member) => member.key === key);
    if (!place) return undefined;
  }
  return place;
}

/** The bytes of the value at that path, or undefined; also when the text is no JSON at all. */
export function raw(text, ...path) {
  try {
    const place = locate(text, ...path);
    return place && text.slice(place.start, place.end);
  } catch {
    return undefined;
  }
}

/** The text with the value at that path replaced. */
export function replaced(text, value, ...path) {
  const { start, end } = locate(text, ...path);
  return text.slice(0, start) + value + text.slice(end);
}

export const isUtf8 = (text) => {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'latin1'));
    return true;
  } catch {
    return false;
  }
};

/** For messages to people: not too long, and with nothing in it that moves the cursor. */
export const shown = (text) => {
  const long = text.length > 400 ? `${text.slice(0, 300)} … ${text.slice(-60)} (${text.length} bytes)` : text;
  return long.replace(/[^ -~]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
};
