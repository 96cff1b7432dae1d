// The leases of a shared gateway's clients: a connection each, on a socket of its own, for as long as the
// client lives (lease_keeper.h). The sessions and parked calls of a client end with its lease. The gateway
// ends when there was no lease for the linger time of the last one.
//
// Owned by the Gateway, on the first worker's loop. Every peer is of this gateway's user; what it sends is
// bounded all the same.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/listener.h"
#include "foundation/net/loop.h"
#include "operate/share/lease_text.h"

namespace lineward::share {

class LeaseHost {
 public:
  static constexpr size_t kMaxClients = 1024;
  struct Events {
    std::function<void(const std::string& token)> ended;
    // The tokens that name sessions or parked calls now.
    std::function<std::vector<std::string>()> tokens;
    // There is no lease, and the time for another client is over.
    std::function<void()> idle;
  };
  // `path`: of the socket. Called from the loop, never synchronously.
  // `look`: the time between two looks for sessions without a lease.
  LeaseHost(net::Loop& loop, std::string path, Events events,
            std::chrono::milliseconds look = std::chrono::milliseconds(5000));
  ~LeaseHost();
  LeaseHost(const LeaseHost&) = delete;
  LeaseHost& operator=(const LeaseHost&) = delete;

  Status<> listen();
  // Grants no more leases and ends all. A client then looks for another gateway.
  void close();

  size_t clients() const;
  bool has(const std::string& token) const;
  // The process ids of the clients.
  std::vector<pid_t> pids() const;

 private:
  class Lease;
  void accepted(std::unique_ptr<net::ByteStream> stream);
  // The reason for a refusal; empty: granted.
  std::string grant(const Lease& lease, const LeaseRequest& request);
  void over(Lease& lease);
  void count_down(std::chrono::milliseconds patience);
  void look_later();
  void look();

  net::Loop& loop_;
  const std::string path_;
  const Events events_;
  const std::chrono::milliseconds look_every_;
  std::unique_ptr<net::Listener> listener_;
  std::vector<std::unique_ptr<Lease>> leases_;
  net::Timer idle_;
  net::Timer look_;
  std::vector<std::string> unleased_;  // tokens that had no lease at the last look
};

}  // namespace lineward::share
