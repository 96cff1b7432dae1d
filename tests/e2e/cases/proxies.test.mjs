// The light part of `make proxies`: haproxy with the configuration of docs/proxies.md keeps what that page says.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { faults, stand } from '../../proxies/run.mjs';
import { measure } from '../../proxies/measure.mjs';
import { installed, start } from '../../proxies/proxies.mjs';
import { temporaryFolder } from '../lib/events.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const [haproxy] = installed(['haproxy']).here;
const skip = DIRECT || (haproxy ? false : 'there is no haproxy here (apt-get install haproxy)');
if (!DIRECT && skip) console.log(`# proxies: ${skip}`);
const SLACK = 4; // many tests run at once

async function measured(t) {
  const folder = temporaryFolder(t);
  const base = await stand(folder);
  t.after(() => base.stop());
  const front = await start(haproxy, base.gateway, folder);
  t.after(() => front.stop());
  return measure(front.port, base.journal, { quietMs: 0 });
}

describe('proxies', { skip }, () => {
  test('haproxy passes leaves on, events at once, and heads within a second', async (t) => {
    assert.deepEqual(faults('haproxy', await measured(t), SLACK), []);
  });
});
