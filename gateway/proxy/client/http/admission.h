// Checks of a request before it becomes an exchange: addresses, content types, its era, and whether its
// headers match its body. See behaviour.md 1 and 2; 2026-07-28 streamable HTTP, "Server Validation". Pure: no
// sockets, no state.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "protocol/http/header_list.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/revision.h"
#include "proxy/client/http/refusal.h"

namespace lineward::client {

// Host and Origin against DNS rebinding and cross-site requests. `loopback`: the listener is bound to
// loopback.
std::optional<HttpError> check_addresses(const http::HeaderList& headers, const config::Listen& listen,
                                         bool loopback);

// The check of Host alone.
std::optional<HttpError> check_host(const http::HeaderList& headers, const config::Listen& listen,
                                    bool loopback);

// Content-Type, Content-Encoding and Accept of a POST.
std::optional<HttpError> check_post_headers(const http::HeaderList& headers);

// The request came through a proxy. Its connection may carry requests of several clients, and identifies none
// of them.
bool came_through_proxy(const http::HeaderList& headers);

// Does it name a legacy session?
bool names_session(const http::HeaderList& headers);

// The value of `sessionId` in the query of an HTTP+SSE client's POST; empty: there is none.
inline constexpr std::string_view kSessionParameter = "sessionId=";
std::string_view session_in_query(std::string_view target);

// The legacy revision in the request's version header; empty: none.
std::string_view legacy_revision_named(const http::HeaderList& headers);
// The version header names a version that is not a legacy one, so the client is not a legacy client.
bool names_other_version(const http::HeaderList& headers);

struct Accepts {
  bool json = true;
  bool events = true;
};
Accepts accepts(const http::HeaderList& headers);

// The era of a message; empty without evidence.
std::optional<mcp::Era> era_of(const mcp::Message& message, const http::HeaderList& headers);

// Checks a modern request: the required `_meta` fields, the version, and the headers that mirror the body.
// `supported`: the endpoint's versions, for error −32022.
std::optional<HttpError> check_modern_request(const mcp::Message& message, const http::HeaderList& headers,
                                              const std::vector<std::string>& supported);

// The same on stdio, where there are no headers.
std::optional<HttpError> check_modern_body(const mcp::Message& message,
                                           const std::vector<std::string>& supported);

// The version header of a request in a legacy session. The negotiated version is always accepted.
std::optional<HttpError> check_legacy_version(const http::HeaderList& headers, std::string_view negotiated);

// `Prefer: wait=N` in seconds (RFC 7240).
std::optional<std::chrono::milliseconds> preferred_wait(const http::HeaderList& headers);

}  // namespace lineward::client
