#!/usr/bin/env node
// relay.mjs SOCKET: a stdio server without a will of its own. Every byte of its stdin goes to the test that listens at
// SOCKET, every byte from there to its stdout.
import { connect } from 'node:net';

const socket = connect({ path: process.argv[2], allowHalfOpen: true });
process.stdin.pipe(socket);
socket.pipe(process.stdout);
socket.on('close', () => process.exit(0));
socket.on('error', () => process.exit(1));
