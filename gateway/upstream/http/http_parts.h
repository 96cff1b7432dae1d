// What an HttpUpstream is made of, for those of its parts that work with the others: each is named once,
// where they are put together.
#pragma once

#include "config/config.h"
#include "net/loop.h"

namespace lineward::upstream {

class ServerEra;
class HttpFailures;
class HttpHealth;
class HttpPool;
class QuestionSlots;
class RequestIds;
class SessionGroups;
class SseFallback;

// All of them belong to the HttpUpstream and outlive who holds this.
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
  net::Deferred& pump;  // is scheduled when a call may find a place that it did not find before
};

}  // namespace lineward::upstream
