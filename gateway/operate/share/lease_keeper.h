// The process that keeps a client's lease at a shared gateway. It finds the gateway or starts one, and does
// so again when the gateway is lost, for as long as the client's process lives. It waits in system calls and
// has no loop.
//
//   client's process ──socketpair──▶ keeper ──lease──▶ the shared gateway
//
// The gateway is forked from the keeper, and therefore has the configuration that the client has read, even
// if its file was changed or removed since. It is no descendant of the client: a client that ends its process
// tree does not end the gateway of others.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "foundation/base/result.h"
#include "operate/share/share_place.h"

namespace lineward::share {

// How much longer than its limit a client waits at most, for a gateway that it starts itself.
constexpr std::chrono::milliseconds kLeaseLimit{45'000};

struct KeeperPlan {
  SharePlace place;
  std::string token;
  std::chrono::milliseconds linger{0};
  std::chrono::milliseconds limit{0};  // for the answer of a gateway, or the end of one that is leaving
};

// Serves in the process of the gateway, which calls `ready` once when clients can reach it. Returns the exit
// code. stderr holds what the client is to read if the gateway does not get ready; `ready` moves it to the
// log.
using ServeShared = std::function<int(const std::function<void()>& ready)>;

// Forks the keeper; before there is a second thread. Returns its socket: it is at its end when the keeper is
// gone.
Result<int> fork_keeper(KeeperPlan plan, const ServeShared& serve);

// Waits for the first lease. 0, or the exit code: the keeper has told the reason on stderr.
int await_lease(int keeper, std::chrono::milliseconds limit);

}  // namespace lineward::share
