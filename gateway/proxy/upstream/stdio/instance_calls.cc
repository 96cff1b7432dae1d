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

// A server may send requests during any call, and does not name the call. A request beside another client's
// call has no owner, whatever that call is: it must not reach the wrong client.
StdioCall* InstanceCalls::asking_call() const {
  return only([](auto& one) { return one.is_listen() || one.own || (one.of_gateway && !one.asks); },
              [](auto& one) { return !one.asks; });
}

StdioCall* InstanceCalls::owner_of_question(mcp::Method method, bool exclusive) const {
  using mcp::Method;
  // Without capabilities only the single call in flight can own the request: its client gets an error that
  // names the missing capability.
  const bool may_own = method == Method::elicitation_create || method == Method::sampling_create_message ||
                       (method == Method::roots_list && exclusive);
  StdioCall* owner = may_own ? asking_call() : nullptr;
  if (owner == nullptr) return nullptr;
  // The request may belong to an answered call.
  const bool certain = exclusive ? asked_by_none_but(*owner) : loop_.now() >= asked_until();
  return certain ? owner : nullptr;
}

StdioCall* InstanceCalls::exclusive_call() const {
  return only([](auto& one) { return !one.asks || one.call == nullptr; }, [](auto&) { return false; });
}

StdioCall* InstanceCalls::only_parked() const {
  return only([](auto& one) { return one.call == nullptr; },
              [](auto& one) { return !one.call->parked_since; });
}

StdioCall* InstanceCalls::asked_by(const mcp::Message& notification) const {
  return only([&](auto& one) { return one.call == nullptr || !one.call->asked_what_is_named(notification); },
              [](auto&) { return false; });
}

StdioCall* InstanceCalls::only_call() const {
  return only([](auto& one) { return one.is_listen() || one.own; }, [](auto&) { return false; });
}

StdioCall* InstanceCalls::owner_of_unnamed() const {
  return late_.any(loop_.now()) ? nullptr : only_call();
}

StdioCall* InstanceCalls::owner_of_line() const {
  LineOwner<StdioCall> lines;
  for (const auto& [id, entry] : pending_) {
    if (entry.is_listen() || entry.own) continue;
    StdioCall* call = entry.of_gateway ? nullptr : entry.call;
    lines.saw(call, caller_of(entry));
  }
  return lines.owner(late_, loop_.now());
}

CallerId InstanceCalls::caller_of(const PendingCall& entry) {
  if (entry.call != nullptr) return CallerId(entry.call->request);
  return entry.caller ? entry.caller->id() : CallerId();
}

void InstanceCalls::note_over(const PendingCall& entry) {
  if (entry.own || entry.is_listen() || entry.of_gateway) return;
  const std::chrono::milliseconds now = loop_.now();
  const CallerId who = caller_of(entry);
  late_.ended(who, now + server_.timeouts.cancel_grace, now);
  if (!entry.asks) return;
  late_askers_.ended(who, late_.until(), now);
  unsettled_ = true;
}

}  // namespace lineward::upstream
