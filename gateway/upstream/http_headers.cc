#include "upstream/http_headers.h"

#include <algorithm>
#include <array>

#include "http/header_list.h"
#include "mcp/header_value.h"
#include "mcp/methods.h"
#include "mcp/revision.h"

namespace lineward::upstream {
namespace {

using http::equals_ignoring_case;
using mcp::Field;

constexpr std::string_view kUserAgent = "lineward/0.1.0";
constexpr std::string_view kParam = "Mcp-Param-";

bool starts_with(std::string_view text, std::string_view prefix) {
  return equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

// Ours alone: they frame the message, belong to one connection, or must say what the body says.
bool is_reserved(std::string_view name) {
  static constexpr std::array<std::string_view, 20> kNames{"Content-Length",
                                                           "Transfer-Encoding",
                                                           "Connection",
                                                           "Keep-Alive",
                                                           "TE",
                                                           "Trailer",
                                                           "Upgrade",
                                                           "HTTP2-Settings",
                                                           "Proxy-Connection",
                                                           "Expect",
                                                           "Host",
                                                           "Content-Type",
                                                           "Accept",
                                                           "Accept-Encoding",
                                                           "Content-Encoding",
                                                           "Last-Event-ID",
                                                           "Range",
                                                           "MCP-Protocol-Version",
                                                           "Mcp-Session-Id",
                                                           "Proxy-Authorization"};
  if (starts_with(name, "Mcp-")) return true;
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view one) { return equals_ignoring_case(one, name); });
}

void set(Headers& headers, std::string_view name, std::string_view value) {
  for (auto& header : headers) {
    if (!equals_ignoring_case(header.name, name)) continue;
    header.value = std::string(value);
    return;
  }
  headers.push_back({std::string(name), std::string(value)});
}

}  // namespace

Headers base_headers(const config::Server& server, HttpVerb verb) {
  Headers headers;
  headers.push_back({"User-Agent", std::string(kUserAgent)});
  if (verb == HttpVerb::post) {
    headers.push_back({"Accept", "application/json, text/event-stream"});
    headers.push_back({"Content-Type", "application/json"});
  } else if (verb == HttpVerb::get) {
    headers.push_back({"Accept", "text/event-stream"});
  }
  headers.push_back({"Accept-Encoding", "identity"});
  for (const auto& [name, value] : server.headers) {
    if (!is_reserved(name)) set(headers, name, value);
  }
  return headers;
}

Headers forwarded_headers(const config::Server& server, const ClientHeaders& client) {
  Headers headers;
  for (const auto& header : client) {
    const std::string& name = header.first;
    const std::string& value = header.second;
    if (is_reserved(name)) continue;
    bool named = std::any_of(server.forward_headers.begin(), server.forward_headers.end(),
                             [&](const std::string& one) { return equals_ignoring_case(one, name); });
    bool configured = std::any_of(server.headers.begin(), server.headers.end(),
                                  [&](const auto& one) { return equals_ignoring_case(one.first, name); });
    if (named && !configured) headers.push_back({name, value});
  }
  return headers;
}

void add_modern_headers(Headers& headers, const mcp::Message& message, const ClientHeaders& client) {
  std::string version = message.text(Field::meta_protocol_version);
  set(headers, "MCP-Protocol-Version", version.empty() ? std::string(mcp::kNewestModern) : version);
  set(headers, "Mcp-Method", message.method());
  const mcp::MethodRow* row = mcp::row(mcp::method_of(message.method()));
  if (row != nullptr && row->mcp_name != Field::count_ && message.is_string(row->mcp_name)) {
    set(headers, "Mcp-Name", mcp::encode_header_value(message.text(row->mcp_name)));
  }
  // What an extension's methods are called by is known to the client alone.
  bool from_body = row != nullptr && row->mcp_name != Field::count_;
  for (const auto& [name, value] : client) {
    if (starts_with(name, kParam) || (!from_body && equals_ignoring_case(name, "Mcp-Name"))) {
      headers.push_back({name, value});
    }
  }
}

void add_session_headers(Headers& headers, const std::string& session_id, const std::string& revision) {
  if (!session_id.empty()) set(headers, "Mcp-Session-Id", session_id);
  if (!revision.empty()) set(headers, "MCP-Protocol-Version", revision);
}

void add_all(Headers& headers, const Headers& more) {
  for (const auto& header : more)
    set(headers, header.name, header.value);
}

}  // namespace lineward::upstream
