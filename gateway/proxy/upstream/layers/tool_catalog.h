// The properties of one upstream's tools that Lineward uses: the parameters mirrored in headers, and whether
// a call may be repeated (2026-07-28 server/tools). Also the hints by which views are made (docs/views.md).
// Filled from every tools/list result that passes; bounded; tools without such properties are not stored. No
// I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "foundation/base/counted_string.h"
#include "foundation/base/memory_charge.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/param_headers.h"
#include "protocol/mcp/tool_hints.h"

namespace lineward::upstream {

struct ToolFacts {
  mcp::ParamHeaders params;
  bool repeatable = false;  // readOnlyHint or idempotentHint
  std::string fault;        // why its definition is invalid
  mcp::ToolHints hints;     // for views only
  uint64_t changes = 0;     // of the list before it was requested
  std::chrono::milliseconds fresh_until{0};
};

// After a list timed out or failed: the earliest next fetch, and the number of consecutive failures.
struct ListPause {
  std::chrono::milliseconds not_before{0};
  uint32_t waits = 0;
  std::chrono::milliseconds since{0};
};

// The tools that callers with the same credentials see.
struct ToolView {
  // Ordered: names come from the server, which could choose colliding hash keys.
  std::map<std::string, ToolFacts, std::less<>> tools;
  bool known = false;  // listed completely since the last change
  std::chrono::milliseconds listed_at{0};
  std::chrono::milliseconds fresh_until{0};  // for views; the tools' own times are for lists of clients
  bool is_cut = false;                       // some of its tools are not stored, because a limit was met
  CountedString why_not{Held::servers};  // the last list could not be fetched, as a clause; empty: it could
  ListPause pause;                       // for these callers' lists
  uint64_t number = 0;                   // differs from that of a dropped view with the same key
  std::string key;
  MemoryCharge held{Held::servers};  // the tools

  const ToolFacts* find(const std::string& name) const {
    auto found = tools.find(name);
    return found == tools.end() ? nullptr : &found->second;
  }
};

// How a page of a list is read for views.
struct ViewReading {
  uint64_t changes = 0;  // of the list before the page was requested
  std::chrono::milliseconds now{0};
  // The names on this page and those before it. A name that is listed twice has no hints.
  CountedStringSet names{Held::calls};
  std::chrono::milliseconds fresh_until = std::chrono::milliseconds::max();  // of all pages
};

class ToolCatalog {
 public:
  static constexpr size_t kMaxTools = 5000;  // stored tools in one view
  static constexpr size_t kMaxNameBytes = 256;
  // The longest time that a list decides which tools are in a view.
  static constexpr std::chrono::milliseconds kMostFresh{300000};

  explicit ToolCatalog(std::string upstream) : upstream_(std::move(upstream)) {}

  // Views are dropped when there are too many or their total is too large: least recently used first, those
  // with a pause last. Keep the key, not the view.
  ToolView& view(const std::string& key);
  // The pause for all callers' lists, for a process that all callers share.
  ListPause& pause() { return pause_; }
  // Reads a page of a list. True when it contains tools with an invalid definition.
  // `for_view`: null where the server's tools are not limited by their hints.
  bool read(ToolView& view, const mcp::Message& page, ViewReading* for_view = nullptr);
  // The page without these tools.
  static std::string without_invalid(const ToolView& view, const mcp::Message& page);
  // The server notified a change of its list.
  void changed();
  // The number of changes.
  uint64_t changes() const { return changes_; }

 private:
  using Views = std::list<ToolView>;
  void keep(ToolView& view, const std::string& name, ToolFacts facts);
  void count(ToolView& view, size_t bytes);
  void make_room(const ToolView& current);

  std::string upstream_;  // for the log
  Views views_;           // most recently used first
  std::unordered_map<std::string_view, Views::iterator> by_key_;
  size_t bytes_ = 0;  // of all views, with their keys and tools
  ListPause pause_;
  uint64_t numbers_ = 0;
  uint64_t changes_ = 0;
};

// Lineward's own tools/list in the name of the client that sent `like`, from `cursor` (raw JSON) on.
std::string tools_list_request(const mcp::Message& like, bool modern, std::string_view cursor);

}  // namespace lineward::upstream
