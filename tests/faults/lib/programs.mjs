// The place of the programs of this folder: beside the gateway's own build, or in $FAULT_PROGRAMS.
import { accessSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { binary } from '../../e2e/lib/binary.mjs';

export function program(name) {
  const folder = process.env.FAULT_PROGRAMS ?? join(dirname(binary()), 'tests', 'faults');
  const path = join(folder, name);
  accessSync(path);
  return path;
}
