#!/usr/bin/env node
// line-server.mjs FILE: a stdio server of both eras that writes the bytes of FILE when it is called.
//
//   write      when it is there (and a call of `neighbour` too, where arguments.neighbour says so) the bytes are
//              written, with the ids and the token of those calls in them; arguments.pieces: one byte at a time. This
//              call and its neighbour are id 1 and id 2. It records "# wrote".
//   finish     answers both of them after that with "late", puts a marker on every stream, and begins anew
//   any other  is answered at once
//
// A FILE that does not end with a line end is the last thing it writes; it records "# exits" and the time.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { acknowledgement, done, late, marker, substitute } from './lines.mjs';
import { raw } from './raw-json.mjs';
import { handshake, parsed, record, serve, write } from './stdio.mjs';

const path = process.argv[2];
const file = basename(path);
const bytes = readFileSync(path, 'latin1');
const SHORT = 4096;

const calls = {}; // by name: the line of the call
let listenId;
let modern = true;

/** In turns of the event loop, so that a byte is mostly read before the next one is written. */
function writePieces(text, then) {
  if (text === '') return then();
  write(text[0]);
  setImmediate(writePieces, text.slice(1), then);
}

function wrote() {
  if (bytes.endsWith('\n')) return record('# wrote');
  record(`# exits ${Date.now()}`);
  process.exit(0);
}

function writeFile() {
  const { neighbour, pieces } = parsed(calls.write).params.arguments;
  if (neighbour && !calls.neighbour) return;
  const id = raw(calls.write, 'id');
  const text = substitute(bytes, {
    file,
    id,
    id2: calls.neighbour ? raw(calls.neighbour, 'id') : String(Number(id) + 1000),
    token: raw(calls.write, 'params', '_meta', 'progressToken'),
  });
  if (pieces && text.length < SHORT) return writePieces(text, wrote);
  if (pieces) for (const byte of text) write(byte);
  else write(text);
  wrote();
}

function finish(id) {
  for (const name of ['write', 'neighbour']) {
    if (calls[name]) write(`${late(raw(calls[name], 'id'))}\n`);
    delete calls[name];
  }
  if (!modern || listenId !== undefined) write(`${marker(modern ? listenId : undefined)}\n`);
  write(`${done(id)}\n`);
}

function call(id, line, name) {
  if (name === 'finish') return finish(id);
  if (name !== 'write' && name !== 'neighbour') return write(`${done(id)}\n`);
  calls[name] = line;
  if (calls.write) writeFile();
}

serve((line) => {
  const message = parsed(line);
  const id = raw(line, 'id');
  if (!message?.method || id === undefined) return;
  if (message.method === 'initialize') modern = false;
  const result = handshake(message);
  if (result) write(`{"jsonrpc":"2.0","id":${id},"result":${result}}\n`);
  else if (message.method === 'tools/call') call(id, line, message.params.name);
  else if (message.method === 'subscriptions/listen') write(`${acknowledgement((listenId = id))}\n`);
  else write(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"unknown"}}\n`);
});
