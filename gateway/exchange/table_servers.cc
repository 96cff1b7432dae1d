// How servers come to the table of exchanges and leave it while it runs: a part of exchange/exchange_table.h.
#include <algorithm>

#include "exchange/exchange_table.h"

namespace lineward::exchange {

using mcp::EndReason;

void ExchangeTable::add_upstream(core::Upstream& upstream, const config::Server& server) {
  servers_[upstream.name()] = std::make_shared<Served>(upstream, server);
  hear_cancels(upstream.name());
}

void ExchangeTable::hear_cancels(const std::string& upstream) {
  core::upstream_stats(upstream).cancel_watcher = &log_;
  watched_.insert(upstream);
}

std::function<std::shared_ptr<void>()> ExchangeTable::leases(const core::Upstream& upstream) {
  auto found = servers_.find(upstream.name());
  if (found == servers_.end()) return [] { return nullptr; };
  return [served = found->second] { return std::make_shared<Lease>(served); };
}

ExchangeTable::Work ExchangeTable::work_of(const core::Upstream& upstream) {
  Work work;
  exchanges_.for_each([&](core::ExchangeId, Exchange& exchange) {
    if (exchange.lease() && &exchange.lease().upstream() == &upstream && !exchange.is_listen()) ++work.calls;
  });
  work.calls += park_.count_of(upstream);
  for (const auto& [id, link] : links_)
    work.sessions += &link->upstream() == &upstream ? 1 : 0;
  return work;
}

void ExchangeTable::retire_upstream(core::Upstream& upstream, bool replaced, std::function<void()> left) {
  auto found = servers_.find(upstream.name());
  if (found == servers_.end() || &found->second->upstream != &upstream) return;
  std::shared_ptr<Served> served = std::move(found->second);
  servers_.erase(found);
  const std::string name = upstream.name();
  retiring_.push_back(served);
  served->retiring = true;
  served->left = [this, one = served.get(), left = std::move(left)] {
    loop_.defer([this, one, left] {
      std::erase_if(retiring_, [&](const auto& each) { return each.get() == one; });
      left();
    });
  };
  Lease here(served);  // not before all is told
  const std::string why = replaced ? name + " was changed by a reload" : name + " was removed by a reload";
  std::vector<Exchange*> listens;
  exchanges_.for_each([&](core::ExchangeId, Exchange& exchange) {
    if (exchange.is_listen() && exchange.lease().get() == served.get()) listens.push_back(&exchange);
  });
  for (Exchange* exchange : listens)
    exchange->tell(EndReason::cancelled_drain, why);
  if (!replaced) park_.end_of(*served, why);
  if (sessions_ == nullptr) return;
  for (const std::string& id : sessions_->ids()) {
    client::Session* one = session(id);
    auto link = links_.find(id);
    bool its = link != links_.end() ? link->second->lease().get() == served.get()
                                    : !replaced && one->upstream == name;  // not initialised yet
    if (its && one->exchanges == 0) session_lost(id);
  }
}

}  // namespace lineward::exchange
