// What is checked of a request before it may become an exchange: addresses, content types, the era it belongs
// to and whether its headers say what its body says (behaviour.md 1 and 2; 2026-07-28 streamable HTTP,
// "Server Validation"). Pure: no sockets, no state.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/http/refusal.h"
#include "config/config.h"
#include "http/header_list.h"
#include "mcp/message.h"
#include "mcp/revision.h"

namespace lineward::client {

// Host and Origin against DNS rebinding and cross-site requests. `loopback`: the listener is bound to it.
std::optional<HttpRefusal> check_addresses(const http::HeaderList& headers, const config::Listen& listen,
                                           bool loopback);

// What of it concerns Host.
std::optional<HttpRefusal> check_host(const http::HeaderList& headers, const config::Listen& listen,
                                      bool loopback);

// Content-Type, Content-Encoding and Accept of a POST.
std::optional<HttpRefusal> check_post_headers(const http::HeaderList& headers);

// The connection is a proxy's, which may bring any client's requests on it: it says nothing of who asks.
bool came_through_proxy(const http::HeaderList& headers);

// Is it said to belong to a legacy session?
bool names_session(const http::HeaderList& headers);

// The value of `sessionId` in the query of an HTTP+SSE client's POST; empty: there is none.
inline constexpr std::string_view kSessionParameter = "sessionId=";
std::string_view session_in_query(std::string_view target);

// The legacy revision that a request names by its version header; empty: none.
std::string_view legacy_revision_named(const http::HeaderList& headers);
// It names a version by that header, and no legacy one: it is no legacy client's.
bool names_other_version(const http::HeaderList& headers);

struct Accepts {
  bool json = true;
  bool events = true;
};
Accepts accepts(const http::HeaderList& headers);

// The era a message belongs to; nothing when there is no evidence.
std::optional<mcp::Era> era_of(const mcp::Message& message, const http::HeaderList& headers);

// A modern request: the required `_meta` fields, the version, and the headers that mirror the body.
// `supported` is what the endpoint speaks, for −32022.
std::optional<HttpRefusal> check_modern_request(const mcp::Message& message, const http::HeaderList& headers,
                                                const std::vector<std::string>& supported);

// The same where there are no headers: on stdio the body says everything.
std::optional<HttpRefusal> check_modern_body(const mcp::Message& message,
                                             const std::vector<std::string>& supported);

// The version header of a request in a legacy session. What the session negotiated is always fine.
std::optional<HttpRefusal> check_legacy_version(const http::HeaderList& headers, std::string_view negotiated);

// `Prefer: wait=N` in seconds (RFC 7240).
std::optional<std::chrono::milliseconds> preferred_wait(const http::HeaderList& headers);

}  // namespace lineward::client
