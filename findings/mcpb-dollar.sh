#!/bin/sh
# Expected: a value of user_config reaches the server of an MCPB bundle as the user typed it, and an optional value that was left empty
# leaves its variable empty or unset.
# Happens: where the value is put into a longer argument or into env, `$$` becomes `$` and `$&` becomes the placeholder: the value is
# used as the replacement pattern of a JavaScript replace(). An argument that is nothing but the placeholder gets it unchanged. The
# placeholder of a value that was left empty stays as literal text.
# Touched: keys and passwords with a dollar sign; servers that test whether a variable is set.
# Seen with: @anthropic-ai/mcpb 2.1.2.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
echo '{ "private": true, "type": "module" }' >package.json
timeout 600 npm install --no-audit --no-fund --ignore-scripts --save-exact --loglevel=error @anthropic-ai/mcpb@2.1.2
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { getMcpConfigForManifest } from '@anthropic-ai/mcpb';

const { version } = JSON.parse(readFileSync('node_modules/@anthropic-ai/mcpb/package.json'));
console.log('@anthropic-ai/mcpb', version);
assert.equal(version, '2.1.2');
const option = (required) => ({ type: 'string', title: 'one', description: 'one', required });
const is = await getMcpConfigForManifest({
  manifest: {
    name: 'sample',
    user_config: { key: option(true), extra: option(false) },
    server: {
      type: 'node',
      entry_point: 'index.js',
      mcp_config: { command: 'node', args: ['${user_config.key}', '--key=${user_config.key}'], env: { KEY: '${user_config.key}', EXTRA: '${user_config.extra}' } },
    },
  },
  extensionPath: '/bundle',
  systemDirs: {},
  userConfig: { key: 'one$$two-$&' },
  pathSeparator: '/',
});
console.log(is);
assert.deepEqual(is.args, ['one$$two-$&', '--key=one$two-${user_config.key}']);
assert.deepEqual(is.env, { KEY: 'one$two-${user_config.key}', EXTRA: '${user_config.extra}' });
JS
node probe.mjs
echo "as described"
