// A modern server as a process of its own. startReplica() starts it, and can make it behave badly.
import { fork } from 'node:child_process';
import http from 'node:http';
import { fileURLToPath } from 'node:url';

const SELF = fileURLToPath(import.meta.url);

/**
 * become(MODE) makes it good, hung, failing, slow or killed, and resolves with the number of its calls then. The calls
 * that it got while it was not good are spoiled(), the open ones that it never answers held().
 */
export async function startReplica(t, port = 0) {
  const child = fork(SELF, [String(port)]);
  t.after(() => child.kill('SIGKILL'));
  let held = 0;
  const next = () =>
    new Promise((resolve) => {
      const look = (message) => {
        if (message.held !== undefined) return;
        child.off('message', look);
        resolve(message);
      };
      child.on('message', look);
    });
  const ask = (what) => {
    const answer = next();
    child.send(what);
    return answer;
  };
  child.on('message', (message) => (held = message.held ?? held));
  const listens = await next();
  return {
    url: `http://127.0.0.1:${listens}/mcp`,
    name: `127.0.0.1:${listens}`,
    port: listens,
    become: (mode) => ask(mode),
    spoiled: () => ask('spoiled'),
    held: () => held,
  };
}

function serve(port) {
  let mode = 'good';
  let open = 0;
  let spoiled = 0;
  let held = 0;
  const hold = (more) => process.send({ held: (held += more) });
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const { id } = JSON.parse(Buffer.concat(chunks));
      ++open;
      response.on('close', () => --open);
      const at = mode;
      if (at !== 'good') ++spoiled;
      const answer = () => {
        const status = at === 'failing' ? 500 : 200;
        const body = { jsonrpc: '2.0', id, result: { resultType: 'complete', content: [], port: server.address().port } };
        response.writeHead(status, { 'Content-Type': 'application/json' });
        response.end(at === 'failing' ? '' : JSON.stringify(body));
      };
      if (at === 'hung') {
        hold(1);
        response.on('close', () => hold(-1));
        return;
      }
      setTimeout(answer, at === 'slow' ? 500 : 2);
    });
  });
  server.keepAliveTimeout = 60_000;
  process.on('disconnect', () => process.exit(0));
  process.on('message', (what) => {
    if (what === 'killed') return process.send(open, () => process.kill(process.pid, 'SIGKILL'));
    if (what !== 'spoiled') mode = what;
    process.send(what === 'spoiled' ? spoiled : open);
  });
  server.listen(port, '127.0.0.1', () => process.send(server.address().port));
}

if (process.argv[1] === SELF) serve(Number(process.argv[2]));
