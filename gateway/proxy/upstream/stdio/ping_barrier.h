// Pings that separate a server's unsolicited messages: messages sent before the ping's answer belong to no
// later call. A server that does not answer pings still gets calls.
//
// Belongs to a StdioInstance.
#pragma once

#include <functional>

#include "proxy/upstream/stdio/instance_requests.h"

namespace lineward::upstream {

class PingBarrier {
 public:
  PingBarrier(net::Loop& loop, InstanceCalls& calls, OwnRequests& requests, InstanceWire& wire)
      : calls_(calls), requests_(requests), wire_(wire), timer_(loop) {}
  PingBarrier(const PingBarrier&) = delete;
  PingBarrier& operator=(const PingBarrier&) = delete;

  // After the handshake. `settled` may be called twice.
  void settle_first(std::function<void()> settled);
  // Between two calls that allow requests: false while messages about the last call may still arrive. Sends a
  // ping if `is_ready`; its answer reports a free place.
  bool acquire_turn(bool is_ready);
  void stop();

 private:
  InstanceCalls& calls_;
  OwnRequests& requests_;
  InstanceWire& wire_;
  net::Timer timer_;
  bool asking_ = false;
  bool answers_ = true;
};

}  // namespace lineward::upstream
