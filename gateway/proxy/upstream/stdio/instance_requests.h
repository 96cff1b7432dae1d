// Lineward's own requests to one process of a stdio server: a log level, a subscription, a ping. Each has the
// limit of own_limits.h. A request that takes longer is cancelled like a client's, and its callback receives
// an error.
//
// Belongs to a StdioInstance.
#pragma once

#include <chrono>
#include <string_view>

#include "proxy/upstream/stdio/instance_cancels.h"

namespace lineward::upstream {

class OwnRequests {
 public:
  OwnRequests(net::Loop& loop, const config::Server& server, InstanceCalls& calls, InstanceCancels& cancels,
              InstanceWire& wire)
      : loop_(loop), server_(server), calls_(calls), cancels_(cancels), wire_(wire), timer_(loop) {}
  OwnRequests(const OwnRequests&) = delete;
  OwnRequests& operator=(const OwnRequests&) = delete;

  // `answered` may be empty.
  void send(std::string_view method, std::string_view params, ListenServer::OwnAnswer answered);
  // Cancels no more of them.
  void stop() { timer_.stop(); }

 private:
  void ring_in(std::chrono::milliseconds limit);
  void cancel_late();

  net::Loop& loop_;
  const config::Server& server_;
  InstanceCalls& calls_;
  InstanceCancels& cancels_;
  InstanceWire& wire_;
  net::Timer timer_;  // fires when one may be due
  std::chrono::milliseconds rings_at_{0};
};

}  // namespace lineward::upstream
