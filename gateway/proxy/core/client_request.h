// A client request from its admission to its last event: caller, transport and target. Created once, shared
// (exchange, policies, parked calls, member calls of an aggregate) and immutable after admitted(). It does
// not contain the message, which plugins may change.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "foundation/base/account.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "protocol/mcp/revision.h"
#include "proxy/core/gate.h"
#include "proxy/core/headers.h"

namespace lineward::core {

struct ClientRequest {
  std::string upstream;  // name of the addressed server, or the path of an aggregate
  mcp::Method method = mcp::Method::other;
  mcp::Era era = mcp::Era::modern;
  std::string revision;
  std::string session;  // of a legacy client
  std::string principal;
  std::string affinity;                           // as in Scope
  std::string lease;                              // at a shared gateway: the client's token (LeaseRequest)
  std::string peer;                               // "127.0.0.1:51234"
  bool own_connection = false;                    // judging by the head, no proxy shares `peer`
  std::optional<std::chrono::milliseconds> wait;  // requested by the client: Prefer: wait=N or _meta
  uint64_t bytes_in = 0;
  mcp::Wire wire = mcp::Wire::http;
  bool http_status_visible = true;  // as in UpstreamRequest
  size_t authorization = 0;         // digest of the credentials that are forwarded to the server; 0: none
  CallerPtr caller;                 // null: not authenticated
  AccountPtr account;               // charged for the memory that this request holds; null: none
  std::string listener = {};        // the further listener that it came to; empty: `listen`
  HeaderFields seen;                // headers of the request that plugins subscribe to, names in lower case

  // Filled in by admitted() from the message, verbatim.
  std::string call_id = {};
  std::string raw_id = {}, raw_token = {};
  std::string method_name = {};
  std::string target = {};        // tool, prompt or URI
  std::string capabilities = {};  // of a modern client, if the method allows input requests

  bool on_stdio() const { return wire == mcp::Wire::stdio; }
};
using ClientRequestPtr = std::shared_ptr<const ClientRequest>;

// Fills in the fields read from `message`. The result is immutable.
ClientRequestPtr admitted(std::shared_ptr<ClientRequest> request, const mcp::Message& message,
                          std::string call_id);
// Bytes held beyond the short names.
size_t bytes_of(const ClientRequest& request);

// The tool, prompt or URI that a request names, or empty.
std::string target_of(const mcp::Message& message);

}  // namespace lineward::core
