// The target of a test: Lineward in front of a command, or with LINEWARD_E2E_DIRECT=1 the command itself, which
// shows whether the test is right.
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { bounded } from './events.mjs';
import { startGateway, startListener } from './gateway.mjs';
import { MODERN } from './modern.mjs';
import { ours } from './reason.mjs';

export const DIRECT = process.env.LINEWARD_E2E_DIRECT === '1';
export { MODERN };
export const LEGACY = '2025-11-25';

/**
 * Starts the target of one test and ends it afterwards; without a test, ending it is the caller's.
 *
 * @param t the test, or undefined
 * @param {string[]} command the stdio server
 * @param {object} options env for it; args for Lineward; http: whether the command knows --http
 */
export async function startTarget(t, command, { env = {}, args = [], http = false } = {}) {
  let target;
  if (!DIRECT) target = await startGateway({ args, command, env });
  else if (http)
    target = await startListener(command[0], [...command.slice(1), '--http', '0'], { env, strict: false });
  else target = { command, env, stop: async () => {} };
  t?.after(() => target.stop());
  return target;
}

const CLOSE_MS = 5_000;
const INFO = { name: 'lineward-e2e', version: '1.0.0' };

/**
 * A connected SDK 1.x client. Handlers go by schema: [[schema, handler], …]. It ends with the test, its session
 * before it.
 */
export async function legacyClient(t, target, { capabilities = {}, requests = [], notifications = [] } = {}) {
  const client = new LegacyClient(INFO, { capabilities });
  for (const [schema, handler] of requests) client.setRequestHandler(schema, handler);
  for (const [schema, handler] of notifications) client.setNotificationHandler(schema, handler);
  let transport;
  if (target.url) {
    transport = new LegacyHttp(new URL(target.url));
  } else {
    const [command, ...args] = target.command;
    transport = new StdioClientTransport({
      command,
      args,
      env: { ...process.env, ...target.env },
      stderr: 'ignore',
    });
  }
  t.after(async () => {
    const goodbye = transport.sessionId ? transport.terminateSession() : undefined;
    await bounded(Promise.resolve(goodbye), CLOSE_MS, 'the DELETE of a session').catch(() => {});
    await client.close();
  });
  await client.connect(transport);
  return client;
}

/** A connected SDK 2.x client, pinned to the modern revision. Handlers go by method: {method: handler}. */
export async function modernClient(
  t,
  target,
  { capabilities = {}, requests = {}, notifications = {}, options = {} } = {},
) {
  const client = new ModernClient(INFO, {
    capabilities,
    versionNegotiation: { mode: { pin: MODERN } },
    ...options,
  });
  for (const [method, handler] of Object.entries(requests)) client.setRequestHandler(method, handler);
  for (const [method, handler] of Object.entries(notifications))
    client.setNotificationHandler(method, handler);
  t.after(() => client.close());
  await client.connect(new ModernHttp(new URL(target.url)));
  return client;
}

export const textOf = (result) => result.content.map((block) => block.text ?? '').join('');
export const reasonOf = (error) => ours(error.data)?.reason;
