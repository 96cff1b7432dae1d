// The parts of an HttpUpstream, for parts that use each other.
#pragma once

#include <functional>

#include "config/config.h"
#include "foundation/net/loop.h"

namespace lineward::upstream {

class HttpCallTable;
class HttpFailures;
class HttpHealth;
class HttpPool;
class HttpSubRequests;
class QuestionSlots;
class RequestIds;
class ServerEra;
class SessionGroup;
class SessionGroups;
class SessionPlanner;

// All belong to the HttpUpstream and outlive each other. Their constructors only store references: a part may
// be constructed before another one that it uses.
struct HttpParts {
  net::Loop& loop;
  const config::Server& server;
  HttpPool& pool;
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
