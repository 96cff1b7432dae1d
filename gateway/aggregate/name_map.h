// Names and URIs of many servers in the messages that carry them, there and back. Bytes are spliced; what is
// not one of these fields stays as it came (behaviour.md 7).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/lists.h"
#include "aggregate/naming.h"
#include "aggregate/uris.h"
#include "config/config.h"
#include "mcp/message.h"
#include "mcp/methods.h"

namespace lineward::aggregate {

// What the servers of one aggregate are known by to its clients.
struct NameMap {
  explicit NameMap(const config::Aggregate& rules)
      : tools(rules, kMaxNames), prompts(rules, kMaxNames), uris(kMaxNames, kMaxSeen) {}
  Names tools;
  Names prompts;
  Uris uris;
};

// What clients call an item that a server lists; empty when it has to be left out: the name is another's.
std::string claim(NameMap& shown, List list, const std::string& server, const std::string& own);
// An item of a server's list as clients see it; nothing when it has to be left out: its name is another's, or
// it has none.
std::optional<std::string> item_for_client(NameMap& shown, List list, const std::string& server,
                                           std::string_view item);

// What is answered: of a resource, what the server and the client call it.
struct Asked {
  mcp::Method method = mcp::Method::other;
  std::string own_uri;
  std::string seen_uri;
};
// A server's result, or a notification of it. Nothing: the client may have the result as it is.
std::optional<json::Text> result_for_client(NameMap& shown, const std::string& server,
                                            const mcp::Message& result, const Asked& asked = {});
// What a legacy server asks of its client while a call runs.
std::optional<json::Text> question_for_client(NameMap& shown, const std::string& server,
                                              const mcp::Message& question);
std::string notification_for_client(NameMap& shown, const std::string& server,
                                    const mcp::Message& notification);

// Where a request goes, and what the server is to be asked by.
struct Route {
  std::string server;
  std::string raw;  // what takes the place of the name, URI or task id, as JSON text
};
// The field that says where this request goes: params.name, .uri, .taskId, or ref's. Empty: none does.
json::Span target_at(const mcp::Message& request, mcp::Method method);

enum class Fault : uint8_t { none, unknown, needs_lists, forged };
struct Routed {
  Fault fault = Fault::none;
  Route route;
};
// `servers`: the names of those that there are. `lists_read`: what only their lists tell is known already.
Routed route(const NameMap& shown, const mcp::Message& request, mcp::Method method,
             const std::vector<std::string>& servers, bool lists_read);

// The request with the server's own name, URI or task id, and its own requestState; nothing when that state
// is another's.
std::optional<std::string> request_for_server(const mcp::Message& request, mcp::Method method,
                                              const Route& route);

}  // namespace lineward::aggregate
