// Who may come in: asked once for each HTTP request, before anything else of it is looked at, sessions
// included. Implemented by the plugins that know callers (plugin/plugin_set.h); without one everybody is
// "anonymous".
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/headers.h"
#include "http/header_list.h"
#include "mcp/end_reason.h"

namespace lineward::core {

inline constexpr std::string_view kAnonymous = "anonymous";

// Who calls. Binds sessions, parked calls, instances, caches, limits and cancels (behaviour.md 5): two
// requests belong to the same caller when their principals are equal.
struct Caller {
  std::string principal;                 // unique over all ways to authenticate: "jwt:issuer#subject"
  std::string name;                      // for people and logs; bounded, printable, no secret
  std::string by;                        // the plugin that vouches for it
  std::vector<std::string> scopes;       // what it was granted, in the authenticator's own words
  std::chrono::system_clock::time_point  // when that ends; the epoch: never
      until{};
  bool may(std::string_view scope) const {
    for (const std::string& one : scopes) {
      if (one == scope) return true;
    }
    return false;
  }
};
using CallerPtr = std::shared_ptr<const Caller>;

// A request's head, valid during the call only.
struct GateRequest {
  const http::HeaderList& headers;
  std::string_view method;
  std::string_view path;
  std::string_view server;  // which it asks for
  std::string_view peer;    // "127.0.0.1:51234"
};

// Who does not come in. Answered as HTTP `status` with a JSON-RPC error of the reason.
struct Denial {
  mcp::EndReason reason = mcp::EndReason::unauthorized;  // unauthorized 401, forbidden 403, rate_limited 429
  int status = 401;
  std::string text;  // one plain sentence; nothing of the credentials
  HeaderFields headers;
  std::string by = {};  // the plugin's name, as it is configured; for those who keep records
};

using GateAnswer = std::variant<CallerPtr, Denial>;
using GateDone = std::function<void(GateAnswer)>;

// A request that was refused before it became an exchange, for those who write access logs and count.
struct RefusedRequest {
  std::string_view peer, method, path, server;
  int status = 0;
  mcp::EndReason reason = mcp::EndReason::invalid_request;
  std::string_view why;
  const Caller* caller = nullptr;  // null: nobody asked, or it is not known yet
  bool on_stdio = false;
};

class Gate {
 public:
  virtual ~Gate() = default;
  // Nobody is asked who they are: admit() is not called.
  virtual bool open() const = 0;
  // The answer, or nothing: then `later` is called once, never from inside, while the gate lives. Without
  // `later` it is only asked what can be told at once, and nothing is begun.
  virtual std::optional<GateAnswer> admit(const GateRequest& request, GateDone later) = 0;
  // Header fields of the client that plugins want to see of each request (Arrival::seen), lower case.
  virtual const std::vector<std::string>& headers_wanted() const = 0;
  virtual void on_refused(const RefusedRequest& request) = 0;
  // Some plugin has to see each message that goes to a client: none may pass that nobody reads.
  virtual bool reads_all() const { return false; }
};

}  // namespace lineward::core
