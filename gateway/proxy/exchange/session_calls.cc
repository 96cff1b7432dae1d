#include "proxy/exchange/session_calls.h"

#include <iterator>

namespace lineward::exchange {

void SessionCalls::remove(uint64_t number) {
  auto found = calls_.find(number);
  if (found == calls_.end()) return;
  if (number <= named_) names_.erase(found->second.name);
  calls_.erase(found);
}

core::ExchangeId SessionCalls::newest(std::string_view canonical,
                                      const std::function<std::string(core::ExchangeId)>& name) {
  for (auto call = calls_.upper_bound(named_); call != calls_.end(); ++call) {
    call->second.name = names_.emplace(name(call->second.id), call->first);
    named_ = call->first;
  }
  auto end = names_.upper_bound(canonical);
  if (end == names_.begin() || std::prev(end)->first != canonical) return {};
  return calls_.at(std::prev(end)->second).id;
}

}  // namespace lineward::exchange
