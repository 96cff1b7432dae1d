// One client's subscriptions/listen on many servers (behaviour.md 6): a listen on each that is concerned. It
// is acknowledged when all of these have answered, or a moment later without the rest: what was asked for, of
// the lists those that may change, as the aggregate's do when servers come and go, and of the URIs and tasks
// those that a server granted. A server's loss does not end it, nor does its refusal: that one is listened to
// again, with backoff, and what may have been missed is told as a change. Owned by its caller.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "aggregate/aggregate_upstream.h"
#include "base/backoff.h"
#include "base/held_bytes.h"
#include "core/owned_call.h"
#include "net/lifetime.h"

namespace lineward::aggregate {

class FannedListen final : public core::OwnedCall {
 public:
  FannedListen(AggregateUpstream& aggregate, core::CallRequest request, core::CallOwner& owner);
  ~FannedListen() override;

  void begin();  // calls nobody back

  // core::Call
  void cancel(core::CancelCause why) override;
  const mcp::Message& request_message() const override { return request_.message; }

  const core::CallRequest& request() const { return request_; }
  uint64_t number() const { return number_; }  // at its aggregate
  // A server has come, or come back: what it lists is news.
  void came(const std::shared_ptr<Member>& member);
  void left(const std::string& member);

 private:
  struct SubscriptionLeg final : core::CallOwner {
    SubscriptionLeg(FannedListen& its_listen, std::shared_ptr<Member> its_member)
        : listen(its_listen), member(std::move(its_member)), again(its_listen.aggregate_.loop()) {}
    // After its acknowledgement: what stands behind it is being opened again.
    void on_call_phase(core::CallPhase now) override {
      phase = now;
      if (acknowledged && phase != core::CallPhase::written) listen.down(*this);
    }
    void on_call_message(mcp::Message&& message) override { listen.heard(*this, std::move(message)); }
    void on_call_failed(const core::Failure& failure) override {
      if (failure.by_policy) return listen.forbidden(*this, failure);
      listen.down(*this);
      listen.lost(*this, failure.text);
    }

    bool is_up() const { return acknowledged && !is_down; }

    FannedListen& listen;
    std::shared_ptr<Member> member;
    std::shared_ptr<void> lease;
    core::CallPhase phase = core::CallPhase::queued;
    std::unique_ptr<core::Call> call;
    std::map<std::string, std::string> uris;  // as the server knows them → as the client asked
    bool tools = false, prompts = false, resources = false;
    std::vector<std::string> tasks;  // raw ids
    std::set<std::string> granted;   // URIs as the server knows them
    bool settled = false;            // acknowledged, refused, or given up for now
    bool acknowledged = false;
    bool is_down = false;  // it stood, and does not at present
    bool over = false;     // refused in a way that no other try mends, or nothing is left to ask for
    std::optional<core::Failure> denied;
    Backoff backoff;
    net::Timer again;
  };
  void learn_uris();
  std::vector<MemberFacts> with_resources() const;
  void route_uris();
  void open_legs();
  void add_leg(const std::shared_ptr<Member>& member);
  void open(SubscriptionLeg& leg);
  bool wishes(const SubscriptionLeg& leg) const {
    return leg.tools || leg.prompts || leg.resources || !leg.uris.empty() || !leg.tasks.empty();
  }
  // What the client was not granted it will not get, so no server is asked for it any more.
  void narrow(SubscriptionLeg& leg) const;
  bool is_granted(const SubscriptionLeg& leg, const std::string& task) const;
  std::string filter_of(const SubscriptionLeg& leg) const;
  void heard(SubscriptionLeg& leg, mcp::Message message);
  void acknowledged(SubscriptionLeg& leg, const mcp::Message& message);
  void lost(SubscriptionLeg& leg, const std::string& why);
  void refused(SubscriptionLeg& leg, const std::string& why, bool for_good,
               std::chrono::milliseconds no_sooner = {});
  void try_again(SubscriptionLeg& leg, std::chrono::milliseconds no_sooner);
  // It is opened again, by those below or from here, with pauses that grow; they are over when its server,
  // which was not there, is back.
  void down(SubscriptionLeg& leg) {
    if (!live()) return;
    leg.is_down = true;
    aggregate_.doubt(*leg.member);
  }
  void again_now(SubscriptionLeg& leg);
  // A plugin does not let this server be listened to, or not to what was asked for.
  void forbidden(SubscriptionLeg& leg, const core::Failure& failure);
  // It is asked for without these; false: none of them was in it.
  bool take_out(SubscriptionLeg& leg, const std::vector<std::string>& parts) const;
  void fail(const core::Failure& failure);
  void acknowledge();
  // Is there a server from which changes of this list may come, now or later?
  bool may_come(bool SubscriptionLeg::*list) const;
  void check_acknowledged();
  void check_acknowledged_later();
  // Told at the end of the turn, once, however many servers say it.
  void change(bool tools, bool prompts, bool resources);
  void tell_changes();
  void updated(const std::string& shown_uri);
  void deliver(const std::string& text) {
    auto message = mcp::Message::parse(text, json::kDepthCeiling);
    if (message && live()) owner_->on_call_message(std::move(*message));
  }
  void drop(const std::string& member, std::string_view why);

  AggregateUpstream& aggregate_;
  const uint64_t number_;
  core::CallRequest request_;
  bool tools_ = false, prompts_ = false, resources_ = false;
  std::map<std::string, std::map<std::string, std::string>> uris_;  // by server
  std::map<std::string, std::vector<std::string>> tasks_;           // by server
  std::map<std::string, std::unique_ptr<SubscriptionLeg>> legs_;    // by member
  std::set<std::string> granted_;                                   // as the client asked
  std::map<std::string, std::set<std::string>> granted_tasks_;      // by server, as that knows them
  HeldBytes held_{Held::listens};                                   // of these, and of what legs have of them
  bool legs_open_ = false, opening_ = false;
  bool acknowledged_ = false;
  bool changed_tools_ = false, changed_prompts_ = false, changed_resources_ = false, telling_ = false;
  uint64_t waiter_ = 0;
  std::chrono::milliseconds begun_at_{0};
  net::Timer ack_limit_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::aggregate
