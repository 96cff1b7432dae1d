// Common parts of the servers here: lines in, bytes out, and a record of every line. Text is latin1: one character is
// one byte.
import { appendFileSync } from 'node:fs';

const log = process.env.FAKE_LOG;

/** Appends to the file in FAKE_LOG, in one write: the process id, a blank, the text. */
export const record = (text) => log && appendFileSync(log, Buffer.from(`${process.pid} ${text}\n`, 'latin1'));

export const write = (text) => process.stdout.write(Buffer.from(text, 'latin1'));

/** Records every line of stdin, then hands it over. Ends with stdin. */
export function serve(onLine) {
  let rest = '';
  process.stdin.on('data', (bytes) => {
    const lines = (rest + bytes.toString('latin1')).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      record(line);
      onLine(line);
    }
  });
  process.stdin.on('end', () => {
    if (rest) record(`# unfinished: ${rest}`);
    process.exit(0);
  });
}

/** The message by its meaning, or undefined. */
export function parsed(line) {
  try {
    return JSON.parse(Buffer.from(line, 'latin1').toString('utf8'));
  } catch {
    return undefined;
  }
}

const INFO = '{"name":"dataset","version":"1"}';

/** The results of the methods that every server here knows. */
export function handshake({ method, params }) {
  switch (method) {
    case 'server/discover':
      return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":${INFO}}}`;
    case 'initialize':
      return `{"protocolVersion":${JSON.stringify(params.protocolVersion)},"capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":${INFO}}`;
    case 'ping':
      return '{}';
    default:
      return undefined;
  }
}
