// The calls of one legacy session: in order of arrival, and by their client's ids, so that neither the end of
// a call nor a cancel scans all others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "proxy/core/exchange_api.h"

namespace lineward::exchange {

class SessionCalls {
 public:
  // Numbers increase from call to call.
  void add(uint64_t number, core::ExchangeId id) { calls_.emplace_hint(calls_.end(), number, Entry{id, {}}); }
  void remove(uint64_t number);
  bool empty() const { return calls_.empty(); }
  size_t size() const { return calls_.size(); }

  // The newest call with this id; none if there is none. `name` returns the canonical id of a call, and is
  // called once per call: most are never cancelled.
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
  // Ordered: clients choose the ids, and could make them collide in a hash table.
  using Names = std::multimap<std::string, uint64_t, std::less<>>;  // canonical id → number, oldest first
  struct Entry {
    core::ExchangeId id;
    Names::iterator name;  // for calls up to named_
  };
  std::map<uint64_t, Entry> calls_;
  Names names_;
  uint64_t named_ = 0;  // calls up to this number are in names_
};

}  // namespace lineward::exchange
