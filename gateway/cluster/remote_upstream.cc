#include "cluster/remote_upstream.h"

#include <utility>

#include "core/owned_call.h"
#include "metrics/stats.h"

namespace lineward::upstream {

using mcp::EndReason;

namespace {

// So much of a call's messages is taken between two words about it.
constexpr size_t kWorthTelling = 64 * 1024;

// Goes with a request. Where that is destroyed undone, since the other worker ends, or the server's door is
// gone, its caller is told all the same.
class Receipt {
 public:
  Receipt(Elsewhere<RemoteDesk> back, uint64_t number) : back_(std::move(back)), number_(number) {}
  Receipt(Receipt&& other) noexcept
      : back_(std::move(other.back_)), number_(std::exchange(other.number_, 0)) {}
  Receipt& operator=(Receipt&&) = delete;
  ~Receipt() {
    if (number_ == 0) return;
    back_.tell([number = number_](RemoteDesk& desk) {
      desk.on_failed(number, {EndReason::cancelled_drain, "the gateway is stopping"}, std::nullopt);
    });
  }
  void arrived() { number_ = 0; }

 private:
  Elsewhere<RemoteDesk> back_;
  uint64_t number_;
};

}  // namespace

// ---- a call ----

class RemoteCall final : public core::OwnedCall {
 public:
  RemoteCall(std::shared_ptr<RemoteDesk> desk, const core::CallRequest& request, core::CallOwner& owner)
      : OwnedCall(&owner),
        desk_(std::move(desk)),
        number_(++desk_->numbers_),
        tag_(request.tag),
        request_(request.message) {
    desk_->calls_[number_] = this;
  }
  ~RemoteCall() override {
    if (live()) cancel_alive(desk_->server());
  }

  uint64_t number() const { return number_; }

  void cancel(std::string_view why) override {
    if (!live()) return;
    leave();
    bool sent = tell([number = number_, tag = tag_, text = std::string(why)](RemoteDoor& door) {
      door.cancel(number, tag, text);
    });
    if (!sent) core::upstream_stats(desk_->server()).cancel_settled(tag_, {});
  }
  void reply(std::string message) override {
    if (!live()) return;
    tell([number = number_, text = std::move(message)](RemoteDoor& door) mutable {
      door.reply(number, std::move(text));
    });
  }
  bool pause() override {
    if (!live() || !can_pause_) return false;
    tell([number = number_](RemoteDoor& door) { door.pause(number); });
    return true;
  }
  bool resume() override {
    if (!live() || !can_pause_) return false;
    tell([number = number_](RemoteDoor& door) { door.resume(number); });
    return true;
  }
  void hand_over(core::CallOwner& owner, core::Handover how) override {
    if (!live()) return;
    owner_ = &owner;
    tell([number = number_, how](RemoteDoor& door) { door.hand_over(number, how); });
  }
  const mcp::Message& request_message() const override { return request_; }
  void retried(mcp::Message request) override {
    request_ = request;
    if (!live()) return;
    tell([number = number_, message = std::move(request)](RemoteDoor& door) mutable {
      door.retried(number, std::move(message));
    });
  }
  std::string server_info() const override { return server_info_; }
  bool of_legacy_server() const override { return of_legacy_server_; }
  bool has_session() const override { return has_session_; }

  void on_phase(core::CallPhase phase) { owner_->on_call_phase(phase); }
  void on_message(RemoteMessage told) {
    told.held.reset();
    can_pause_ = told.can_pause;
    of_legacy_server_ = told.of_legacy_server;
    has_session_ = told.has_session;
    if (!told.server_info.empty()) server_info_ = std::move(told.server_info);
    if (told.last) return leave()->on_call_message(std::move(told.message));
    taken_ += told.message.bytes().size();
    if (taken_ >= kWorthTelling) {
      tell([number = number_, bytes = std::exchange(taken_, 0)](RemoteDoor& door) {
        door.taken(number, bytes);
      });
    }
    owner_->on_call_message(std::move(told.message));
  }
  void on_failed(const core::Failure& failure) { leave()->on_call_failed(failure); }

 private:
  template <class F>
  bool tell(F&& what) {
    return desk_->door().tell(std::forward<F>(what));
  }
  // Its owner, who hears one more thing and may destroy it then; no mail finds it any more.
  core::CallOwner* leave() {
    desk_->calls_.erase(number_);
    return take_owner();
  }

  const std::shared_ptr<RemoteDesk> desk_;
  const uint64_t number_;
  const uint64_t tag_;
  mcp::Message request_;
  size_t taken_ = 0;  // bytes that were not told yet
  bool can_pause_ = false, of_legacy_server_ = false, has_session_ = true;
  std::string server_info_;
};

// ---- from the server ----

RemoteCall* RemoteDesk::find(uint64_t number) {
  auto found = calls_.find(number);
  return found == calls_.end() ? nullptr : found->second;
}

void RemoteDesk::on_phase(uint64_t number, core::CallPhase phase) {
  if (RemoteCall* call = find(number)) call->on_phase(phase);
}

void RemoteDesk::on_message(uint64_t number, RemoteMessage told) {
  state_.era = told.era;
  if (RemoteCall* call = find(number)) call->on_message(std::move(told));
}

void RemoteDesk::on_failed(uint64_t number, const core::Failure& failure, std::optional<mcp::Era> era) {
  if (era) state_.era = era;
  if (RemoteCall* call = find(number)) call->on_failed(failure);
}

// ---- the upstream ----

RemoteUpstream::RemoteUpstream(net::Loop& loop, std::shared_ptr<net::Mailbox> here, std::string name,
                               Elsewhere<RemoteDoor> door, RemoteState state)
    : loop_(loop),
      desk_(std::make_shared<RemoteDesk>(std::move(name), std::move(door))),
      here_{std::move(here), desk_} {
  desk_->on_state(std::move(state));
  desk_->door().tell([desk = here_](RemoteDoor& its) mutable { its.use(std::move(desk)); });
}

RemoteUpstream::~RemoteUpstream() {
  desk_->door().tell([](RemoteDoor& door) { door.let_go(); });
}

Result<std::unique_ptr<core::Call>, core::Failure> RemoteUpstream::start(core::CallRequest&& request,
                                                                         core::CallOwner& owner) {
  if (stopping_)
    return Unexpected<core::Failure>{{EndReason::cancelled_drain, desk_->server() + " is leaving"}};
  auto call = std::make_unique<RemoteCall>(desk_, request, owner);
  const Elsewhere<RemoteDoor>& door = desk_->door();
  auto mail = [to = door.who, number = call->number(), receipt = Receipt(here_, call->number()),
               asked = std::move(request)]() mutable {
    auto its = to.lock();
    if (!its) return;
    receipt.arrived();
    its->start(number, std::move(asked));
  };
  door.mailbox->post(std::move(mail));
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(call));
}

void RemoteUpstream::forward(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message) {
  desk_->door().tell(
      [scope, client_era, message](RemoteDoor& door) { door.forward(scope, client_era, message); });
}

void RemoteUpstream::notify(const core::Scope& scope, const mcp::Message& message,
                            const core::HeaderFields& headers) {
  desk_->door().tell([scope, message, headers](RemoteDoor& door) { door.notify(scope, message, headers); });
}

void RemoteUpstream::wake() {
  desk_->door().tell([](RemoteDoor& door) { door.wake(); });
}

void RemoteUpstream::stop(std::function<void()> done) {
  stopping_ = true;
  loop_.defer(std::move(done));
}

}  // namespace lineward::upstream
