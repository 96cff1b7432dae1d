// The servers: their commands on stdio and over HTTP, and calls that need no account.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { legacyFixture, modernFixture } from '../../e2e/lib/servers.mjs';
import { fileIn, programOf } from './packages.mjs';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const LONG = 300_000;
// Below the 128 KiB that Linux allows for one argument: some clients take a call's arguments there.
const LONG_ARGUMENT = 'long ✓ '.repeat(9000);
const UNKNOWN = { tool: 'no-such-tool', args: {} };

const kubeconfig = (home) => {
  const path = join(home, 'kubeconfig');
  const cluster = { name: 'none', cluster: { server: 'http://127.0.0.1:9' } };
  const context = { name: 'none', context: { cluster: 'none', user: 'none' } };
  const config = { apiVersion: 'v1', kind: 'Config', clusters: [cluster], users: [{ name: 'none', user: {} }], contexts: [context] };
  writeFileSync(path, JSON.stringify({ ...config, 'current-context': 'none' }));
  return path;
};

/** The folder that the file server shows. */
const files = (home) => {
  const folder = join(home, 'files');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'small.txt'), 'grüße ✓ "quoted"\n');
  writeFileSync(join(folder, 'long.txt'), 'long ✓ '.repeat(LONG / 7));
  return folder;
};

/**
 * A server has a command on stdio, and one over HTTP with its path if it speaks HTTP. Its calls are operations of each client. Its
 * environment is set by env(1), so that neither a client nor a gateway changes it. Without a package it is a fixture of tests/e2e.
 */
