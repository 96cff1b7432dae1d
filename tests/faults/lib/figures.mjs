// The resources of a process, read from /proc.
import { closeSync, openSync, readFileSync, readSync, readdirSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { binary } from '../../e2e/lib/binary.mjs';
import { descendants } from '../../e2e/lib/processes.mjs';

const KIB = 1024;
const statusField = (pid, field) => {
  const line = new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return line ? Number(line[1]) : 0;
};

export const rssBytes = (pid) => statusField(pid, 'VmRSS') * KIB;
export const peakBytes = (pid) => statusField(pid, 'VmHWM') * KIB;
/** The peak counts from now on. */
export const resetPeak = (pid) => writeFileSync(`/proc/${pid}/clear_refs`, '5');
let sanitized;
/** Whether the gateway was built with AddressSanitizer or ThreadSanitizer. */
export const isSanitized = () => (sanitized ??= /__[at]san_init/.test(readFileSync(binary()).toString('latin1')));
export const openFds = (pid) => readdirSync(`/proc/${pid}/fd`).length;

export function cpuSeconds(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const schedules = new Map(); // pid → open /proc/PID/schedstat
const line = Buffer.alloc(128);

/**
 * How long the main thread of a process was ready to run and got no processor, in ms since its start; 0 where the kernel
 * does not tell. A time limit is one of the gateway's own doing: what other programs took from it does not count.
 */
export function waitedMs(pid) {
  try {
    if (!schedules.has(pid)) schedules.set(pid, openSync(`/proc/${pid}/schedstat`, 'r'));
    const size = readSync(schedules.get(pid), line, 0, line.length, 0);
    return Number(line.toString('latin1', 0, size).split(' ')[1]) / 1e6;
  } catch {
    forget(pid);
    return 0;
  }
}

function forget(pid) {
  if (schedules.has(pid)) closeSync(schedules.get(pid));
  schedules.delete(pid);
}

/**
 * Begins to measure; the result is the time since then that was lost to other programs. It is the longest wait for a
 * processor of these processes and this one. Simultaneous waits count once.
 */
export function watchWaits(pids) {
  const all = [process.pid, ...pids];
  const before = all.map(waitedMs);
  return () => Math.max(0, ...all.map((pid, i) => waitedMs(pid) - before[i]));
}

/** Zombies below a process, by pid. */
export function zombies(root) {
  const found = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const text = readFileSync(`/proc/${name}/stat`, 'latin1');
      const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z') found.push({ pid: Number(name), parent: Number(parent) });
    } catch {
      // it ended meanwhile
    }
  }
  const family = new Set([root, ...descendants(root).map(({ pid }) => pid)]);
  return found.filter(({ parent }) => family.has(parent)).map(({ pid }) => pid);
}

export const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
export const kib = (bytes) => `${(bytes / KIB).toFixed(1)} KiB`;
export const ms = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

/** The value at that share of the list, e.g. 0.99. */
export function quantile(values, share) {
  if (!values.length) return 0;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

/** Looks until it holds; whether it did within the time. Others' processes are no events. */
export async function within(limitMs, look, stepMs = 10) {
  for (const end = performance.now() + limitMs; ;) {
    if (await look()) return true;
    if (performance.now() > end) return false;
    await delay(stepMs);
  }
}

/** The same order for the same seed. */
export function seeded(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
