// The subscriptions/listen of a client, fanned out to a listen on each server concerned (behaviour.md 6). It
// is acknowledged when all of these have answered, or a moment later without the rest. The acknowledgement
// has the requested lists that may change, and the URIs and tasks that a server granted. The aggregate's own
// lists change when servers come and go.
//
// A server's loss or refusal does not end it: that server's listen is reopened with backoff, and changes that
// may have been missed are notified. Owned by its caller.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "foundation/base/memory_charge.h"
#include "foundation/net/lifetime.h"
#include "proxy/aggregate/aggregate_upstream.h"
#include "proxy/core/owned_call.h"
#include "proxy/upstream/shared/standing_listen.h"

namespace lineward::aggregate {

class FannedListen final : public core::OwnedCall {
 public:
  FannedListen(AggregateUpstream& aggregate, core::UpstreamRequest request, core::CallCallbacks& owner);
  ~FannedListen() override;

  void begin();  // never calls back synchronously

  // core::Call
  void cancel(core::CancelCause why) override;
  core::CallFacts call_facts() const override { return {&request_.message}; }

  const core::UpstreamRequest& request() const { return request_; }
  uint64_t number() const { return number_; }  // unique at its aggregate
  // A server was added or is back: its lists count as changed.
  void came(const std::shared_ptr<Member>& member);
  // Its facts were those of its last life until now.
  void described(const std::shared_ptr<Member>& member);
  void left(const std::string& member);

 private:
  // The part of the filter that concerns one server.
  struct Part {
    std::map<std::string, std::string> uris;  // the server's URI → the client's
    bool tools = false, prompts = false, resources = false;
    std::vector<std::string> tasks;  // raw ids
    bool empty() const { return !tools && !prompts && !resources && uris.empty() && tasks.empty(); }
  };
  struct SubscriptionLeg final : core::CallCallbacks {
    SubscriptionLeg(FannedListen& its_listen, std::shared_ptr<Member> its_member)
        : listen(its_listen), member(std::move(its_member)), again(its_listen.aggregate_.loop()) {}
    // After its acknowledgement any other phase means that a lower layer is reopening it.
    void on_call_phase(core::CallPhase now) override {
      phase = now;
      if (standing.is_up() && phase != core::CallPhase::written) listen.down(*this);
    }
    void on_call_message(mcp::Message&& message) override { listen.heard(*this, std::move(message)); }
    void on_call_failed(const core::Failure& failure) override {
      if (failure.by_policy) return listen.forbidden(*this, failure);
      listen.down(*this);
      listen.lost(*this, failure.text);
    }

    FannedListen& listen;
    std::shared_ptr<Member> member;
    std::shared_ptr<void> lease;
    core::CallPhase phase = core::CallPhase::queued;
    std::unique_ptr<core::Call> call;
    upstream::StandingListen<Part, std::set<std::string>> standing;  // granted: the server's URIs
    Part& asked = standing.asked();
    bool settled = false;  // acknowledged, refused, or given up for now
    bool is_down = false;  // lost, and not acknowledged since
    bool over = false;     // refused for good, or the filter is empty
    std::optional<core::Failure> denied;
    net::Timer again;
  };
  void learn_uris();
  std::vector<MemberFacts> with_resources() const;
  void route_uris();
  void open_legs();
  void add_leg(const std::shared_ptr<Member>& member);
  void open(SubscriptionLeg& leg);
  // Removes from the filter what the client was not granted: no server is asked for it any more.
  void narrow(SubscriptionLeg& leg) const;
  bool is_granted(const SubscriptionLeg& leg, const std::string& task) const;
  std::string filter_of(const SubscriptionLeg& leg) const;
  void heard(SubscriptionLeg& leg, mcp::Message message);
  void acknowledged(SubscriptionLeg& leg, const mcp::Message& message);
  void lost(SubscriptionLeg& leg, const std::string& why);
  void refused(SubscriptionLeg& leg, const std::string& why, bool for_good,
               std::chrono::milliseconds no_sooner = {});
  void try_again(SubscriptionLeg& leg, std::chrono::milliseconds no_sooner);
  // It is being reopened, here or in a lower layer, with growing pauses; they end when its absent server is
  // back.
  void down(SubscriptionLeg& leg) {
    if (!live()) return;
    leg.is_down = true;
    leg.standing.down(aggregate_.loop().now());
    aggregate_.doubt(*leg.member);
  }
  void again_now(SubscriptionLeg& leg);
  // A plugin denies listening to this server, or to parts of the filter.
  void forbidden(SubscriptionLeg& leg, const core::Failure& failure);
  // Removes these parts from the filter; false: none of them was in it.
  bool take_out(SubscriptionLeg& leg, const std::vector<std::string>& parts) const;
  void fail(const core::Failure& failure);
  void acknowledge();
  // May the server notify changes of a list that its leg does not ask for?
  bool asks_too_little(const Part& asked, const Member& member) const;
  // Is there a server that may notify changes of this list, now or later?
  bool may_come(bool Part::*list) const;
  void check_acknowledged();
  void check_acknowledged_later();
  // Notified once at the end of the turn, for all servers together.
  void change(bool tools, bool prompts, bool resources);
  // The same for a server's own notification, which may come before the acknowledgement.
  void server_changed(bool tools, bool prompts, bool resources);
  void tell_changes();
  void updated(const std::string& shown_uri);
  void deliver(const std::string& text) {
    auto message = mcp::Message::parse(text, json::kDepthCeiling);
    if (message && live()) owner_->on_call_message(std::move(*message));
  }
  void drop(const std::string& member, std::string_view why);

  AggregateUpstream& aggregate_;
  const uint64_t number_;
  core::UpstreamRequest request_;
  bool tools_ = false, prompts_ = false, resources_ = false;
  std::map<std::string, std::map<std::string, std::string>> uris_;  // by server
  std::map<std::string, std::vector<std::string>> tasks_;           // by server
  std::map<std::string, std::unique_ptr<SubscriptionLeg>> legs_;    // by member
  std::set<std::string> granted_;                                   // the client's URIs
  std::map<std::string, std::set<std::string>> granted_tasks_;      // by server, the server's ids
  MemoryCharge held_{Held::listens};                                // these, and the legs' copies
  // acknowledged: the client has its acknowledgement.
  enum class State : uint8_t { learning, opening_legs, waiting, acknowledged };
  State state_ = State::learning;
  bool changed_tools_ = false, changed_prompts_ = false, changed_resources_ = false, telling_ = false;
  bool early_tools_ = false, early_prompts_ = false, early_resources_ = false;
  uint64_t waiter_ = 0;
  std::chrono::milliseconds begun_at_{0};
  net::Timer ack_limit_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::aggregate
