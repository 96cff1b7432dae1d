// Which variables a stdio server gets: what a file names and what programs need, never what another server was given.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { startGateway, startGatewayFrom } from '../lib/gateway.mjs';
import { call } from '../lib/raw-origin.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const OURS = ['OPEN', 'NAMED', 'TOKEN', 'OWN', 'LC_ALL', 'TERM', 'no_proxy', 'LINEWARD_LOG_LEVEL'];
const env = { ...Object.fromEntries(OURS.map((name) => [name, 'x'])), LC_ALL: 'C', LINEWARD_LOG_LEVEL: 'info' };
// Says which of them it has in its last words, which the error of the call repeats.
const tells = { command: 'sh', args: ['-c', `echo "has $(env | cut -d= -f1 | grep -x ${OURS.map((name) => `-e ${name}`).join(' ')} | sort | tr '\\n' ' ')end" >&2; exit 1`], protocolEra: 'modern' };
const had = ({ message }) => /has ([^"]*?) ?end/.exec(message.error.message)?.[1].split(' ');

const ask = async (url) => had(await call(url, 'tools/call', { name: 'x', arguments: {} }));

describe('the environment of a server', { skip: DIRECT }, () => {
  test('from a file: what programs need, what is named, nothing that others were given', async (t) => {
    const servers = {
      usual: { ...tells },
      named: { ...tells, inheritEnv: ['NAMED', 'TOKEN'] },
      open: { ...tells, inheritEnv: true },
      minimal: { ...tells, inheritEnv: false },
      holder: { ...tells, env: { OWN: '${env:TOKEN}' }, inheritEnv: true },
    };
    const gateway = await startGatewayFrom(t, { mcpServers: servers, admin: { address: 'off' }, ops: { address: 'off' } }, { env });
    const of = (name) => ask(`${gateway.url}/${name}`);
    assert.deepEqual(await of('usual'), ['LC_ALL', 'TERM', 'no_proxy']);
    assert.deepEqual(await of('named'), ['LC_ALL', 'NAMED', 'TERM', 'no_proxy']);
    assert.deepEqual(await of('open'), ['LC_ALL', 'NAMED', 'OPEN', 'OWN', 'TERM', 'no_proxy']);
    assert.deepEqual(await of('minimal'), ['']);
    assert.deepEqual(await of('holder'), ['LC_ALL', 'NAMED', 'OPEN', 'OWN', 'TERM', 'TOKEN', 'no_proxy']);
    assert.match(gateway.stderr(), /TOKEN is used elsewhere in the configuration, so 'named' does not inherit it/);
  });

  test('of a command behind --: that of the calling shell', async (t) => {
    const gateway = await startGateway({ command: [tells.command, ...tells.args], args: ['--protocol-era', 'modern'], env });
    t.after(() => gateway.stop());
    assert.deepEqual(await ask(gateway.url), OURS.filter((name) => name !== 'LINEWARD_LOG_LEVEL').sort());
  });
});
