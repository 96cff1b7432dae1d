// The upstream ids of requests to an HTTP server: positive integers below 2^53, each used once.
#pragma once

#include <cstdint>

namespace lineward::upstream {

class RequestIds {
 public:
  int64_t next() { return next_++; }
  // From here on other processes send calls in the same sessions, where a server identifies calls by id:
  // continues from a random start.
  void share();

 private:
  int64_t next_ = 1;
  bool shared_ = false;
};

}  // namespace lineward::upstream
