// The programs of the table, by exact version, each installed by npm in a folder of its own.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const INSTALL_MS = 590_000;

/** Package and version; `program` is a name in node_modules/.bin, `file` a path; `native` needs no Node. */
export const PACKAGES = {
  inspector: { name: '@modelcontextprotocol/inspector', version: '2.12.0', program: 'mcp-inspector' },
  mcporter: { name: 'mcporter', version: '0.12.3', program: 'mcporter' },
  mcpc: { name: '@apify/mcpc', version: '0.2.6', program: 'mcpc' },
  'claude-code': { name: '@anthropic-ai/claude-code', version: '2.1.332', program: 'claude', native: true, scripts: true },
  gemini: { name: '@google/gemini-cli', version: '0.61.0', program: 'gemini' },
  codex: { name: '@openai/codex', version: '0.171.0', program: 'codex' },
  'mcp-remote': { name: 'mcp-remote', version: '0.15.1', program: 'mcp-remote' },
  everything: { name: '@modelcontextprotocol/server-everything', version: '2026.8.31', program: 'mcp-server-everything' },
  filesystem: { name: '@modelcontextprotocol/server-filesystem', version: '2026.8.31', program: 'mcp-server-filesystem' },
  playwright: { name: '@playwright/mcp', version: '0.0.83', program: 'playwright-mcp' },
  kubernetes: { name: 'kubernetes-mcp-server', version: '0.0.67', program: 'kubernetes-mcp-server' },
  // The wrapper of this name is not in the registry, its program is.
  cron: { name: 'mcp-cron-linux-amd64', version: '0.9.1', file: 'node_modules/mcp-cron-linux-amd64/bin/mcp-cron', native: true },
  slack: { name: 'slack-mcp-server', version: '1.3.0', program: 'slack-mcp-server' },
  azure: { name: '@azure/mcp', version: '2.0.5', program: 'azmcp' },
};

const E2E = fileURLToPath(new URL('../../e2e', import.meta.url));

/** tests/e2e where its lock file has this version, else a folder in the cache. */
function folderOf(cache, spec) {
  if (installedVersion(E2E, spec) === spec.version) return E2E;
  return join(cache, `${spec.name.replaceAll(/[@/]/g, '_')}-${spec.version}`);
}

function installedVersion(folder, { name }) {
  try {
    return JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version;
  } catch {
    return undefined;
  }
}

/** Installs what is not there yet; returns why a package cannot be installed, or undefined. */
export function install(cache, key) {
  const spec = PACKAGES[key];
  const folder = folderOf(cache, spec);
  if (folder === E2E) return undefined;
  const marker = join(folder, 'installed');
  if (existsSync(marker) && installedVersion(folder, spec) === spec.version) return undefined;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const options = ['--no-audit', '--no-fund', '--save-exact', '--loglevel=error', ...(spec.scripts ? [] : ['--ignore-scripts'])];
  try {
    execFileSync('npm', ['install', ...options, `${spec.name}@${spec.version}`], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: INSTALL_MS,
    });
  } catch (error) {
    return String(error.stderr || error.message).trim().split('\n')[0];
  }
  if (!existsSync(join(folder, 'node_modules', spec.name))) return 'npm installed nothing';
  writeFileSync(marker, '');
  return undefined;
}

/** The command that starts a package's program, as one array. */
export function programOf(cache, key) {
  const spec = PACKAGES[key];
  const folder = folderOf(cache, spec);
  const file = spec.file ? join(folder, spec.file) : realpathSync(join(folder, 'node_modules', '.bin', spec.program));
  return spec.native ? [file] : [process.execPath, file];
}

/** The first file that begins with a name below node_modules of a package, for programs behind a wrapper. */
export function fileIn(cache, key, pattern) {
  const root = join(folderOf(cache, PACKAGES[key]), 'node_modules');
  return readdirSync(root, { recursive: true })
    .map((path) => join(root, String(path)))
    .find((path) => pattern.test(path));
}
