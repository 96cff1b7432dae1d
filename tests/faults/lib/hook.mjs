// The page of the preloaded library (programs/hook.cc).
import { openSync, writeSync, readSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { program } from './programs.mjs';

const FIELDS = ['pid', 'every', 'clock_s', 'stall_ms', 'allocations', 'failed'];

export class Hook {
  /** `malloc`: fails plain malloc too; not under a sanitizer, which brings its own. */
  constructor(folder, { malloc = false } = {}) {
    this.path = join(folder, 'hook');
    this.fd = openSync(this.path, 'w+');
    writeSync(this.fd, Buffer.alloc(4096), 0, 4096, 0);
    this.env = {
      LD_PRELOAD: program(malloc ? 'fault-malloc.so' : 'fault-hook.so'),
      FAULT_HOOK: this.path,
      ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:verify_asan_link_order=0:handle_abort=0:detect_leaks=0`,
    };
  }

  set(field, value) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(value));
    writeSync(this.fd, bytes, 0, 8, FIELDS.indexOf(field) * 8);
  }

  get(field) {
    const bytes = Buffer.alloc(8);
    readSync(this.fd, bytes, 0, 8, FIELDS.indexOf(field) * 8);
    return Number(bytes.readBigInt64LE());
  }

  close() {
    closeSync(this.fd);
  }
}
