// The commands of the servers that the tests stand Lineward in front of.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The file that a package installs as its (only) program. */
function program(name) {
  const manifest = require.resolve(`${name}/package.json`);
  const { bin } = require(manifest);
  return join(dirname(manifest), typeof bin === 'string' ? bin : Object.values(bin)[0]);
}

const node = process.execPath;

export const everything = () => [node, program('@modelcontextprotocol/server-everything')];
export const filesystem = (...folders) => [
  node,
  program('@modelcontextprotocol/server-filesystem'),
  ...folders,
];
export const memory = () => [node, program('@modelcontextprotocol/server-memory')];
export const legacyFixture = (...args) => [node, here('../fixtures/legacy-server.mjs'), ...args];
export const plainFixture = (...args) => [node, here('../fixtures/plain-server.mjs'), ...args];
export const modernFixture = (...args) => [node, here('../fixtures/modern-server.mjs'), ...args];
export const tasksFixture = (...args) => [node, here('../fixtures/tasks-server.mjs'), ...args];
export const toolsFixture = (...args) => [node, here('../fixtures/tools-server.mjs'), ...args];
export const conformanceSuite = () => [node, program('@modelcontextprotocol/conformance')];
export const conformanceRequirements = (revision) =>
  join(
    dirname(require.resolve('@modelcontextprotocol/conformance/package.json')),
    'requirements',
    `${revision}.yaml`,
  );
