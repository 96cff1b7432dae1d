#include "cluster/remote_door.h"

#include <algorithm>
#include <utility>

#include "core/remote_tag.h"
#include "metrics/stats.h"
#include "cluster/remote_upstream.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::MessageKind;

// Of one call: as much as a socket holds, and then its server is not read until half of it was taken.
constexpr size_t kMostUnderWay = 256 * 1024;
// A server that cannot be held back without holding up others: this is no burst any more.
constexpr size_t kFarTooMuch = 64 * 1024 * 1024;

}  // namespace

RemoteDoor::RemoteDoor(net::Loop& loop, core::Upstream& server, std::shared_ptr<void> lease)
    : loop_(loop), server_(server), lease_(std::move(lease)) {}

RemoteDoor::~RemoteDoor() {
  for (auto& [number, one] : calls_) {
    if (one->call && one->call->live()) one->call->cancel("the gateway is stopping");
    fail(number, {EndReason::cancelled_drain, "the gateway is stopping"});
  }
}

void RemoteDoor::tell_state() {
  desk_.tell([state = state_of(server_)](RemoteDesk& desk) mutable { desk.on_state(std::move(state)); });
}

RemoteDoor::FarCall* RemoteDoor::find(uint64_t number) {
  auto found = calls_.find(number);
  return found == calls_.end() ? nullptr : found->second.get();
}

void RemoteDoor::over(uint64_t number) {
  auto found = calls_.find(number);
  if (found == calls_.end()) return;
  loop_.retire(std::move(found->second));
  calls_.erase(found);
}

void RemoteDoor::fail(uint64_t number, core::Failure failure) {
  desk_.tell([number, failure = std::move(failure), era = server_.era()](RemoteDesk& desk) {
    desk.on_failed(number, failure, era);
  });
}

// ---- from the other worker ----

void RemoteDoor::start(uint64_t number, core::CallRequest request) {
  auto one = std::make_unique<FarCall>(*this, number);
  request.tag = core::remote_tag(request.tag);
  auto call = server_.start(std::move(request), *one);
  if (!call) return fail(number, std::move(call.error()));
  one->call = std::move(*call);
  calls_[number] = std::move(one);
}

void RemoteDoor::cancel(uint64_t number, uint64_t tag, std::string_view why) {
  FarCall* one = find(number);
  if (one == nullptr || !one->call->live()) {  // its end was on its way already
    core::CancelReport report;
    report.outcome = core::CancelOutcome::raced;
    report.told = core::CancelTold::nothing;
    return core::upstream_stats(server_.name()).cancel_settled(core::remote_tag(tag), report);
  }
  one->call->cancel(why);
  over(number);
}

void RemoteDoor::reply(uint64_t number, std::string message) {
  if (FarCall* one = find(number)) one->call->reply(std::move(message));
}

void RemoteDoor::pause(uint64_t number) {
  FarCall* one = find(number);
  if (one == nullptr) return;
  one->paused = true;
  one->hold();
}

void RemoteDoor::resume(uint64_t number) {
  FarCall* one = find(number);
  if (one == nullptr) return;
  one->paused = false;
  one->hold();
}

void RemoteDoor::hand_over(uint64_t number, core::Handover how) {
  FarCall* one = find(number);
  if (one == nullptr) return;
  one->paused = false;  // who takes over holds nothing back yet
  one->call->hand_over(*one, how);
  one->hold();
}

void RemoteDoor::retried(uint64_t number, mcp::Message request) {
  if (FarCall* one = find(number)) one->call->retried(std::move(request));
}

void RemoteDoor::taken(uint64_t number, size_t bytes) {
  FarCall* one = find(number);
  if (one == nullptr) return;
  one->under_way -= std::min(bytes, one->under_way);
  if (!one->held || one->under_way > kMostUnderWay / 2) return;
  one->held = false;
  one->hold();
}

void RemoteDoor::forward(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message) {
  server_.forward(scope, client_era, message);
}

// ---- from the server ----

void RemoteDoor::FarCall::on_call_phase(core::CallPhase phase) {
  door.desk_.tell([at = number, phase](RemoteDesk& desk) { desk.on_phase(at, phase); });
}

void RemoteDoor::FarCall::on_call_message(mcp::Message message) {
  const MessageKind kind = message.kind();
  RemoteMessage told;
  told.last = kind == MessageKind::result || kind == MessageKind::error || !call->live();
  told.era = door.server_.era();
  told.of_legacy_server = call->of_legacy_server();
  if (kind != MessageKind::notification) told.server_info = call->server_info();
  if (told.last) {
    told.has_session = call->has_session();
  } else {
    under_way += message.bytes().size();
    const bool now = !held && under_way > kMostUnderWay;
    held = held || now;
    if (now || !can_pause) hold();
    told.can_pause = can_pause;
  }
  const bool last = told.last;  // a listen may end with a notification
  const bool too_much = !told.last && !told.can_pause && under_way > kFarTooMuch;
  told.held = std::make_unique<HeldBytes>();
  told.held->set(message.bytes().size());
  told.message = std::move(message);
  door.desk_.tell([at = number, told = std::move(told)](RemoteDesk& desk) mutable {
    desk.on_message(at, std::move(told));
  });
  if (last) return door.over(number);
  if (!too_much) return;
  call->cancel("too much of it waits for its client");
  door.fail(number, {EndReason::client_too_slow, "more came for this call than was taken"});
  door.over(number);
}

void RemoteDoor::FarCall::on_call_failed(const core::Failure& failure) {
  door.fail(number, failure);
  door.over(number);
}

}  // namespace lineward::upstream
