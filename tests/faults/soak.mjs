#!/usr/bin/env node
// A million calls with cancels, restarts and limits: does any figure grow, does a client get another's
// answer?
//
//   soak.mjs [--calls N] [--seed N] [--brief]
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Ground } from './lib/ground.mjs';
import { mib, openFds, rssBytes, within } from './lib/figures.mjs';
import { program } from './lib/programs.mjs';

const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
};
const calls = option('calls', 1_000_000);
const seed = option('seed', 1);
const brief = process.argv.includes('--brief');
const STRETCHES = 20;
const say = (text) => brief || console.log(text);

/** The slope of y over x by least squares. */
function slope(points) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [mx, my] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const over = points.reduce((sum, [x, y]) => sum + (x - mx) * (y - my), 0);
  return over / points.reduce((sum, [x]) => sum + (x - mx) ** 2, 0);
}

const ground = new Ground({ quick: false, seed });
let bad = '';
try {
  const restart = { backoff: '1ms', maxBackoff: '20ms' };
  const gateway = await ground.gateway({ up: ground.faulty([], { restart, limits: { maxInFlight: 256 } }) }, { top: { log: { level: 'error' } } }).catch(() =>
    // Without log lines there is no address either.
    ground.gateway({ up: ground.faulty([], { restart, limits: { maxInFlight: 256 } }) }),
  );
  const began = performance.now();
  const stretch = Math.ceil(calls / STRETCHES);
  const load = spawn(program('fault-soak'), ['--port', gateway.address.split(':')[1], '--path', '/mcp/up', '--clients', '32', '--calls', String(calls), '--stretch', String(stretch), '--seed', String(seed)], { stdio: ['pipe', 'pipe', 'inherit'] });
  ground.after(() => load.kill('SIGKILL'));
  const points = [];
  let last = { ok: 0, errors: 0, left: 0 };
  say('   calls  calls/s       ok   errors     left  wrong  hung        RSS  fds  processes');
  for await (const line of createInterface({ input: load.stdout })) {
    last = JSON.parse(line);
    const done = last.ok + last.errors + last.left + last.wrong + last.hung;
    // At rest: cancelled calls are forgotten, the process that was killed is there again.
    await within(6000, () => openFds(gateway.pid) <= gateway.base.fds + 32 && gateway.children().length <= gateway.base.children, 20);
    const rss = rssBytes(gateway.pid);
    points.push([done, rss]);
    say(`${String(done).padStart(8)} ${String(Math.round(stretch / last.seconds)).padStart(8)} ${String(last.ok).padStart(8)} ${String(last.errors).padStart(8)} ${String(last.left).padStart(8)} ${String(last.wrong).padStart(6)} ${String(last.hung).padStart(5)} ${mib(rss).padStart(10)} ${String(openFds(gateway.pid)).padStart(4)} ${String(gateway.children().length).padStart(10)}`);
    load.stdin.write('\n');
  }
  load.stdin.end();
  const seconds = (performance.now() - began) / 1000;
  const done = points.at(-1)?.[0] ?? 0;
  const warm = points.filter(([x]) => x >= Math.min(100_000, calls / 2));
  const perMillion = warm.length > 2 ? slope(warm) * 1_000_000 : 0;
  await ground.finish();
  const judged = !ground.sanitized && calls >= 300_000;
  if (last.wrong || last.hung) bad = `${last.wrong} wrong (${last.why}), ${last.hung} hung`;
  else if (done < calls) bad = `only ${done} of ${calls} calls`;
  else if (judged && perMillion > 2 ** 20) bad = 'RSS grows';
  else if (ground.failed) bad = ground.parts.join('; ');
  console.log(
    `soak: ${done} calls in ${Math.round(seconds)} s (${Math.round(done / seconds)}/s): ${last.ok} own answers, ${last.errors} own errors (limits, restarts), ${last.left} left; ${last.wrong} wrong, ${last.hung} hung; ` +
      `RSS ${mib(warm.at(-1)?.[1] ?? 0)}, slope ${(perMillion / 2 ** 20).toFixed(2)} MiB per 1 M calls${judged ? '' : ' (not judged)'}; fds and processes ${ground.failed ? 'not ' : ''}back to base; ${bad ? `fail: ${bad}` : 'pass'}`,
  );
} catch (error) {
  bad = error.message;
  console.log(`soak: fail: ${bad}`);
}
await ground.clean();
process.exit(bad || ground.failed ? 1 : 0);
