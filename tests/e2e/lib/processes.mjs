// The processes below a process, and whether they have ended. Linux only: it reads /proc.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const read = (path) => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined; // the process ended meanwhile, or is not ours
  }
};

/** {pid, ppid, started}, or undefined when it ended. A pid and its start time name one process for ever. */
export function processOf(pid) {
  const line = read(`/proc/${pid}/stat`);
  if (line === undefined) return undefined;
  const [state, ppid, ...rest] = line.slice(line.lastIndexOf(')') + 2).split(' ');
  if (state === 'Z') return undefined;
  return { pid, ppid: Number(ppid), started: rest[17] };
}

const everyProcess = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => processOf(Number(name)))
    .filter(Boolean);

/** The children of a process, their children, and so on. */
export function descendants(root) {
  const all = everyProcess();
  const found = [];
  for (const parents = [root]; parents.length;) {
    const parent = parents.pop();
    for (const one of all) {
      if (one.ppid !== parent) continue;
      found.push(one);
      parents.push(one.pid);
    }
  }
  return found;
}

/** Every process that has NAME=value in the environment it was started with. */
export const tagged = (name, value) =>
  everyProcess().filter(({ pid }) => read(`/proc/${pid}/environ`)?.split('\0').includes(`${name}=${value}`));

const isAlive = ({ pid, started }) => processOf(pid)?.started === started;

/**
 * The processes that find() names and that are still there after the given time. The end of another
 * process's child is no event that we can wait for, so this polls.
 */
export async function leftovers(find, withinMs) {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const left = find().filter(isAlive);
    if (!left.length || Date.now() > deadline) return left;
    await delay(20);
  }
}

export const describe = ({ pid }) =>
  `${pid} (${(read(`/proc/${pid}/cmdline`) ?? '').split('\0').join(' ').trim()})`;
