// Merges the declarations and lists of many servers into one answer (behaviour.md 7). Pure; the answers are
// whole messages with id 0, which the exchange replaces with the client's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/json/json_outline.h"
#include "protocol/mcp/message.h"
#include "proxy/aggregate/lists.h"
#include "proxy/aggregate/sealed.h"

namespace lineward::aggregate {

// A server with no part in an answer, and the reason: shown in `_meta["io.lineward/missing"]`.
struct Missing {
  std::string server;
  std::string reason;      // the name of an end reason, or rpc_error
  std::string text;        // one plain sentence
  bool by_policy = false;  // a plugin denied the request or the answer
};

// A server's DiscoverResult, as raw JSON.
struct MemberFacts {
  std::string server;
  std::string capabilities = "{}";
  std::string instructions;           // a string, or empty
  std::vector<std::string> versions;  // the modern ones that Lineward supports
  std::optional<int64_t> ttl_ms;
  bool has(std::string_view capability) const;
  bool has(std::string_view capability, std::string_view flag) const;
};
MemberFacts read_facts(const std::string& server, const mcp::Message& discovered);
// The facts that calls are routed by: capabilities and their flags. They are stored and searched for each
// call, so at most kMaxRoutingBytes are kept; further capabilities route no call.
inline constexpr size_t kMaxRoutingBytes = 16u << 10;
MemberFacts facts_for_routing(const std::string& server, const mcp::Message& discovered);

// The union of the server's declarations over time and callers; bounded likewise.
MemberFacts united(const MemberFacts& before, MemberFacts now);

// Extensions that servers declare with different settings; sorted.
std::vector<std::string> differing_extensions(const std::vector<MemberFacts>& servers);
std::string merged_discover(const std::vector<MemberFacts>& servers, const std::vector<Missing>& missing,
                            bool is_public);

// The servers for a method without a name: those that declare the capability or extension that the method
// begins with. "tasks/list": tasks, or an extension …/tasks; "com.example/x/run": com.example/x.
std::vector<std::string> servers_for(std::string_view method, const std::vector<MemberFacts>& servers);

// Members of JSON objects of several servers: the first one of each name, in order of arrival.
class Members {
 public:
  void add(std::string_view key, std::string_view raw) {
    if (names_.emplace(key).second) all_.emplace_back(std::string(key), std::string(raw));
  }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> all_;  // key, raw
  std::set<std::string, std::less<>> names_;
};

// A page of a merged list.
struct ListPage {
  List list = List::tools;
  std::string items;  // renamed for clients, in server order, separated by commas
  std::vector<CursorPart> more;
  std::optional<int64_t> ttl_ms;  // the smallest so far
  bool uncached = false;          // a part has no ttl, or is missing
  Members others;                 // unknown members of results
  Members meta;                   // the same of _meta
  std::vector<Missing> missing;
};
// Adds all but the items of a server's result; returns its cursor as JSON text, empty on its last page.
std::string read_page(ListPage& page, const mcp::Message& answer);
// The items are marked in its outline: they come from valid messages and need not be read again.
json::Text merged_list(const ListPage& page, bool is_public);

}  // namespace lineward::aggregate
