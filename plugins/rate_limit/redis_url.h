// A Redis address: redis://[[user]:password@]host[:port][/db], rediss://… with TLS, unix:/path?db=1 or
// unix://[[user]:password@]/path?db=1. Passwords may be percent-encoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace lineward::plugins {

struct RedisUrl {
  bool tls = false;
  std::string host;
  uint16_t port = 6379;
  std::string unix_path;  // instead of host and port
  std::string user, password;
  uint32_t db = 0;
};

// The error never quotes the text.
Result<RedisUrl> parse_redis_url(std::string_view text);

}  // namespace lineward::plugins
