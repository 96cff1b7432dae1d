// A single client has one call under way, so only one of front, server and load runs at a time. Spread over processors, each
// step wakes a sleeping one, and what is measured is that wake-up; on one processor it is the work.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';

export const ONE = '0';
export const ALL = `0-${cpus().length - 1}`;

/** Child processes by their parent. */
function families() {
  const children = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^[0-9]+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // It has ended meanwhile.
    }
  }
  return children;
}

/** A process and all below it, with every thread, may run on these processors from here on; new ones inherit it. */
export function pin(root, processors) {
  const children = families();
  const rest = [root];
  while (rest.length) {
    const pid = rest.pop();
    rest.push(...(children.get(pid) ?? []));
    try {
      execFileSync('taskset', ['--all-tasks', '--pid', '--cpu-list', processors, String(pid)], { stdio: 'ignore' });
    } catch {
      // Likewise.
    }
  }
}
