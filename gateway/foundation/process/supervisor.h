// The supervisor: a tiny process per command, forked by the spawner. It is the command's parent and
// sub-reaper, reports its exit, and ends only after every descendant of the command has ended. No libuv, no
// threads, no log.
#pragma once

#include <cstdint>

#include "foundation/process/spawn_wire.h"

namespace lineward::process::spawning {

struct SupervisorOrder {
  uint64_t id = 0;
  SpawnRequest command;
  OwnedFd stdio[kStdioCount];
  // To the spawner, SEQPACKET. In: one byte 'T' or 'K'; end of file means kill at once. Out: Reply messages.
  OwnedFd channel;
};

// Call in the freshly forked process. Status 0: no process of the command is left.
[[noreturn]] void run_supervisor(SupervisorOrder order);

}  // namespace lineward::process::spawning
