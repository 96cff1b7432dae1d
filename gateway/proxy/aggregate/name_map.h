// Rewrites names and URIs of many servers in messages, in both directions. Bytes are spliced; all other
// fields stay unchanged (behaviour.md 7).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "foundation/json/json_at.h"
#include "foundation/json/json_walk.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "proxy/aggregate/lists.h"
#include "proxy/aggregate/naming.h"
#include "proxy/aggregate/shared_names.h"
#include "proxy/aggregate/uris.h"

namespace lineward::aggregate {

// The names under which clients of one aggregate see its servers' items.
struct NameMap {
  // `shared`: where several workers serve the aggregate.
  explicit NameMap(const config::Aggregate& rules, std::shared_ptr<SharedNames> shared = nullptr);
  NameMap(const NameMap&) = delete;
  NameMap& operator=(const NameMap&) = delete;

  // While it stays the same, the items of such a list are shown as before. `with_uris`: they may contain URIs
  // besides their own identifier. Increases.
  uint64_t version(List list, bool with_uris) const {
    const bool named = list == List::tools || list == List::prompts;
    const Names& names = list == List::tools ? tools : prompts;
    return (named ? names.owners().version() : 0) + (!named || with_uris ? uris.version() : 0);
  }
  // Takes over the names that other workers have added. Before a name is looked up.
  void catch_up() { sync.catch_up(); }
  // The server is not in the configuration any more. Its names and URIs may belong to others, on all workers.
  void forget(const std::string& server);

  NameSync sync;
  Names tools;
  Names prompts;
  Uris uris;

  // Takes over an addition of another worker.
  void take(const NameClaim& claim);
  void take(const SeenUri& seen) { uris.take(seen); }
  // It has missed some URIs of results: only those that follow count.
  void forget_seen() { uris.forget_seen(); }

 private:
  // On this worker alone. False: nothing was known of the server.
  bool release(const std::string& server);
};

// The clients' name of a listed item; empty: it is omitted because the name belongs to another item.
std::string claim(NameMap& shown, List list, const std::string& server, const std::string& own);
// An item of a list, with the fields that the aggregate reads; an absent one is empty.
struct ListItem {
  json::Span whole;
  json::Span key;  // of its identifying field, row(list).key
  json::Span meta;
  std::string own;  // the server's name for it; empty if it is no string
};
// Calls visit(item) for each element of the array at `items`, in one pass over it.
template <class F>
void for_each_item(std::string_view text, json::Span items, List list, F&& visit) {
  if (!items || text[items.begin] != '[') return;
  const std::string_view inner = items.in(text);
  const auto in_text = [&](json::Span part) {
    return json::Span{part.begin + items.begin, part.end + items.begin};
  };
  json::Cursor cursor(inner, json::kDepthCeiling);
  json::walk_elements(cursor, [&] {
    ListItem item;
    json::Span value;
    if (cursor.at_object()) {
      const uint32_t begin = cursor.offset();
      json::walk_members(cursor, inner, [&](std::string_view key, json::Span) {
        if (!cursor.skip(value)) return;
        if (key == row(list).key && !item.key) item.key = in_text(value);
        if (key == "_meta" && !item.meta) item.meta = in_text(value);
      });
      value = {begin, cursor.offset()};
    } else {
      cursor.skip(value);
    }
    item.whole = in_text(value);
    item.own = json::string_at(text, item.key);
    visit(std::as_const(item));
  });
}
// Appends an item of `text` as clients see it to `out`, where commas separate the items. False: it is omitted
// because its name is taken or missing.
bool add_for_client(NameMap& shown, List list, const std::string& server, std::string_view text,
                    const ListItem& item, std::string& out);

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
