// The cookies of one session with an HTTP server (RFC 6265): a load balancer identifies its replica by one.
// Cookies are returned only to the origin that set them: a pool has one origin. Pure.
//
// Owned by an upstream session. Clients' cookies are never stored here, and stored cookies are never sent to
// clients.
#pragma once

#include <string>
#include <vector>

#include "foundation/base/counted_string.h"
#include "protocol/http/header_list.h"
#include "proxy/upstream/http_client/http_url.h"

namespace lineward::upstream {

class CookieJar {
 public:
  // Stores the Set-Cookie fields of a response from `url`. Cookies beyond 16 or 4 KiB in all, malformed
  // cookies and those for another path are dropped.
  void take(const http::HeaderList& response, const HttpUrl& url);
  bool empty() const { return cookies_.empty(); }
  // The value of a Cookie field.
  std::string header() const;

 private:
  struct Cookie {
    std::string name, value;
  };
  void put(std::string_view name, std::string_view value);

  std::vector<Cookie> cookies_;
  MemoryCharge held_{Held::servers};
};

}  // namespace lineward::upstream
