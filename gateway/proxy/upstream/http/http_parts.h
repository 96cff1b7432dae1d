// The parts of an HttpUpstream, for parts that use each other.
#pragma once

#include "config/config.h"
#include "foundation/net/loop.h"

namespace lineward::upstream {

class ServerEra;
class HttpFailures;
class HttpHealth;
class HttpPool;
class QuestionSlots;
class RequestIds;
class SessionGroups;
class SseFallback;

// All belong to the HttpUpstream and outlive each holder of this struct.
struct HttpParts {
  net::Loop& loop;
  const config::Server& server;
  HttpPool& pool;
  const HttpFailures& failures;
  HttpHealth& health;
  RequestIds& ids;
  SessionGroups& groups;
  QuestionSlots& slots;
  ServerEra& era;
  SseFallback& sse;
  net::Deferred& pump;  // scheduled when a call may find a place that it did not find before
};

}  // namespace lineward::upstream
