// Authentication: called once for each HTTP request, before the rest of the request is read and before its
// session is looked up. Implemented by the authentication plugins (proxy/plugin/plugin_set.h). Without one
// every caller is "anonymous".
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/http/header_list.h"
#include "protocol/mcp/end_reason.h"
#include "proxy/core/headers.h"

namespace lineward::core {

inline constexpr std::string_view kAnonymous = "anonymous";

// The principal of a caller without credentials: "anonymous", after the realm of its listener, if the
// listener has one (docs/listeners.md). No other principal is a realm followed by "anonymous": all others
// have their kind after the realm, as in "listener:inside/key:alice".
inline bool is_anonymous(std::string_view principal) {
  if (principal == kAnonymous) return true;
  const size_t slash = std::min(principal.find('/'), principal.size());
  const std::string_view realm = principal.substr(0, slash);
  const bool has_realm = realm == "off" || realm.substr(0, 9) == "listener:";
  return has_realm && principal.substr(slash) == "/anonymous";
}

// A claim about a caller: its name, with dots between the levels, and its values.
struct Claim {
  std::string name;
  std::vector<std::string> values;
};

// An authenticated caller. Sessions, parked calls, instances, caches, limits and cancels are bound to it
// (behaviour.md 5). Two requests belong to the same caller if their principals are equal.
struct Caller {
  std::string principal;                 // unique over all ways to authenticate: "jwt:issuer#subject", and
                                         // over listeners with an auth of their own (docs/listeners.md)
  std::string name;                      // display name for logs; bounded, printable, no secret
  std::string by;                        // the plugin that authenticated it
  std::vector<std::string> scopes;       // granted scopes, as the authenticator names them
  std::chrono::system_clock::time_point  // expiry of the grant; the epoch: never
      until{};
  // For servers (docs/identity.md). `kind`: key, jwt, certificate or proxy. `subject`: the key's
  // name, the token's `sub`, the certificate's accepted name or the proxy's word, each as it is.
  std::string_view kind = {};
  std::string subject = {};
  std::string issuer = {};
  std::vector<Claim> claims = {};  // only those that the configuration uses
  const Claim* claim(std::string_view wanted) const {
    for (const Claim& one : claims) {
      if (one.name == wanted) return &one;
    }
    return nullptr;
  }
  // Has this scope; or fits a rule about claims (config/claim_rules.h), which can stand wherever a scope can.
  bool may(std::string_view scope) const;
  // Also has whatever scopes and values of claims the other one has.
  bool has_all_of(const Caller& other) const;
};
using CallerPtr = std::shared_ptr<const Caller>;

// A request's head, valid during the call only.
struct GateRequest {
  const http::HeaderList& headers;
  std::string_view method;
  std::string_view path;
  std::string_view server;                 // the requested server
  std::string_view peer;                   // "127.0.0.1:51234"
  const CallerPtr* certificate = nullptr;  // the caller that its TLS certificate names; null: none
  std::string_view listener = {};          // the further listener that it came to; empty: `listen`
  std::string_view hop = {};               // the peer of the connection itself, as `peer`
};

// Why a policy (the authentication gate or another plugin) refuses a request or ends an exchange.
struct PolicyError {
  mcp::EndReason reason = mcp::EndReason::forbidden;
  int status = 0;               // of the HTTP response to a refused request; set by the gate
  std::string text;             // one plain sentence for the client; no secrets, no part of the credentials
  HeaderFields headers = {};    // on the HTTP response, if its head is not sent yet
  int64_t retry_after_ms = -1;  // in error.data, and as Retry-After unless it is among the headers
  int code = 0;                 // of the JSON-RPC error; 0: the default code of the reason (behaviour.md 2)
  // For a listen: the URIs and task ids of its filter that are refused; the plugin admits the rest. Empty:
  // the whole listen is refused.
  std::vector<std::string> parts = {};
  std::string by =
      {};  // the configured name of the plugin, for audit records and messages without an exchange
};

using GateAnswer = std::variant<CallerPtr, PolicyError>;
using GateDone = std::function<void(GateAnswer)>;

// A request that was refused before it became an exchange; for access logs and metrics.
struct RefusedRequest {
  std::string_view peer, method, path, server;
  int status = 0;
  mcp::EndReason reason = mcp::EndReason::invalid_request;
  std::string_view why;
  const Caller* caller = nullptr;  // null: not authenticated, or not yet
  bool on_stdio = false;
  std::string_view listener = {};  // the further listener that it came to; empty: `listen`, or stdio
};

class Gate {
 public:
  virtual ~Gate() = default;
  // True: no authentication at this listener; admit() is not called.
  virtual bool open(std::string_view listener) const = 0;
  // Returns the answer, or nullopt: then `later` is called once, never before this returns, and only while
  // the gate lives. With an empty `later` the gate decides only if it can at once, and starts nothing.
  virtual std::optional<GateAnswer> admit(const GateRequest& request, GateDone later) = 0;
  // Header fields of the client that plugins subscribe to (ClientRequest::seen), in lower case.
  virtual const std::vector<std::string>& headers_wanted() const = 0;
  virtual void on_refused(const RefusedRequest& request) = 0;
  // True: a plugin must see each message sent to a client, so no message may be forwarded unparsed.
  virtual bool reads_all() const { return false; }
};

}  // namespace lineward::core
