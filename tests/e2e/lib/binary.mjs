// Which Lineward is tested.
import { accessSync, constants } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The path of the binary: $LINEWARD, else the one in build/. Throws when there is none: nothing may pass without it. */
export function binary() {
  const path = process.env.LINEWARD ?? fileURLToPath(new URL('../../../build/lineward', import.meta.url));
  try {
    accessSync(path, constants.X_OK);
  } catch {
    throw new Error(`${path} is not there: build Lineward first, or name another binary in LINEWARD`);
  }
  return path;
}
