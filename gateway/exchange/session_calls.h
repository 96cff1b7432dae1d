// The calls of one legacy session: in the order of their arrival, and by the ids that its client gave them,
// so that neither the end of a call nor a cancel looks at all the others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/exchange_api.h"

namespace lineward::exchange {

class SessionCalls {
 public:
  // Numbers grow from call to call.
  void add(uint64_t number, core::ExchangeId id) { calls_.emplace_hint(calls_.end(), number, Entry{id, {}}); }
  void remove(uint64_t number);
  bool empty() const { return calls_.empty(); }
  size_t size() const { return calls_.size(); }

  // The newest call under this id; none where there is no such call. `name` gives the id of a call as it
  // compares with others, and is asked once for each call: most are never cancelled.
  core::ExchangeId newest(std::string_view canonical,
                          const std::function<std::string(core::ExchangeId)>& name);

  // Oldest first, or newest first until visit() returns true.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [number, entry] : calls_)
      visit(entry.id);
  }
  template <typename Visit>
  void from_newest(Visit visit) const {
    for (auto entry = calls_.rbegin(); entry != calls_.rend(); ++entry) {
      if (visit(entry->second.id)) return;
    }
  }

 private:
  // Ordered: ids come from the client, which could choose them so that they meet in one bucket of a hash
  // table.
  using Names = std::multimap<std::string, uint64_t, std::less<>>;  // canonical id → number, oldest first
  struct Entry {
    core::ExchangeId id;
    Names::iterator name;  // of calls up to named_
  };
  std::map<uint64_t, Entry> calls_;
  Names names_;
  uint64_t named_ = 0;  // calls up to this number are in names_
};

}  // namespace lineward::exchange
