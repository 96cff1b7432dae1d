// Calls that have an owner: what every implementation of Call has in common, and the base of those that pass
// what they are told on to a call of their own.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/upstream.h"

namespace lineward::core {

// A call that is live as long as it has an owner. By itself it takes no replies and no retries: not every
// call can be asked something.
class OwnedCall : public Call {
 public:
  ~OwnedCall() override;  // aborts a debug build where cancel_alive() was forgotten
  OwnedCall(const OwnedCall&) = delete;
  OwnedCall& operator=(const OwnedCall&) = delete;

  bool live() const final { return owner_ != nullptr; }
  void reply(std::string) override {}
  void hand_over(CallOwner& owner, Handover) override {
    if (live()) owner_ = &owner;
  }
  void retried(mcp::Message) override {}

 protected:
  // `owner` may be null for one that is begun later.
  explicit OwnedCall(CallOwner* owner) : owner_(owner) {}
  // `if (live()) cancel_alive(…)` belongs into the destructor of whichever class implements cancel(). A call
  // that is destroyed alive is a bug of its owner: the log tells of it, and the server hears of the cancel
  // all the same. The base cannot do this by itself, since cancel() is gone when its turn comes; and the name
  // is asked for only then, since an upstream may go before calls of it that are over.
  void cancel_alive(const std::string& upstream);
  // Its owner, who hears one more thing and may destroy it then; null when it was over already.
  CallOwner* take_owner() { return std::exchange(owner_, nullptr); }

  CallOwner* owner_;
};

// A call that makes another one, and hears of it in its owner's place. Everything passes straight through,
// but for what a subclass takes into its own hands.
class PassingCall : public OwnedCall, public CallOwner {
 public:
  void reply(std::string message) override {
    if (live() && inner_ && inner_->live()) inner_->reply(std::move(message));
  }
  bool pause() override { return inner_ && inner_->live() && inner_->pause(); }
  bool resume() override { return inner_ && inner_->live() && inner_->resume(); }
  void hand_over(CallOwner& owner, Handover how) override {
    if (!live()) return;
    owner_ = &owner;
    if (inner_ && inner_->live()) inner_->hand_over(*this, how);
  }
  const mcp::Message& request_message() const override {
    return inner_ ? inner_->request_message() : request_.message;
  }
  void retried(mcp::Message request) override {
    if (inner_) inner_->retried(std::move(request));
  }
  std::string server_info() const override { return inner_ ? inner_->server_info() : std::string(); }
  bool of_legacy_server() const override { return inner_ && inner_->of_legacy_server(); }
  bool is_answered() const override { return inner_ && inner_->is_answered(); }
  // What is answered before there is a call behind comes from here.
  bool is_servers_word() const override { return inner_ && inner_->is_servers_word(); }
  bool has_session() const override { return !inner_ || inner_->has_session(); }

  // CallOwner
  void on_call_repeated() override {
    if (live()) owner_->on_call_repeated();
  }
  void on_call_request(Whose whose) override {
    if (live()) owner_->on_call_request(whose);
  }

 protected:
  PassingCall(CallRequest request, CallOwner* owner) : OwnedCall(owner), request_(std::move(request)) {}
  // Cancels the call behind; false when there is none that goes on, and so nobody who tells what became of
  // the cancel.
  bool cancel_inner(CancelCause why) {
    if (!inner_ || !inner_->live()) return false;
    inner_->cancel(why);
    return true;
  }

  CallRequest request_;
  std::unique_ptr<Call> inner_;
};

}  // namespace lineward::core
