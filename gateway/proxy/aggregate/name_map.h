// Rewrites names and URIs of many servers in messages, in both directions. Bytes are spliced; all other
// fields stay unchanged (behaviour.md 7).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "proxy/aggregate/lists.h"
#include "proxy/aggregate/naming.h"
#include "proxy/aggregate/uris.h"

namespace lineward::aggregate {

// The names under which clients of one aggregate see its servers' items.
struct NameMap {
  explicit NameMap(const config::Aggregate& rules)
      : tools(rules, kMaxNames), prompts(rules, kMaxNames), uris(kMaxNames, kMaxSeen) {}
  Names tools;
  Names prompts;
  Uris uris;
};

// The clients' name of a listed item; empty: it is omitted because the name belongs to another item.
std::string claim(NameMap& shown, List list, const std::string& server, const std::string& own);
// A list item as clients see it; empty: it is omitted because its name is taken or missing.
std::optional<std::string> item_for_client(NameMap& shown, List list, const std::string& server,
                                           std::string_view item);

// The request of a result: for a resource, the server's and the client's URI.
struct Asked {
  mcp::Method method = mcp::Method::other;
  std::string own_uri;
  std::string seen_uri;
};
// A server's result or notification for the client. Empty: it needs no change.
std::optional<json::Text> result_for_client(NameMap& shown, const std::string& server,
                                            const mcp::Message& result, const Asked& asked = {});
// A legacy server's request to its client during a call.
std::optional<json::Text> question_for_client(NameMap& shown, const std::string& server,
                                              const mcp::Message& question);
std::string notification_for_client(NameMap& shown, const std::string& server,
                                    const mcp::Message& notification);

// The target of a request, and the server's own identifier.
struct Route {
  std::string server;
  std::string raw;  // replaces the name, URI or task id, as JSON text
};
// The field that determines the target: params.name, .uri, .taskId, or ref's. Empty: none.
json::Span target_at(const mcp::Message& request, mcp::Method method);

enum class Fault : uint8_t { none, unknown, needs_lists, forged };
struct Routed {
  Fault fault = Fault::none;
  Route route;
};
// `servers`: the names of the members. `lists_read`: the servers' lists are known already.
Routed route(const NameMap& shown, const mcp::Message& request, mcp::Method method,
             const std::vector<std::string>& servers, bool lists_read);

// The request with the server's own name, URI or task id, and its own requestState; empty when that state
// belongs to another server.
std::optional<std::string> request_for_server(const mcp::Message& request, mcp::Method method,
                                              const Route& route);

}  // namespace lineward::aggregate
