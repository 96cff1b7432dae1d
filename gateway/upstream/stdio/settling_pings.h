// Pings by which a server is heard to be done with what it says of its own accord: what it said before it
// answered belongs to no later call. One that does not answer them is asked to work all the same.
//
// Belongs to a StdioInstance.
#pragma once

#include <functional>

#include "upstream/stdio/instance_requests.h"

namespace lineward::upstream {

class SettlingPings {
 public:
  SettlingPings(net::Loop& loop, InstanceCalls& calls, OwnRequests& requests, InstanceWire& wire)
      : calls_(calls), requests_(requests), wire_(wire), timer_(loop) {}
  SettlingPings(const SettlingPings&) = delete;
  SettlingPings& operator=(const SettlingPings&) = delete;

  // After the handshake. `settled` may be called twice.
  void settle_first(std::function<void()> settled);
  // Between two calls that may ask: false while what the server says about the last one may be on its way.
  // It is asked where it `is_ready` to be; tells that there is a place when it has answered.
  bool settle_turn(bool is_ready);
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
