// What one upstream's tools say of themselves, as far as it matters to Lineward: the parameters that are
// repeated in headers, and whether a call may be made twice (2026-07-28 server/tools). Filled from every
// tools/list result that passes; bounded; tools with nothing to say are not kept. No I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/held_bytes.h"
#include "mcp/message.h"
#include "mcp/param_headers.h"

namespace lineward::upstream {

struct ToolFacts {
  mcp::ParamHeaders params;
  bool repeatable = false;  // readOnlyHint or idempotentHint
  std::string fault;        // why its definition is invalid
};

// Whoever let us wait for a list, or came to harm by it: when it is asked again, and how often that was so,
// in a row.
struct ListPause {
  std::chrono::milliseconds not_before{0};
  uint32_t waits = 0;
};

// What callers with the same credentials see.
struct ToolView {
  // Ordered: names come from the server, which could choose them so that they meet in one bucket of a hash
  // table.
  std::map<std::string, ToolFacts, std::less<>> tools;
  bool known = false;  // listed to the end since the last change
  std::chrono::milliseconds listed_at{0};
  ListPause pause;      // of these callers' lists
  uint64_t number = 0;  // not that of a dropped one with the same key
  std::string key;
  HeldBytes held{Held::servers};  // of the tools

  const ToolFacts* find(const std::string& name) const {
    auto found = tools.find(name);
    return found == tools.end() ? nullptr : &found->second;
  }
};

class ToolCatalog {
 public:
  explicit ToolCatalog(std::string upstream) : upstream_(std::move(upstream)) {}

  // Views are dropped when there are too many, or they are too large together, the longest unused first, and
  // those with a pause last: keep the key, not the view.
  ToolView& view(const std::string& key);
  // Of everybody's lists: a process that all callers share is asked for none of them.
  ListPause& pause() { return pause_; }
  // A page of a list. True when it holds tools whose definition is invalid.
  bool read(ToolView& view, const mcp::Message& page);
  // The page without those.
  static std::string without_invalid(const ToolView& view, const mcp::Message& page);
  // A server said that its list has changed.
  void changed();
  // How often that was.
  uint64_t changes() const { return changes_; }

 private:
  using Views = std::list<ToolView>;
  void keep(ToolView& view, const std::string& name, ToolFacts facts);
  void count(ToolView& view, size_t bytes);
  void make_room(const ToolView& current);

  std::string upstream_;  // for the log
  Views views_;           // used last first
  std::unordered_map<std::string_view, Views::iterator> by_key_;
  size_t bytes_ = 0;  // of all views, with their keys and tools
  ListPause pause_;
  uint64_t numbers_ = 0;
  uint64_t changes_ = 0;
};

// Lineward's own tools/list as the client that made `like` would make it, from `cursor` (raw JSON) on.
std::string tools_list_request(const mcp::Message& like, bool modern, std::string_view cursor);

}  // namespace lineward::upstream
