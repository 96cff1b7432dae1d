#!/usr/bin/env node
// Both eras, all kinds of servers and paths at once, with clients that leave, cancel and read slowly, servers that die,
// and reloads. Each call must end once, seen from outside and in the log, and all figures must return to zero without
// clients.
//
//   mixed.mjs [--seconds N] [--actors N] [--pause MS] [--seed N]
import { setTimeout as delay } from 'node:timers/promises';
import { Actor, Book } from './mixed/clients.mjs';
import { judgeLog } from './mixed/log.mjs';
import { HttpServer } from './mixed/servers.mjs';
import { Ground } from './lib/ground.mjs';
import { mib, openFds, rssBytes, seeded, within } from './lib/figures.mjs';

const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
};
const seconds = option('seconds', 60);
const actors = option('actors', 32);
const pause = option('pause', 50);
const seed = option('seed', 1);
const REPORT_MS = 60_000;
const RELOAD_MS = 15_000;
const ZERO_MS = 45_000;
// The descriptions of running servers are kept, and counted: a few hundred bytes, whatever the load.
const REMEMBERED = { lineward_buffered_bytes: 2048 };
// The figures that must be zero without clients, and all of them without servers too.
const ZERO = ['lineward_requests_in_flight', 'lineward_requests_queued', 'lineward_subscriptions', 'lineward_sessions', 'lineward_buffered_bytes'];

const ground = new Ground({ quick: false, seed });
const random = seeded(seed);
let bad;
try {
  const [modern, legacy] = [await HttpServer.start('modern'), await HttpServer.start('legacy')];
  ground.after(() => modern.close());
  ground.after(() => legacy.close());
  const more = { restart: { backoff: '1ms', maxBackoff: '20ms' }, circuitBreaker: { consecutiveFailures: 0 }, timeouts: { request: '20s' } };
  const servers = {
    sm: ground.faulty([], more),
    sl: ground.faulty(['--legacy'], { ...more, protocolEra: 'legacy', instances: 100 }),
    hm: { url: modern.url, ...more },
    hl: { url: legacy.url, ...more },
  };
  const gateway = await ground.gateway(servers, { top: { log: { level: 'info' } }, listen: { sessionIdle: '10s' } });
  const book = new Book((text) => console.log(text));
  const base = `http://${gateway.address}/mcp`;
  const roads = ['sm', 'sl', 'hm', 'hl'].flatMap((name) => {
    const kind = { stdio: name.startsWith('s'), kill: name.startsWith('s') ? 'script' : 'kill' };
    return [
      { name: `/mcp/${name}`, url: `${base}/${name}`, prefix: '', ...kind },
      { name: `/mcp ${name}`, url: base, prefix: `${name}__`, ...kind },
    ];
  });

  const began = Date.now();
  const until = began + seconds * 1000;
  let reloads = 0;
  let running = true;
  // Every second reload replaces two servers, the others change a limit in place.
  const reloading = (async () => {
    while (running) {
      for (let i = 0; running && i < RELOAD_MS / 100; ++i) await delay(100);
      if (!running) break;
      ++reloads;
      const changed = structuredClone(gateway.config);
      for (const name of ['sm', 'sl']) changed.mcpServers[name].env = { ...servers[name].env, MIXED: String(reloads >> 1) };
      for (const name of ['hm', 'hl']) changed.mcpServers[name].timeouts = { request: `${20 + (reloads % 2)}s` };
      gateway.writeConfig(changed);
      gateway.kill('SIGHUP');
    }
  })();
  const reporting = setInterval(() => {
    const ends = [...book.requests.values()].filter(({ end }) => end).length;
    console.log(`${Math.round((Date.now() - began) / 1000)} s: ${ends} requests, ${reloads} reloads, ${book.violations.length} violations, RSS ${mib(rssBytes(gateway.pid))}, ${openFds(gateway.pid)} fds, ${gateway.children().length} processes`);
  }, REPORT_MS);
  await Promise.all(Array.from({ length: actors }, () => new Actor(book, roads, (n) => Math.floor(random() * n)).run(until, pause)));
  running = false;
  clearInterval(reporting);
  await reloading;

  let left = {};
  const empty = async (remembered) => {
    const metrics = await gateway.metrics();
    left = Object.fromEntries(ZERO.map((name) => [name, metrics.sum(name)]).filter(([name, value]) => value > (remembered[name] ?? 0)));
    return Object.keys(left).length === 0;
  };
  let zero = await within(ZERO_MS, () => empty(REMEMBERED), 200);
  if (zero) {
    gateway.writeConfig({ ...gateway.config, mcpServers: {} });
    gateway.kill('SIGHUP');
    zero = await within(ZERO_MS, () => empty({}), 200);
    gateway.writeConfig(gateway.config);
    gateway.kill('SIGHUP');
    const control = ground.client(gateway, 'control');
    await within(ZERO_MS, async () => (await control.call('echo')).end === 'ok', 200);
  }
  const { ended, sanitizer } = await judgeLog(gateway.logPath, book);
  const table = [...book.counts].sort().map(([row, ends]) => `${row}\t${[...ends].sort().map(([end, n]) => `${end} ${n}`).join(', ')}`);
  console.log(table.join('\n'));
  ground.check(`${book.violations.length} violations`, book.violations.length === 0);
  ground.check(zero ? 'all counters back at zero' : `not back at zero: ${JSON.stringify(left)}`, zero);
  ground.check(`${modern.repeated + legacy.repeated} calls repeated`, modern.repeated + legacy.repeated === 0);
  if (sanitizer) ground.check('a sanitizer reported', false);
  gateway.base.children += 100; // idle processes of sessions and of the two forms of a server
  gateway.base.fds += 400;
  await ground.finish();
  console.log(`mixed: ${book.requests.size} requests in ${seconds} s, ${ended} ends in the log, ${reloads} reloads; ${ground.parts.join('; ')}`);
} catch (error) {
  bad = error;
  console.log(`mixed: fail: ${error.stack}`);
}
await ground.clean();
console.log(bad || ground.failed ? `mixed: fail: ${ground.parts.filter((part) => part.startsWith('✗')).join('; ')}` : 'mixed: pass');
process.exit(bad || ground.failed ? 1 : 0);