export const SERVERS = {
  everything: {
    package: 'everything',
    language: 'TypeScript',
    stdio: (cache) => programOf(cache, 'everything'),
    http: (cache, home, port) => ({ command: ['env', `PORT=${port}`, ...programOf(cache, 'everything'), 'streamableHttp'], path: '/mcp' }),
    calls: () => ({
      text: { tool: 'echo', args: { message: 'grüße ✓ "quoted"' } },
      structured: { tool: 'get-structured-content', args: { location: 'Chicago' } },
      image: { tool: 'get-tiny-image', args: {} },
      progress: { tool: 'trigger-long-running-operation', args: { duration: 1, steps: 4 } },
      error: { tool: 'echo', args: {} },
      large: { tool: 'echo', args: { message: LONG_ARGUMENT } },
      unknown: UNKNOWN,
    }),
    prompt: { name: 'args-prompt', args: { city: 'Ulm' } },
    resource: `demo://resource/static/document/features.${'md'}`, // spelled so that it is no citation of a page
    task: { tool: 'simulate-research-query', args: { topic: 'rivers' } },
  },
  filesystem: {
    package: 'filesystem',
    language: 'TypeScript',
    stdio: (cache, home) => [...programOf(cache, 'filesystem'), files(home)],
    calls: (home) => ({
      text: { tool: 'read_text_file', args: { path: join(home, 'files/small.txt') } },
      error: { tool: 'read_text_file', args: { path: join(home, 'files/none.txt') } },
      large: { tool: 'read_text_file', args: { path: join(home, 'files/long.txt') } },
      unknown: UNKNOWN,
    }),
  },
  playwright: {
    package: 'playwright',
    language: 'TypeScript',
    missing: () => (existsSync(CHROMIUM) ? undefined : `there is no ${CHROMIUM}`),
    options: ['--headless', '--isolated', '--no-sandbox', '--executable-path', CHROMIUM],
    stdio: (cache) => [...programOf(cache, 'playwright'), ...SERVERS.playwright.options],
    // It refuses the name 127.0.0.1.
    http: (cache, home, port) => ({
      command: [...SERVERS.playwright.stdio(cache), '--port', String(port)],
      path: '/mcp',
      host: 'localhost',
    }),
    calls: () => ({
      text: { tool: 'browser_tabs', args: { action: 'list' } },
      error: { tool: 'browser_navigate', args: {} },
      large: { tool: 'browser_evaluate', args: { function: `() => "x".repeat(${LONG})` } },
      unknown: UNKNOWN,
    }),
  },
  kubernetes: {
    package: 'kubernetes',
    language: 'Go',
    native: (cache) => fileIn(cache, 'kubernetes', /bin\/kubernetes-mcp-server-linux-[a-z0-9]+$/),
    stdio: (cache, home) => [SERVERS.kubernetes.native(cache), '--kubeconfig', kubeconfig(home)],
    http: (cache, home, port) => ({
      command: [...SERVERS.kubernetes.stdio(cache, home), '--bind-address', '127.0.0.1', '--port', String(port)],
      path: '/mcp',
    }),
    calls: () => ({
      text: { tool: 'configuration_view', args: {} },
      error: { tool: 'namespaces_list', args: {} },
      unknown: UNKNOWN,
    }),
  },
  cron: {
    package: 'cron',
    language: 'Go',
    stdio: (cache, home) => [...programOf(cache, 'cron'), '-transport', 'stdio', '-db-path', join(home, 'cron.db')],
    http: (cache, home, port) => ({
      command: [...programOf(cache, 'cron'), '-transport', 'http', '-address', '127.0.0.1', '-port', String(port), '-db-path', join(home, 'cron.db')],
      path: '/mcp',
    }),
    calls: () => ({
      text: { tool: 'list_tasks', args: {} },
      error: { tool: 'get_task', args: { id: 'none' } },
      unknown: UNKNOWN,
    }),
  },
  slack: {
    package: 'slack',
    language: 'Go',
    // The token that this server documents for trying it: it asks no one.
    env: { SLACK_MCP_XOXP_TOKEN: 'demo' },
    native: (cache) => fileIn(cache, 'slack', /bin\/slack-mcp-server-linux-[a-z0-9]+$/),
    stdio: (cache) => [SERVERS.slack.native(cache), '--no-cache', '--transport', 'stdio'],
    http: (cache, home, port) => ({
      command: ['env', 'SLACK_MCP_HOST=127.0.0.1', `SLACK_MCP_PORT=${port}`, SERVERS.slack.native(cache), '--no-cache', '--transport', 'http'],
      path: '/mcp',
    }),
    calls: () => ({
      text: { tool: 'channels_list', args: { channel_types: 'public_channel' } },
      error: { tool: 'conversations_history', args: {} },
      unknown: UNKNOWN,
    }),
  },
  azure: {
    package: 'azure',
    language: 'C#',
    env: { AZURE_MCP_COLLECT_TELEMETRY: 'false', DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: '1' },
    stdio: (cache) => [...programOf(cache, 'azure'), 'server', 'start'],
    http: (cache, home, port) => ({
      command: ['env', `ASPNETCORE_URLS=http://127.0.0.1:${port}`, ...SERVERS.azure.stdio(cache), '--transport', 'http', '--dangerously-disable-http-incoming-auth'],
      path: '/',
    }),
    calls: () => ({
      text: { tool: 'azureterraformbestpractices', args: { intent: 'naming' } },
      error: { tool: 'group_list', args: {} },
      large: {
        tool: 'get_azure_bestpractices',
        args: { intent: 'all', command: 'get_azure_bestpractices_get', parameters: { resource: 'general', action: 'all' } },
      },
      unknown: UNKNOWN,
    }),
  },
  // On the official SDK of 2026-07-28 alone: most clients cannot use it directly.
  modern: {
    language: 'TypeScript, 2026-07-28 only',
    stdio: () => modernFixture(),
    http: (cache, home, port) => ({ command: modernFixture('--http', String(port)), path: '/mcp' }),
    calls: () => ({
      text: { tool: 'test_simple_text', args: {} },
      error: { tool: 'test_error_handling', args: {} },
      unknown: UNKNOWN,
    }),
  },
  // On the official SDK of 2025-11-25; it records how a call ended.
  legacy: {
    language: 'TypeScript, records cancels',
    stdio: () => legacyFixture(),
    http: (cache, home, port) => ({ command: legacyFixture('--http', String(port)), path: '/mcp' }),
    calls: () => ({ text: { tool: 'test_simple_text', args: {} } }),
    waits: { tool: 'test_wait', args: { tag: 'waits' } },
  },
};
