// What many servers say of themselves and list, as one answer (behaviour.md 7). Pure; the answers are whole
// messages under id 0, which the exchange replaces by the client's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate/lists.h"
#include "aggregate/sealed.h"
#include "mcp/message.h"

namespace lineward::aggregate {

// A server whose part is not in an answer, and why: shown in `_meta["io.lineward/missing"]`.
struct Missing {
  std::string server;
  std::string reason;      // the name of an end reason, or rpc_error
  std::string text;        // one plain sentence
  bool by_policy = false;  // a plugin did not let it be asked, or answer
};

// What a server said in its DiscoverResult, as raw JSON.
struct MemberFacts {
  std::string server;
  std::string capabilities = "{}";
  std::string instructions;           // a string, or empty
  std::vector<std::string> versions;  // modern ones that Lineward speaks
  std::optional<int64_t> ttl_ms;
  bool has(std::string_view capability) const;
  bool has(std::string_view capability, std::string_view flag) const;
};
MemberFacts read_facts(const std::string& server, const mcp::Message& discovered);
// Of them what calls are routed by: which capabilities there are, and their flags. It is kept, and walked for
// each call, so it is at most kMaxRoutingBytes long; capabilities beyond that lead no call anywhere.
inline constexpr size_t kMaxRoutingBytes = 16u << 10;
MemberFacts facts_for_routing(const std::string& server, const mcp::Message& discovered);

// What it has said at one time or another, to one or another; no longer than that either.
MemberFacts united(const MemberFacts& before, MemberFacts now);

// Extensions that servers declare with other settings each; sorted.
std::vector<std::string> differing_extensions(const std::vector<MemberFacts>& servers);
std::string merged_discover(const std::vector<MemberFacts>& servers, const std::vector<Missing>& missing,
                            bool is_public);

// Which servers a method belongs to that names nothing: those that declare the capability, or the extension,
// that its name begins with ("tasks/list": tasks, or an extension …/tasks; "com.example/x/run":
// com.example/x).
std::vector<std::string> servers_for(std::string_view method, const std::vector<MemberFacts>& servers);

// Members of JSON objects of several servers: the first one of each name, in the order in which they came.
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

// One page of a merged list.
struct ListPage {
  List list = List::tools;
  std::vector<std::string> items;  // as clients see them, in the order of the servers
  std::vector<CursorPart> more;
  std::optional<int64_t> ttl_ms;  // the smallest so far
  bool uncached = false;          // a part said nothing of it, or is missing
  Members others;                 // members of results that are not known
  Members meta;                   // the same of _meta
  std::vector<Missing> missing;
};
// Takes from a server's result what is not its items; its cursor as JSON text, empty when this was its last
// page.
std::string read_page(ListPage& page, const mcp::Message& answer);
std::string merged_list(const ListPage& page, bool is_public);

}  // namespace lineward::aggregate
