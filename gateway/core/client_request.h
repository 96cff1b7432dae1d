// One client's request from its admission to the last that is told of it: who asks, by which way, for what.
// Made once, shared by whoever has to do with the request (exchange, policies, parked calls, calls of one
// server among many), and changed by nobody. The message itself is not in it: that one changes on its way.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/account.h"
#include "core/gate.h"
#include "core/headers.h"
#include "mcp/message.h"
#include "mcp/methods.h"
#include "mcp/revision.h"

namespace lineward::core {

struct ClientRequest {
  std::string upstream;  // name of the server that its client addressed, or the path of many as one
  mcp::Method method = mcp::Method::other;
  mcp::Era era = mcp::Era::modern;
  std::string revision;
  std::string session;  // a legacy client's
  std::string principal;
  std::string affinity;                           // as in Scope
  std::string peer;                               // "127.0.0.1:51234"
  bool own_connection = false;                    // `peer` is one client's, as far as its head says
  std::optional<std::chrono::milliseconds> wait;  // the client's own wish, from Prefer: wait=N or its message
  uint64_t bytes_in = 0;
  mcp::Wire wire = mcp::Wire::http;
  bool sees_status = true;   // as in CallRequest
  size_t authorization = 0;  // a digest of the credentials that go up to its server; 0: none do
  CallerPtr caller;          // null: nobody asked who it is
  AccountPtr account;        // whose share what it makes us hold is of; null: nobody's
  HeaderFields seen;         // what plugins want to see of the request's head, names in lower case

  // What admitted() reads from its message; texts are as the client wrote them.
  std::string call_id = {};
  std::string raw_id = {}, raw_token = {};
  std::string method_name = {};
  std::string target = {};        // tool, prompt or URI
  std::string capabilities = {};  // of a modern client, during whose call a server may ask

  bool on_stdio() const { return wire == mcp::Wire::stdio; }
};
using ClientRequestPtr = std::shared_ptr<const ClientRequest>;

// From here on nobody changes it.
ClientRequestPtr admitted(std::shared_ptr<ClientRequest> request, const mcp::Message& message,
                          std::string call_id);
// What it holds beside names that are short.
size_t bytes_of(const ClientRequest& request);

// The tool, prompt or URI that a request names, or empty.
std::string target_of(const mcp::Message& message);

}  // namespace lineward::core
