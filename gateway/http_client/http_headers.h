// The headers of requests to HTTP servers (behaviour.md 11; 2026-07-28 streamable HTTP, "Request Metadata";
// 2025-11-25 transports, "Session Management"). Pure functions.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "core/headers.h"
#include "http/header_list.h"
#include "http/writer.h"
#include "mcp/message.h"

namespace lineward::upstream {

using Headers = std::vector<http::OutHeader>;
using ClientHeaders = core::HeaderFields;

enum class HttpVerb : uint8_t { post, get, remove };

// What stands on every request: what we accept, who we are, the server's configured headers.
Headers base_headers(const config::Server& server, HttpVerb verb);
// What of a client's headers goes on, of those that were picked by the server's ForwardRules: a configured
// header of the same name wins.
Headers forwarded_headers(const config::Server& server, const ClientHeaders& client);
// Those of them that say who the client is, and so go on every request of its session; a trace belongs to one
// call.
Headers lasting_headers(const Headers& forwarded);
bool is_trace_header(std::string_view name);
// What of a client's headers goes with that which Lineward asks itself in its place: not the trace of the one
// call that made it necessary, nor what repeats that call's message.
ClientHeaders headers_of_client(const ClientHeaders& of_call);
// A name for them that gives nothing away; empty when there are none.
std::string identity_of(const Headers& forwarded);
// The headers that repeat a modern message's body, and the client's Mcp-Param-* as they came.
void add_modern_headers(Headers& headers, const mcp::Message& message, const ClientHeaders& client);
// The same as lines of a head that has none of these names otherwise. Mostly the tool is called that was
// called last: its lines are kept.
class ModernLines {
 public:
  void append(std::string& head, const mcp::Message& message, const ClientHeaders& client);

 private:
  std::string method_, name_, version_;  // as the message has them
  std::string lines_;
};

// The revision that a client without a session names itself.
void add_revision(Headers& headers, const ClientHeaders& client);
void add_session_headers(Headers& headers, const std::string& session_id, const std::string& revision);
// Adds; what has the same name already is replaced.
void add_all(Headers& headers, const Headers& more);
// WWW-Authenticate and Retry-After of a refusal, as far as they are well formed and short.
core::HeaderFields challenge_headers(const http::HeaderList& response);
// What Retry-After among these says in seconds; −1 where it says nothing, or a date.
std::chrono::milliseconds retry_after(const core::HeaderFields& headers);

}  // namespace lineward::upstream
