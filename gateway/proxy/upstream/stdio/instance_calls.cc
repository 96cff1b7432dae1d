#include "proxy/upstream/stdio/instance_calls.h"

#include <algorithm>
#include <utility>

#include "proxy/upstream/shared/own_id.h"

namespace lineward::upstream {

int64_t InstanceCalls::add(PendingCall entry) {
  const int64_t id = next_id_++;
  entry.id = id;
  const bool counts = entry.counts;
  pending_.emplace_hint(pending_.end(), id, std::move(entry));
  if (counts) count(1);
  return id;
}

PendingCall* InstanceCalls::find(int64_t id) {
  auto found = pending_.find(id);
  return found == pending_.end() ? nullptr : &found->second;
}

PendingCall* InstanceCalls::named(std::string_view raw_id) {
  auto id = own_id(raw_id);
  return id ? find(*id) : nullptr;
}

PendingCall InstanceCalls::take(PendingCall& entry) {
  PendingCall taken = std::move(entry);
  pending_.erase(taken.id);
  if (taken.counts) count(-1);
  return taken;
}

InstanceCalls::Table InstanceCalls::take_all() {
  Table all(pending_.get_allocator());
  all.swap(pending_);
  count(-static_cast<int64_t>(in_flight_));
  return all;
}

void InstanceCalls::free_place(PendingCall& entry) {
  if (std::exchange(entry.counts, false)) count(-1);
}

void InstanceCalls::handed_over(StdioCall& call, core::Handover how) {
  const bool counts = how == core::Handover::in_flight;
  call.parked_since = counts ? std::nullopt : std::optional(loop_.now());
  PendingCall* entry = find(call.id);
  if (entry == nullptr || entry->counts == counts) return;
  entry->counts = counts;
  count(counts ? 1 : -1);
}

bool InstanceCalls::is_idle() const {
  return std::all_of(pending_.begin(), pending_.end(), [](const auto& one) {
    return one.second.is_listen() && one.second.call != nullptr && one.second.call->request.of_gateway;
  });
}

bool InstanceCalls::has_listens() const {
  return std::any_of(pending_.begin(), pending_.end(), [](const auto& one) {
    return one.second.is_listen() && one.second.call != nullptr && !one.second.call->request.of_gateway;
  });
}

bool InstanceCalls::has_calls() const {
  return std::any_of(pending_.begin(), pending_.end(),
                     [](const auto& one) { return !one.second.is_listen() && !one.second.own; });
}

size_t InstanceCalls::asking() const {
  size_t count = 0;
  for (const auto& [id, entry] : pending_)
    count += entry.asks ? 1 : 0;
  return count;
}

StdioCall* InstanceCalls::exclusive_call() const {
  return only([](auto& one) { return !one.asks || one.call == nullptr; }, [](auto&) { return false; });
}

StdioCall* InstanceCalls::only_parked() const {
  return only([](auto& one) { return one.call == nullptr; },
              [](auto& one) { return !one.call->parked_since; });
}

PossibleCalls InstanceCalls::possible(const mcp::Message* message) const {
  PossibleCalls calls(message);
  for (const auto& [id, entry] : pending_) {
    if (!entry.is_listen() && !entry.own) calls.add(possible_call(entry));
  }
  return calls;
}

PossibleCall InstanceCalls::possible_call(const PendingCall& entry) {
  const CallerId cancelled = entry.caller ? entry.caller->id() : CallerId();
  return {entry.call, entry.call != nullptr ? CallerId(entry.call->request) : cancelled, entry.asks,
          entry.of_gateway};
}

void InstanceCalls::note_over(const PendingCall& entry) {
  if (!entry.own && !entry.is_listen()) attribution.note_over(possible_call(entry));
}

}  // namespace lineward::upstream
