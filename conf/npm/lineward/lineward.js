#!/usr/bin/env node
// Starts the binary of the optional dependency that fits this machine, and is as if it were not there: stdin, stdout and stderr are
// the binary's, signals reach it once, and its end is ours.
'use strict';

const { spawn } = require('node:child_process');
const { readFileSync } = require('node:fs');
const { constants } = require('node:os');

const packages = { 'linux x64': '@lineward/linux-x64', 'linux arm64': '@lineward/linux-arm64' };
const unavailable = 69;

function give_up(...lines) {
  process.stderr.write(`lineward: ${lines.join('\n')}\n`);
  process.exit(unavailable);
}

function find_binary() {
  const machine = `${process.platform} ${process.arch}`;
  const name = packages[machine];
  if (!name) {
    give_up(`there is no binary for ${machine}, only for ${Object.keys(packages).join(' and ')}`,
      '  fix   run it in a container or a virtual machine with Linux');
  }
  try {
    return require.resolve(`${name}/lineward`);
  } catch {
    return give_up(`the package ${name} is not installed`,
      '  fix   npm install without --omit=optional (--no-optional), and on the machine that runs it: node_modules',
      '        copied from another system hold the binary of that one');
  }
}

// The fields of /proc/PID/stat behind the program's name: state, parent, group, session, terminal, its foreground group.
function stat_of(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return [text.slice(text.indexOf('(') + 1, text.lastIndexOf(')')), ...text.slice(text.lastIndexOf(')') + 2).split(' ')];
  } catch {
    return [];
  }
}

// A signal that the terminal sends to all of its foreground (Ctrl-C, Ctrl-\) reaches the binary by itself, and a second one would tell
// it not to wait for calls that run.
function came_from_terminal(signal) {
  if (signal !== 'SIGINT' && signal !== 'SIGQUIT') return false;
  const [, , , group, , , foreground] = stat_of('self');
  return group !== undefined && group === foreground;
}

// The processes that wait for this one: its parent, and npx above the shell that npx starts it with, if
// it does.
function above() {
  const [name, , parent] = stat_of(process.ppid);
  const by_npx = process.env.npm_command === 'exec' && ['sh', 'dash', 'bash', 'ash', 'busybox'].includes(name);
  return `${process.ppid} ${by_npx ? parent : ''}`;
}

const child = spawn(find_binary(), process.argv.slice(2), {
  stdio: 'inherit',
  // It ends when this process does, however that ends, kill -9 too.
  env: { ...process.env, LINEWARD_PARENT: String(process.pid) },
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']) {
  process.on(signal, () => came_from_terminal(signal) || child.kill(signal));
}

// If one of them is killed, this process stays behind with another parent.
const before = above();
setInterval(() => above() === before || child.kill('SIGTERM'), 1000).unref();

child.on('error', (error) => give_up(`${child.spawnfile} cannot be started: ${error.message}`));
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + constants.signals[signal]), 1000);  // a signal that ends no process here
});
