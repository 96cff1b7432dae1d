// The reading of each spelling by the servers without a gateway in front: how many of the forbidden requests they
// understand as such.
import { ask, METHODS, spellingsOf } from './ask.mjs';
import { HttpClient } from '../roads/clients.mjs';
import { isForbidden } from './judge.mjs';

export async function asDirectly(judge, plain) {
  const counts = new Map();
  for (const era of ['legacy', 'modern']) {
    const name = `direct-${era}`;
    const server = await judge.http(era, name);
    const client = new HttpClient({ url: server.url }, era);
    client.more = {};
    await client.start();
    for (const what of METHODS.filter(({ eras, name: method }) => (eras ?? /./).test(era) && !/task/.test(method))) {
      for (const spelling of spellingsOf(what)) {
        const before = judge.of(name).length;
        const [forbidden, allowed] = what.key === 'uri' ? ['file:///secret/1', 'file:///open/1'] : ['secret_1', 'open_1'];
        await ask(client, what, spelling, forbidden, allowed);
        await ask(client, METHODS[0], plain, `open_${before}`, `open_${before}`);
        await judge.reports.until((report) => report.server === name && report.target === `open_${before}`, 'the call behind it', 30_000);
        const [done, all] = counts.get(spelling.name) ?? [0, 0];
        counts.set(spelling.name, [done + (judge.of(name).slice(before).some(isForbidden) ? 1 : 0), all + 1]);
      }
    }
    await client.close();
    await server.end();
  }
  const width = Math.max(...[...counts.keys()].map(({ length }) => length));
  const rows = [...counts].map(([name, [done, all]]) => `${name.padEnd(width)}  ${String(done).padStart(2)} of ${String(all).padStart(2)}`);
  return ['understood by the SDK servers themselves as what is forbidden:', ...rows].join('\n');
}
