// A control group for one gateway: v2 where it has the controller, else v1.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';
const NAMES = { pids: { v1: 'pids.max', v2: 'pids.max' }, memory: { v1: 'memory.limit_in_bytes', v2: 'memory.max' } };

/** Undefined where the machine has none that we may make. `join` are the words that put a command into it. */
export function makeGroup(controller, limit) {
  const v2 = [ROOT, join(ROOT, 'unified')].find(
    (root) => existsSync(join(root, 'cgroup.controllers')) && readFileSync(join(root, 'cgroup.controllers'), 'utf8').split(/\s+/).includes(controller),
  );
  const path = join(v2 ?? join(ROOT, controller), `lineward-faults-${process.pid}-${Date.now()}`);
  try {
    if (v2) writeFileSync(join(v2, 'cgroup.subtree_control'), `+${controller}`);
    mkdirSync(path);
    writeFileSync(join(path, NAMES[controller][v2 ? 'v2' : 'v1']), String(limit));
  } catch {
    return undefined;
  }
  return {
    path,
    join: ['sh', '-c', `echo $$ > ${join(path, 'cgroup.procs')} && exec "$@"`, 'sh'],
    set: (value) => writeFileSync(join(path, NAMES[controller][v2 ? 'v2' : 'v1']), String(value)),
    remove: () => {
      try {
        rmdirSync(path);
      } catch {
        // a process is still in it: the row has said so
      }
    },
  };
}
