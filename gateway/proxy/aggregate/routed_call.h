// A request to one server of the aggregate, under the server's own names, and its answer under the
// aggregate's. If only the servers' lists show the owner, these are queried first. Owned by its caller.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/base/memory_charge.h"
#include "foundation/net/lifetime.h"
#include "proxy/aggregate/aggregate_upstream.h"
#include "proxy/core/owned_call.h"

namespace lineward::aggregate {

class RoutedCall final : public core::PassingCall {
 public:
  RoutedCall(AggregateUpstream& aggregate, core::UpstreamRequest request, core::CallCallbacks& owner);
  ~RoutedCall() override;

  void begin();                                // never calls back synchronously
  uint64_t number() const { return number_; }  // unique at its aggregate
  // Its server leaves, and a retry could not reach it.
  void left(const std::string& server, const std::string& why);

  // core::Call
  void cancel(core::CancelCause why) override;
  void hand_over(core::CallCallbacks& owner, core::Handover how) override;
  void retried(mcp::Message request) override;
  core::CallFacts call_facts() const override {
    core::CallFacts facts = PassingCall::call_facts();
    facts.request = &request_.message;
    facts.of_legacy_server = member_ && member_->upstream.era() == mcp::Era::legacy;
    facts.has_session = true;  // the bridge in front keeps it
    return facts;
  }

 private:
  // core::CallCallbacks, of the server's call
  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure& failure) override;
  void on_call_repeated() override;

  // Sends the request, or answers it later.
  void go();
  void go_by_capability();
  std::optional<std::string> owner_among(const std::vector<std::string>& absent, Routed routed) const;
  void send(const std::shared_ptr<Member>& member, const Route& route);
  // The server's form of the request is a second copy beside the client's, for the duration of the call.
  void note_held(size_t bytes) {
    held_.charge(request_.account());
    held_.set(bytes);
  }
  Asked asked() const;
  // Prepares on_call_routed() for its owner; not called from here.
  void note_routed(const mcp::Message& as_sent);
  void learn(Topic topic);
  void fail_later(core::Failure failure);
  void answer_later(int code, std::string text, std::string data = {});
  core::CallCallbacks* leave();
  // Must run before any other callback to the owner.
  void tell_routed() {
    if (to_) owner_->on_call_routed(std::exchange(to_, nullptr));
  }

  AggregateUpstream& aggregate_;
  const uint64_t number_;
  std::shared_ptr<Member> member_;
  std::shared_ptr<void> lease_;
  core::RoutedPtr to_;  // until its owner was notified
  Route route_;
  uint64_t waiter_ = 0;  // for a pending discovery
  bool reached_server_ = false;
  MemoryCharge held_{Held::calls};
  net::Lifetime lifetime_;
};

}  // namespace lineward::aggregate
