// Every way to be refused names the same metadata document, that of the endpoint that the client uses (RFC 9728, 3.3).
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { startIssuer } from '../lib/issuer.mjs';
import { freePort } from '../lib/ports.mjs';
import { answer, call, json, startOrigin } from '../lib/raw-origin.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';
import { NOT_PLAIN } from '../lib/transport.mjs';

const bearer = (token) => ({ headers: { authorization: `Bearer ${token}` } });
const told = ({ headers }) => /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate'))?.[1];

describe('the way to more scopes', { skip: DIRECT || NOT_PLAIN }, () => {
  for (const [path, end] of [
    ['/mcp', ''],
    ['/api/tools', ''],
    ['/api/tools', '/'],
  ])
    for (const servers of [1, 2])
      test(`listen.path ${path}, resource ending with "${end}", servers: ${servers}`, async (t) => {
        const port = await freePort();
        const base = `http://127.0.0.1:${port}${path}`;
        const issuer = await startIssuer(t, { resource: base });
        const origin = await startOrigin(t, (_, response, { id }) =>
          json(response, 200, answer(id, { content: [], resultType: 'complete' })),
        );
        const up = { url: origin.url, protocolEra: 'modern' };
        await startGatewayFrom(
          t,
          {
            listen: { address: `127.0.0.1:${port}`, path },
            auth: {
              jwt: { issuer: issuer.url, jwks: { url: `${issuer.url}/jwks` }, requiredScopes: ['mcp.base'], toolScopes: { drop: 'admin', erase: 'erase' } },
              resourceMetadata: { resource: base + end },
            },
            plugins: [{ toolFilter: { scopes: { wipe: 'admin', erase: 'admin' } } }],
            mcpServers: servers === 1 ? { up } : { up, other: up },
          },
          { args: ['--ops', 'off', '--admin', 'off'] },
        );
        const together = { endpoint: base, prefix: servers === 1 ? '' : 'up__' };
        const alone = { endpoint: `${base}/up`, prefix: '' };
        for (const { endpoint, prefix } of servers === 1 ? [together] : [together, alone]) {
          const audience = endpoint === base ? base + end : endpoint;
          const token = issuer.token({ aud: audience, scope: 'mcp.base mcp.tools' });
          const nobody = await call(endpoint, 'tools/call', { name: `${prefix}get` });
          assert.equal(nobody.status, 401);
          const url = told(nobody);
          const { resource } = await (await fetch(url)).json();
          assert.equal(resource, audience);
          for (const name of ['drop', 'wipe']) {
            const refused = await call(endpoint, 'tools/call', { name: prefix + name }, bearer(token));
            assert.equal(refused.status, 403, JSON.stringify(refused.message));
            assert.match(refused.headers.get('www-authenticate'), /^Bearer error="insufficient_scope".*scope="mcp.base mcp.tools admin"/);
            assert.equal(told(refused), url);
          }
          assert.equal((await call(endpoint, 'tools/call', { name: `${prefix}get` }, bearer(token))).status, 200);
          // A client that takes each challenge literally comes through all policies.
          const asked = [];
          for (let scope = ''; asked.length < 5; ) {
            const step = await call(endpoint, 'tools/call', { name: `${prefix}erase` }, bearer(issuer.token({ aud: audience, scope })));
            if (step.status === 200) break;
            scope = / scope="([^"]*)"/.exec(step.headers.get('www-authenticate'))[1];
            asked.push(scope);
          }
          assert.deepEqual(asked, ['mcp.base', 'mcp.base erase', 'mcp.base erase admin']);
        }
      });
});
