// The supervisor: one tiny process per command, forked by the spawner. It is the command's parent and
// sub-reaper, passes on its exit, and does not end before everything the command ever started has ended. No
// libuv, no threads, no log.
#pragma once

#include <cstdint>

#include "process/spawn_wire.h"

namespace lineward::net::spawning {

struct SupervisorOrder {
  uint64_t id = 0;
  SpawnRequest command;
  OwnedFd stdio[kStdioCount];
  // To the spawner, SEQPACKET. In: one byte 'T' or 'K'; end of file means kill at once. Out: Reply messages.
  OwnedFd channel;
};

// Call in the freshly forked process. Status 0: nothing is left of the command.
[[noreturn]] void run_supervisor(SupervisorOrder order);

}  // namespace lineward::net::spawning
