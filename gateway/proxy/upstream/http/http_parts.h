// The parts of an HttpUpstream, for those parts that use other parts.
#pragma once

#include <sys/random.h>

#include <cstdint>
#include <functional>
#include <utility>

#include "config/config.h"
#include "foundation/base/check.h"
#include "foundation/net/loop.h"

namespace lineward::upstream {

class HttpCallTable;
class HttpFailures;
class HttpHealth;
class HttpSubRequests;
class OriginSet;
class QuestionSlots;
class ServerEra;
class SessionGroup;
class SessionGroups;
class SessionPlanner;
struct SharedPart;

// The upstream ids of requests to an HTTP server: positive integers below 2^53, each used once.
class RequestIds {
 public:
  int64_t next() { return next_++; }
  // From here on other processes send calls in the same sessions, where a server identifies calls by id:
  // continues from a random start.
  void share() {
    if (std::exchange(shared_, true)) return;
    uint32_t place = 0;
    LW_CHECK(getrandom(&place, sizeof place, 0) == sizeof place);
    next_ = (int64_t{place} + 1) << 20;
  }

 private:
  int64_t next_ = 1;
  bool shared_ = false;
};

// All belong to the HttpUpstream and outlive each other's calls. A part may be constructed before another one
// that it uses: constructors use only the loop, the server and the origins.
struct HttpParts {
  net::Loop& loop;
  const config::Server& server;
  const SharedPart& shared;
  OriginSet& origins;
  HttpSubRequests& sub_requests;
  const HttpFailures& failures;
  HttpHealth& health;
  RequestIds& ids;
  SessionPlanner& planner;
  SessionGroups& groups;
  QuestionSlots& slots;
  ServerEra& era;
  HttpCallTable& calls;
  net::Deferred& pump;  // scheduled when a call may find a place that it did not find before
  // A modern server does not serve a bridged session in the legacy era: the session's calls continue as
  // modern calls, and its group is closed.
  std::function<void(SessionGroup& group)> serve_as_modern;
};

}  // namespace lineward::upstream
