// The build folder of the programs of this folder.
import { accessSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { binary } from '../e2e/lib/binary.mjs';

export function program(name) {
  const path = join(process.env.GROWTH_PROGRAMS ?? join(dirname(binary()), 'tests', 'growth'), name);
  accessSync(path);
  return path;
}
