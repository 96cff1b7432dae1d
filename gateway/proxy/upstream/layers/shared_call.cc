#include "proxy/upstream/layers/shared_call.h"

#include "foundation/json/json_splice.h"
#include "proxy/metrics/stats.h"

namespace lineward::upstream {

// ---- the share of a caller ----

SharedCallHandle::~SharedCallHandle() {
  if (live()) cancel_alive(server_.name);
}

void SharedCallHandle::cancel(core::CancelCause why) {
  if (take_owner() == nullptr) return;
  metrics::CancelReport report;  // from the cache: nothing had to be sent
  if (SharedCall* shared = std::exchange(shared_, nullptr); shared != nullptr) {
    if (shared->leave(*this)) {
      // For the first caller the transport itself reports the outcome of the cancel.
      report.told =
          server_.url.empty() ? metrics::CancelTold::notification : metrics::CancelTold::stream_closed;
      bool first = shared->like().tag == request_.tag;
      shared->close(why);
      shared->over();
      if (first) return;
    } else if (shared->closed_) {  // its end is being reported
      report.outcome = metrics::CancelOutcome::raced;
      report.told = metrics::CancelTold::nothing;
    } else {
      report.told = metrics::CancelTold::others_wait;
    }
  }
  metrics::upstream_stats(server_.name).cancel_settled(request_.tag, report);
}

// ---- the call ----

SharedCall::SharedCall(net::Loop& loop, core::Upstream& inner, std::string key, core::UpstreamRequest like)
    : loop_(loop),
      inner_(inner),
      key_(std::move(key)),
      like_(std::move(like)),
      catch_up_later_(
          loop, [](void* self) { static_cast<SharedCall*>(self)->catch_up(); }, this) {
  like_bytes_.charge(like_.account());
  like_bytes_.set(2 * like_.message.bytes().size() + 2 * key_.size() +
                  (like_.from ? core::bytes_of(*like_.from) : 0));
}

SharedCall::~SharedCall() {
  if (call_ && call_->live()) call_->cancel("the gateway is stopping");
}

std::optional<core::Failure> SharedCall::open(bool again) {
  core::UpstreamRequest request(like_);
  request.reopens = again;
  auto call = inner_.start(std::move(request), *this);
  if (!call) return std::move(call.error());
  call_ = std::move(*call);
  return std::nullopt;
}

void SharedCall::join(SharedCallHandle& lease) {
  lease.shared_ = this;
  lease.place_ = leases_.size();
  leases_.push_back(&lease);
  ++living_;
  // The first caller's request is the one sent.
  lease.is_first_ = !std::exchange(has_first_, true);
  if (phase_ || acknowledgement() != nullptr) catch_up_later_.schedule();
}

// A callback may add or remove callers.
template <class F>
void SharedCall::each(F&& visit) {
  bool outer = !std::exchange(telling_, true);
  for (size_t i = 0; i < leases_.size(); ++i) {
    if (leases_[i] != nullptr) visit(*leases_[i]);
  }
  if (!outer) return;
  telling_ = false;
  std::erase(leases_, nullptr);
  for (size_t i = 0; i < leases_.size(); ++i)
    leases_[i]->place_ = i;
}

// Reports the current state to callers that joined later; not while they are being started.
void SharedCall::catch_up() {
  each([&](SharedCallHandle& lease) {
    if (lease.granted_) return;
    if (phase_ && lease.told_ != phase_) tell_phase(lease);
    const mcp::Message* acknowledged = acknowledgement();
    if (acknowledged != nullptr && lease.live()) acknowledge(lease, *acknowledged);
  });
}

void SharedCall::tell_phase(SharedCallHandle& lease) {
  const core::Coalesced coalesced = lease.is_first_ ? coalesced_ : core::Coalesced::yes;
  if (std::exchange(lease.told_coalesced_, coalesced) != coalesced) lease.owner_->on_call_request(coalesced);
  lease.told_ = phase_;
  lease.owner_->on_call_phase(*phase_);
}

// A repeated acknowledgement is cut to the filter of the first.
void SharedCall::acknowledge(SharedCallHandle& lease, const mcp::Message& acknowledgement) {
  if (!lease.granted_) lease.granted_ = granted();
  auto cut = *lease.granted_ ? (*lease.granted_)->cut(acknowledgement.raw(mcp::Field::params_notifications))
                             : std::nullopt;
  if (!cut) return lease.owner_->on_call_message(mcp::Message(acknowledgement));
  json::Splice splice = acknowledgement.splice();
  splice.replace(acknowledgement.at(mcp::Field::params_notifications), std::move(*cut));
  auto less = mcp::Message::parse(splice.apply_outlined(), json::kDepthCeiling);
  if (less) lease.owner_->on_call_message(std::move(*less));
}

bool SharedCall::leave(SharedCallHandle& lease) {
  --living_;
  leases_[lease.place_] = nullptr;
  if (!telling_) {
    // Their order is not significant.
    leases_[lease.place_] = leases_.back();
    if (leases_[lease.place_] != nullptr) leases_[lease.place_]->place_ = lease.place_;
    leases_.pop_back();
  }
  return living_ == 0 && !closed_;
}

std::vector<SharedCallHandle*> SharedCall::let_go_of_others() {
  std::vector<SharedCallHandle*> others;
  bool first = true;
  for (SharedCallHandle*& lease : leases_) {
    if (lease == nullptr || std::exchange(first, false)) continue;
    lease->shared_ = nullptr;
    others.push_back(std::exchange(lease, nullptr));
    --living_;
  }
  return others;
}

void SharedCall::close(core::CancelCause why) {
  closed_ = true;
  catch_up_later_.cancel();
  if (call_ && call_->live()) call_->cancel(why);
}

core::CallCallbacks* SharedCall::release(SharedCallHandle& lease) {
  lease.shared_ = nullptr;
  leases_[lease.place_] = nullptr;
  --living_;
  return lease.take_owner();
}

void SharedCall::tell_end(const mcp::Message& answer) {
  closed_ = true;
  each([&](SharedCallHandle& lease) { release(lease)->on_call_message(mcp::Message(answer)); });
}

void SharedCall::tell_end(const core::Failure& failure) {
  closed_ = true;
  each([&](SharedCallHandle& lease) { release(lease)->on_call_failed(failure); });
}

void SharedCall::tell_acknowledged(const mcp::Message& acknowledgement) {
  each([&](SharedCallHandle& lease) { acknowledge(lease, acknowledgement); });
}

void SharedCall::acknowledge_later_ones(const mcp::Message& acknowledgement) {
  each([&](SharedCallHandle& lease) {
    if (!lease.granted_) acknowledge(lease, acknowledgement);
  });
}

void SharedCall::tell(const mcp::Message& notification) {
  // Most leases have the same filter.
  const mcp::ListenFilter* judged = nullptr;
  bool passes = true;
  each([&](SharedCallHandle& lease) {
    if (!lease.granted_) return;
    if (lease.granted_->get() != judged) {
      judged = lease.granted_->get();
      passes = judged == nullptr || judged->passes(notification);
    }
    if (passes) lease.owner_->on_call_message(mcp::Message(notification));
  });
}

void SharedCall::on_call_phase(core::CallPhase phase) {
  phase_ = phase;
  each([&](SharedCallHandle& lease) {
    if (!lease.granted_ || phase != core::CallPhase::written) tell_phase(lease);
  });
}

void SharedCall::on_call_repeated() {
  each([](SharedCallHandle& lease) { lease.owner_->on_call_repeated(); });
}

}  // namespace lineward::upstream
