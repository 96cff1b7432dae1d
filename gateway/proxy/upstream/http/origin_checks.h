// Checks the origins of a server from time to time, if `origins.check` says so (docs/origins.md): a request
// of Lineward's own to each of them. Any response below 500 shows that the origin works; the origin counts it
// like that of a call.
//
// Owned by an HttpUpstream. If all workers serve the server, its home checks for all.
#pragma once

#include <cstdint>

#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "proxy/upstream/http/http_parts.h"

namespace lineward::upstream {

class Origin;

class OriginChecks {
 public:
  explicit OriginChecks(const HttpParts& parts);
  OriginChecks(const OriginChecks&) = delete;
  OriginChecks& operator=(const OriginChecks&) = delete;

  // Begins, or goes on with other limits; also after a reload.
  void start();
  void stop() { timer_.stop(); }

 private:
  void check_all();
  void check(Origin& origin);

  const HttpParts& parts_;
  net::Timer timer_;
  uint64_t under_way_ = 0;  // origins that have not answered yet (Origin::bit)
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
