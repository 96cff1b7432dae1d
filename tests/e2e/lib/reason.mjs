// Lineward's data of its own error (docs/errors.md). Each test that looks at one checks by this whether its page is there and is
// that of its reason, on every road and for clients of either era.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../../', import.meta.url);

/** The reason in an error's `data`; undefined where it is not Lineward's. */
export function ours(data) {
  const said = data?.['io.lineward/gateway'];
  if (!said) return undefined;
  assert.equal(said.page, `docs/reasons/${said.reason}.md`);
  assert.ok(existsSync(fileURLToPath(new URL(said.page, ROOT))), `there is ${said.page}`);
  return said;
}
