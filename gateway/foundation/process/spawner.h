// The spawner: a small single-threaded process, forked first in main() before any thread or loop exists. It
// starts every child on the gateway's behalf, and cleans up when the gateway is gone, however it died.
//
//   lineward ──socketpair──> spawner ──control pipe──> supervisor (one per child) ──> the command
//
// Each supervisor is the sub-reaper of one command. Any process that the command leaves behind (double forks,
// setsid, npx → sh → node) becomes the supervisor's child and is killed by it. A supervisor kills its whole
// tree on an order, when the command has exited, and when its control pipe closes. The spawner closes all of
// them when its socket closes. So `kill -9` of the gateway, or of gateway and spawner together, leaves no
// process behind.
#pragma once

#include <sys/types.h>

#include "foundation/base/result.h"

namespace lineward::process {

// Forks a spawner: one for each worker, before there is a second thread, and the first before anything else
// in main(). Returns only in the gateway. The returned descriptor (close-on-exec) is the gateway's end of the
// socket; process::Spawner (child_process.h) takes ownership. `spawner_pid` (may be null) gets its pid.
Result<int> fork_spawner(pid_t* spawner_pid);

}  // namespace lineward::process
