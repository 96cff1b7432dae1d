// The ids under which an HTTP server knows the requests that it gets from here: positive integers below 2^53,
// each of them given once.
#pragma once

#include <cstdint>

namespace lineward::upstream {

class RequestIds {
 public:
  int64_t next() { return next_++; }
  // From here on other processes make calls in the same sessions, where a server knows calls by their ids:
  // this one goes on counting from a place of its own, picked at random.
  void share();

 private:
  int64_t next_ = 1;
  bool shared_ = false;
};

}  // namespace lineward::upstream
