#include "upstream/listen_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json_splice.h"
#include "base/log.h"
#include "core/stats.h"
#include "upstream/http_headers.h"

namespace lineward::upstream {
namespace {

using core::CallPhase;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// A listen that stood this long was not ended because it cannot stand.
constexpr milliseconds kStood{30000};
// So often in a row a server may end a listen soon after it stood, before its clients are told that it is
// over.
constexpr uint32_t kMostFailures = 8;

}  // namespace

// ---- one client's share
// -------------------------------------------------------------------------------------------------

ListenLease::~ListenLease() {
  if (!live()) return;
  log::write(log::Level::error, "bug.call_destroyed_alive", {{"upstream", hub_.name()}});
  cancel("internal error");
}

void ListenLease::cancel(std::string_view why) {
  if (!std::exchange(owner_, nullptr) || shared_ == nullptr) return;
  SharedListen& shared = *std::exchange(shared_, nullptr);
  core::CancelReport report;  // the listen goes on for others: nothing had to be sent
  if (shared.leave(*this)) {
    // Of the first one's call the transport tells itself what became of it.
    report.told =
        hub_.server().url.empty() ? core::CancelTold::notification : core::CancelTold::stream_closed;
    bool first = shared.tag() == request_.tag;
    hub_.left(shared, why);
    if (first) return;
  }
  core::upstream_stats(hub_.name()).cancel_settled(request_.tag, report);
}

// ---- the listen
// ---------------------------------------------------------------------------------------------------------

SharedListen::SharedListen(ListenHub& hub, std::string key, const core::CallRequest& like)
    : hub_(hub),
      key_(std::move(key)),
      like_(like),
      again_(hub.loop()),
      greet_later_(
          hub.loop(), [](void* self) { static_cast<SharedListen*>(self)->greet(); }, this) {}

SharedListen::~SharedListen() {
  if (call_ && call_->live()) call_->cancel("the gateway is stopping");
}

std::optional<core::Failure> SharedListen::open() {
  auto call = hub_.inner().start(like_, *this);
  if (!call) return std::move(call.error());
  call_ = std::move(*call);
  return std::nullopt;
}

void SharedListen::join(ListenLease& lease) {
  lease.shared_ = this;
  lease.place_ = leases_.size();
  leases_.push_back(&lease);
  ++living_;
  if (phase_ || acknowledgement_) greet_later_.schedule();
}

// Those who came later hear what the others know already; not while they are being started.
void SharedListen::greet() {
  each([&](ListenLease& lease) {
    if (lease.acknowledged_) return;
    if (phase_) lease.owner_->on_call_phase(*phase_);
    if (!acknowledgement_ || !lease.live()) return;
    lease.acknowledged_ = true;
    lease.owner_->on_call_message(*acknowledgement_);
  });
}

bool SharedListen::leave(ListenLease& lease) {
  --living_;
  leases_[lease.place_] = nullptr;
  if (!telling_) {
    // Their order means nothing.
    leases_[lease.place_] = leases_.back();
    if (leases_[lease.place_] != nullptr) leases_[lease.place_]->place_ = lease.place_;
    leases_.pop_back();
  }
  return living_ == 0 && !closed_;
}

// It hears one more thing, and may be gone after that: nothing here refers to it any more. Within each() only.
core::CallOwner* SharedListen::release(ListenLease& lease) {
  lease.shared_ = nullptr;
  leases_[lease.place_] = nullptr;
  --living_;
  return std::exchange(lease.owner_, nullptr);
}

void SharedListen::close(std::string_view why) {
  closed_ = true;
  again_.stop();
  greet_later_.cancel();
  if (call_ && call_->live()) call_->cancel(why);
}

// A client may leave, or come, whenever one is told something.
template <class F>
void SharedListen::each(F&& visit) {
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

void SharedListen::on_call_phase(CallPhase phase) {
  phase_ = phase;
  each([&](ListenLease& lease) {
    if (!lease.acknowledged_) lease.owner_->on_call_phase(phase);
  });
}

void SharedListen::on_call_message(mcp::Message message) {
  using Kind = mcp::MessageKind;
  const bool final = message.kind() == Kind::result || message.kind() == Kind::error;
  const Method method = mcp::method_of(message.method());
  if (final && !acknowledgement_) {
    // It never stood: everybody is told the server's own words.
    closed_ = true;
    each([&](ListenLease& lease) { release(lease)->on_call_message(message); });
    return hub_.over(*this);
  }
  if (final && !stands_) {  // to go on listening was refused: trying again does not mend it
    core::Failure failure;
    failure.reason = mcp::EndReason::upstream_protocol;
    failure.text = fmt::format("{} does not let its clients listen again", hub_.name());
    return on_call_failed(failure);
  }
  if (final) return torn_down(message.kind() == Kind::result ? "result" : "error");
  if (method == Method::cancelled) {
    if (call_ && call_->live()) call_->cancel("the server ended this listen");
    return torn_down("cancelled");
  }
  if (method != Method::subscriptions_acknowledged || acknowledgement_) hub_.seen(message);
  if (method == Method::subscriptions_acknowledged) {
    acknowledgement_ = message;
    stands_ = true;
    stands_since_ = hub_.loop().now();
    each([&](ListenLease& lease) {
      lease.acknowledged_ = true;
      lease.owner_->on_call_message(message);
    });
    return;
  }
  each([&](ListenLease& lease) {
    if (lease.acknowledged_) lease.owner_->on_call_message(message);
  });
}

void SharedListen::on_call_failed(const core::Failure& failure) {
  closed_ = true;
  again_.stop();
  each([&](ListenLease& lease) { release(lease)->on_call_failed(failure); });
  hub_.over(*this);
}

// The server ended it in order, and somebody still listens: it is opened again, with pauses that double.
void SharedListen::torn_down(std::string_view how) {
  if (hub_.loop().now() - stands_since_ >= kStood) failures_ = 0;
  log::write(log::Level::info, "listen.ended",
             {{"upstream", hub_.name()},
              {"by", how},
              {"clients", uint64_t{living_}},
              {"times", uint64_t{failures_ + 1}}});
  if (++failures_ > kMostFailures || hub_.stopping()) {
    core::Failure failure;
    failure.reason = mcp::EndReason::upstream_protocol;
    failure.text = fmt::format("{} ended this listen {} times soon after it stood", hub_.name(), failures_);
    return on_call_failed(failure);
  }
  stands_ = false;
  // The call is on the stack.
  hub_.loop().retire(std::move(call_));
  milliseconds wait = hub_.server().restart.backoff * (1ll << std::min(failures_ - 1, 20u));
  again_.start(std::min<milliseconds>(wait, hub_.server().restart.max_backoff), [this] { again(); });
}

void SharedListen::again() {
  if (auto failure = open()) on_call_failed(*failure);
}

// ---- the hub
// ------------------------------------------------------------------------------------------------------------

ListenHub::~ListenHub() {
  stopping_ = true;
  for (auto& [key, shared] : shared_)
    shared->close("the gateway is stopping");
}

// The same wishes, and the same one in the server's eyes.
std::string ListenHub::key_of(const core::CallRequest& request, bool apart) const {
  std::string key = identity_of(forwarded_headers(server_, request.headers));
  key += '\n' + request.scope.affinity + '\n';
  if (apart) {
    key += request.scope.principal + '\n' + request.scope.session + '\n';
    key += json::compact(request.message.raw(Field::meta_client_capabilities));
  }
  key += '\n';
  key += request.message.raw(Field::meta_protocol_version);
  key += '\n' + json::compact(request.message.raw(Field::params_notifications));
  return key;
}

// While the server's era is unknown, and on legacy servers, where processes and sessions belong to groups of
// callers, nobody shares with another caller.
SharedListen* ListenHub::find(const core::CallRequest& request, std::string& key) {
  using config::Isolation;
  bool apart = inner_->era() != mcp::Era::modern || server_.isolation == Isolation::principal ||
               server_.isolation == Isolation::session || server_.isolation == Isolation::call;
  key = key_of(request, apart);
  auto found = shared_.find(key);
  if (found != shared_.end()) return found->second.get();
  if (apart) return nullptr;
  // One that was opened before the era was known is everybody's now.
  auto early = shared_.extract(key_of(request, true));
  if (!early) return nullptr;
  early.key() = key;
  early.mapped()->rename(key);
  return shared_.insert(std::move(early)).position->second.get();
}

Result<std::unique_ptr<core::Call>, core::Failure> ListenHub::start(core::CallRequest request,
                                                                    core::CallOwner& owner) {
  bool shares = request.method == Method::subscriptions_listen && request.client_era == mcp::Era::modern &&
                request.message.is_object(Field::params_notifications) && !stopping_;
  if (!shares) return inner_->start(std::move(request), owner);
  std::string key;
  SharedListen* shared = find(request, key);
  if (shared == nullptr) {
    auto made = std::make_unique<SharedListen>(*this, key, request);
    if (auto failure = made->open()) return Unexpected<core::Failure>{std::move(*failure)};
    shared = shared_.emplace(key, std::move(made)).first->second.get();
  }
  auto lease = std::make_unique<ListenLease>(*this, std::move(request), owner);
  shared->join(*lease);
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(lease));
}

void ListenHub::left(SharedListen& shared, std::string_view why) {
  shared.close(why);
  over(shared);
}

void ListenHub::over(SharedListen& shared) {
  auto found = shared_.find(shared.key());
  if (found == shared_.end() || found->second.get() != &shared) return;
  // It may be on the stack.
  loop_.retire(std::move(found->second));
  shared_.erase(found);
}

}  // namespace lineward::upstream
