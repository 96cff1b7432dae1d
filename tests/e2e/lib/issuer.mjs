// An authorization server of the tests' own: keys, tokens signed with them, a JWKS endpoint that can misbehave, and
// the client-credentials grant for the SDKs' providers.
import { createSign, generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import { once } from 'node:events';

const encode = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

const KINDS = {
  RS256: ['rsa', { modulusLength: 2048 }],
  PS256: ['rsa', { modulusLength: 2048 }],
  ES256: ['ec', { namedCurve: 'P-256' }],
  ES384: ['ec', { namedCurve: 'P-384' }],
  ES512: ['ec', { namedCurve: 'P-521' }],
  EdDSA: ['ed25519', {}],
};

/** A key pair for one algorithm: {kid, alg, jwk, sign(text)}. */
export function makeKey(kid, alg) {
  const { privateKey, publicKey } = generateKeyPairSync(...KINDS[alg]);
  const signed = (text) => {
    if (alg === 'EdDSA') return sign(null, Buffer.from(text), privateKey);
    const signer = createSign(`sha${alg.slice(2)}`).update(text);
    if (alg.startsWith('ES')) return signer.sign({ key: privateKey, dsaEncoding: 'ieee-p1363' });
    return signer.sign(alg.startsWith('PS') ? { key: privateKey, padding: 6, saltLength: 32 } : privateKey);
  };
  return { kid, alg, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' }, sign: signed };
}

export function signToken(key, claims, header = {}) {
  const text = `${encode({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })}.${encode(claims)}`;
  return `${text}.${key.sign(text).toString('base64url')}`;
}

/**
 * @returns {object} url; keys (what is published, may be changed); asked (how often); behave(response) plays another
 *   JWKS answer while it is set; token(claims, header); granted (scopes of each token that was handed out)
 */
export async function startIssuer(t, { resource, keys = [makeKey('k1', 'ES256')], clients = {} } = {}) {
  const issuer = { keys, asked: 0, behave: undefined, granted: [] };
  const json = (response, status, value) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.url === '/jwks') {
      issuer.asked++;
      if (issuer.behave) return issuer.behave(response);
      return json(response, 200, { keys: issuer.keys.map(({ jwk }) => jwk) });
    }
    if (request.url === '/.well-known/oauth-authorization-server') {
      return json(response, 200, {
        issuer: issuer.url,
        token_endpoint: `${issuer.url}/token`,
        authorization_endpoint: `${issuer.url}/authorize`,
        response_types_supported: ['code'],
        grant_types_supported: ['client_credentials'],
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
        code_challenge_methods_supported: ['S256'],
      });
    }
    if (request.url !== '/token') return json(response, 404, {});
    const form = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
    const [id, secret] = Buffer.from(request.headers.authorization?.slice(6) ?? '', 'base64').toString().split(':');
    if (!clients[id] || clients[id] !== secret) return json(response, 401, { error: 'invalid_client' });
    issuer.granted.push({ scope: form.scope, resource: form.resource });
    json(response, 200, {
      access_token: issuer.token({ sub: id, aud: form.resource, scope: form.scope ?? '' }),
      token_type: 'Bearer',
      expires_in: 600,
      scope: form.scope,
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  issuer.url = `http://127.0.0.1:${server.address().port}`;
  issuer.claims = (more) => {
    const now = Math.floor(Date.now() / 1000);
    return { iss: issuer.url, sub: 'alice', aud: resource, iat: now, exp: now + 600, scope: 'mcp.tools', ...more };
  };
  issuer.token = (more, { header, key = issuer.keys[0] } = {}) => signToken(key, issuer.claims(more), header);
  return issuer;
}
