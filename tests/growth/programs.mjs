// Where the programs of this folder have been built.
import { accessSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { binary } from '../e2e/lib/binary.mjs';

export function program(name) {
  const path = join(process.env.GROWTH_PROGRAMS ?? join(dirname(binary()), 'tests', 'growth'), name);
  accessSync(path);
  return path;
}
