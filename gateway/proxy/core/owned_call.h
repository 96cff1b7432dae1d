// Base classes of calls: for every implementation of Call, and for calls that forward to an inner call.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "proxy/core/upstream.h"

namespace lineward::core {

// A call that is live as long as it has an owner. By default it ignores replies and retries.
class OwnedCall : public Call {
 public:
  ~OwnedCall() override;  // aborts a debug build if cancel_alive() was forgotten
  OwnedCall(const OwnedCall&) = delete;
  OwnedCall& operator=(const OwnedCall&) = delete;

  bool live() const final { return owner_ != nullptr; }
  void reply(std::string) override {}
  void hand_over(CallCallbacks& owner, Handover) override {
    if (live()) owner_ = &owner;
  }
  void retried(mcp::Message) override {}

 protected:
  // `owner` may be null for a call that starts later.
  explicit OwnedCall(CallCallbacks* owner) : owner_(owner) {}
  // `if (live()) cancel_alive(…)` belongs in the destructor of each class that implements cancel().
  // Destroying a live call is a bug of its owner: it is logged, and the cancel is still sent to the server.
  // This base class cannot do it: cancel() is gone when its destructor runs. Read the upstream's name only
  // for a live call: an upstream may be destroyed before calls of it that are over.
  void cancel_alive(const std::string& upstream);
  // Takes the owner for its last callback, which may destroy the call. Null if the call was over.
  CallCallbacks* take_owner() { return std::exchange(owner_, nullptr); }

  CallCallbacks* owner_;
};

// A call that wraps an inner call and receives its callbacks. Everything is forwarded unless a subclass
// overrides it.
class PassingCall : public OwnedCall, public CallCallbacks {
 public:
  void reply(std::string message) override {
    if (live() && inner_ && inner_->live()) inner_->reply(std::move(message));
  }
  bool hold(bool on) override { return inner_ && inner_->live() && inner_->hold(on); }
  void hand_over(CallCallbacks& owner, Handover how) override {
    if (!live()) return;
    owner_ = &owner;
    if (inner_ && inner_->live()) inner_->hand_over(*this, how);
  }
  void retried(mcp::Message request) override {
    if (inner_) inner_->retried(std::move(request));
  }
  CallFacts call_facts() const override {
    if (inner_) return inner_->call_facts();
    CallFacts facts{&request_.message};
    facts.is_from_server = false;  // an answer given before there is an inner call comes from Lineward
    return facts;
  }

  // CallCallbacks
  void on_call_repeated() override {
    if (live()) owner_->on_call_repeated();
  }
  void on_call_request(Coalesced coalesced) override {
    if (live()) owner_->on_call_request(coalesced);
  }

 protected:
  PassingCall(UpstreamRequest request, CallCallbacks* owner)
      : OwnedCall(owner), request_(std::move(request)) {}
  // Cancels the inner call. False if there is no live one, so that no outcome of the cancel will be reported.
  bool cancel_inner(CancelCause why) {
    if (!inner_ || !inner_->live()) return false;
    inner_->cancel(why);
    return true;
  }

  UpstreamRequest request_;
  std::unique_ptr<Call> inner_;
};

}  // namespace lineward::core
