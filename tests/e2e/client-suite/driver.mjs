// The client under test of the official suite's client scenarios: `lineward stdio` in front of the scenario's server,
// with a small SDK client behind it that does what the scenario asks. So every byte that the scenario sees is Lineward's.
//
// The suite calls:  node driver.mjs SERVER-URL   with MCP_CONFORMANCE_SCENARIO, _PROTOCOL_VERSION and _CONTEXT set.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { binary } from '../lib/binary.mjs';

const MODERN = '2026-07-28';
const INFO = { name: 'lineward-client-suite', version: '1.0.0' };
const CAPABILITIES = { roots: {}, sampling: {}, elicitation: { form: { applyDefaults: true } } };

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const modern = (process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? MODERN) >= MODERN;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

/** The issuer of tokens for this server: the suite does not name it. */
async function issuer() {
  const { origin, pathname } = new URL(url);
  for (const path of [pathname, '']) {
    const answer = await fetch(`${origin}/.well-known/oauth-protected-resource${path}`);
    if (answer.ok) return (await answer.json()).authorization_servers[0];
  }
  return undefined;
}

/** The configuration that a user would write for this server. */
async function configuration() {
  const server = { url };
  if (context.client_id) {
    server.clientCredentials = {
      clientId: context.client_id,
      issuer: await issuer(),
      ...(context.client_secret && { clientSecret: context.client_secret }),
      ...(context.private_key_pem && { privateKey: context.private_key_pem, algorithm: context.signing_algorithm }),
    };
  }
  return { mcpServers: { suite: server } };
}

async function connect(folder) {
  const file = join(folder, 'lineward.json');
  writeFileSync(file, JSON.stringify(await configuration()));
  const start = { command: binary(), args: ['stdio', file], stderr: 'inherit', env: process.env };
  const client = modern
    ? new ModernClient(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode: { pin: MODERN } } })
    : new LegacyClient(INFO, { capabilities: CAPABILITIES });
  const answer = async () => ({ action: 'accept', content: { confirmed: true } });
  if (modern) client.setRequestHandler('elicitation/create', answer);
  else client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: {} }));
  await client.connect(modern ? new ModernStdio(start) : new LegacyStdio(start));
  return client;
}

const callAll = async (client, argumentsOf) => {
  const { tools } = await client.listTools();
  for (const { name } of tools) await client.callTool({ name, arguments: argumentsOf(name) });
  return tools;
};

const steps = {
  initialize: async (client) => client.listTools(),
  tools_call: async (client) => callAll(client, () => ({ a: 2, b: 3 })),
  'elicitation-sep1034-client-defaults': async (client) => callAll(client, () => ({})),
  'sse-retry': async (client) => callAll(client, () => ({})),
  'request-metadata': async (client) => client.listTools(),
  'json-schema-ref-no-deref': async (client) => client.listTools(),
  'json-schema-2020-12-preservation': async (client) => {
    const { tools } = await client.listTools();
    const { inputSchema } = tools.find(({ name }) => name === 'json_schema_2020_12_tool');
    await client.callTool({ name: 'json_schema_echo', arguments: { schema: inputSchema } });
  },
  'http-standard-headers': async (client) => {
    await callAll(client, () => ({}));
    const { resources } = await client.listResources();
    for (const { uri } of resources) await client.readResource({ uri });
    const { prompts } = await client.listPrompts();
    for (const { name } of prompts) await client.getPrompt({ name, arguments: {} });
  },
  'http-custom-headers': async (client) => {
    await client.listTools();
    for (const call of context.toolCalls) await client.callTool(call);
  },
  'http-invalid-tool-headers': async (client) => callAll(client, () => ({ region: 'us-west1', query: 'x' })),
  'sep-2322-client-request-state': async (client) => {
    await Promise.all([
      client.callTool({ name: 'test_mrtr_echo_state', arguments: {} }),
      client.callTool({ name: 'test_mrtr_unrelated', arguments: {} }),
    ]);
    await client.callTool({ name: 'test_mrtr_no_state', arguments: {} });
    // Refused by this SDK client for its missing resultType; Lineward passes it as it is.
    await client.callTool({ name: 'test_mrtr_no_result_type', arguments: {} }).catch(() => {});
  },
  'auth/client-credentials-jwt': async (client) => callAll(client, () => ({})),
  'auth/client-credentials-basic': async (client) => callAll(client, () => ({})),
};

const folder = mkdtempSync(join(tmpdir(), 'lineward-suite-'));
try {
  if (!steps[scenario]) throw new Error(`no steps for ${scenario}`);
  const client = await connect(folder);
  await steps[scenario](client).finally(() => client.close());
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
