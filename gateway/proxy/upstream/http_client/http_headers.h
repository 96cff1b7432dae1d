// The headers of requests to HTTP servers (behaviour.md 11; 2026-07-28 streamable HTTP, "Request Metadata";
// 2025-11-25 transports, "Session Management"). Pure functions.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "protocol/http/header_list.h"
#include "protocol/http/writer.h"
#include "protocol/mcp/message.h"
#include "proxy/core/headers.h"

namespace lineward::upstream {

using Headers = std::vector<http::OutHeader>;
using ClientHeaders = core::HeaderFields;

enum class HttpVerb : uint8_t { post, get, remove };

// Headers of every request: Accept, User-Agent, the server's configured headers.
Headers base_headers(const config::Server& server, HttpVerb verb);
// The client's headers to forward, from those selected by the server's ForwardRules: a configured header of
// the same name takes precedence.
Headers forwarded_headers(const config::Server& server, const ClientHeaders& client);
// The headers that identify the client, for every request of its session; trace headers belong to a single
// call.
Headers lasting_headers(const Headers& forwarded);
bool is_trace_header(std::string_view name);
// The client's headers for Lineward's own requests in its name: without the trace of the call that caused
// them, and without mirrored headers.
ClientHeaders headers_of_client(const ClientHeaders& of_call);
// A digest of them that reveals nothing; empty when there are none.
std::string identity_of(const Headers& forwarded);
// The same with all values about the caller that the server gets, in headers or not. For whatever is kept or
// shared: results, listens, tool lists.
std::string identity_of(const config::Server& server, const ClientHeaders& client);
// The headers that mirror a modern message's body, and the client's Mcp-Param-* unchanged.
void add_modern_headers(Headers& headers, const mcp::Message& message, const ClientHeaders& client);
// The same as lines of a head without any of these names. The lines of the last call are cached: usually the
// same tool is called again.
class ModernLines {
 public:
  void append(std::string& head, const mcp::Message& message, const ClientHeaders& client);

 private:
  std::string method_, name_, version_;  // as in the message
  std::string lines_;
};

// The revision header sent by a client without a session.
void add_revision(Headers& headers, const ClientHeaders& client);
void add_session_headers(Headers& headers, const std::string& session_id, const std::string& revision);
// Adds headers, replacing those of the same name.
void add_all(Headers& headers, const Headers& more);
// WWW-Authenticate and Retry-After of a refusal, if well-formed and short.
core::HeaderFields challenge_headers(const http::HeaderList& response);
// The Retry-After among these, in seconds; −1 if it is absent or a date.
std::chrono::milliseconds retry_after(const core::HeaderFields& headers);

}  // namespace lineward::upstream
