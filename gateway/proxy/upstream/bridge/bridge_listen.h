// The single `subscriptions/listen` of a legacy session on a modern server, or on a legacy one with a process
// shared by several sessions. Its filter is built from the session's resources/subscribe requests and the
// list changes that the server declares (behaviour.md 6 and 10). A new filter opens a new listen before the
// old one is cancelled; the old one stays if the new one adds nothing. A listen that ended, or that cannot be
// opened, is requested again with growing pauses and a budget, of which a lower layer may have used up all
// (layers/listen_hub.h). When it is used up, each request of the session causes one try until a listen is
// acknowledged. The client has no listen that could end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/base/counted_set.h"
#include "foundation/base/memory_charge.h"
#include "foundation/net/loop.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/shared/standing_listen.h"

namespace lineward::upstream {

class BridgeListen {
 public:
  struct Lists {
    bool tools = false, prompts = false, resources = false;
    bool operator==(const Lists&) const = default;
  };
  // Empty: done; else the reason. `invalid_request`: the filter was refused. A refusal of the client itself
  // (HTTP 401, 403, 429) is passed with its headers, unchanged.
  using Settled = std::function<void(const std::optional<core::Failure>& refusal)>;
  // `make` returns the request for a filter (raw JSON); `deliver` receives messages for the session's client.
  BridgeListen(net::Loop& loop, core::Upstream& inner, const config::Server& server, core::Scope scope,
               std::function<std::string(const std::string& filter)> make,
               std::function<void(mcp::Message)> deliver);
  ~BridgeListen();

  // From now on its requests are routed like the session's own (core::UpstreamRequest::of_session).
  void go_with(const core::Scope& session) { scope_ = session; }
  // Stores the client's forwarded headers and identity from the last request that the server has accepted. A
  // listen is a request of its own, and headers of an unjudged request may be another caller's.
  void use_request(const core::UpstreamRequest& request);
  // The session has sent a request, of any caller.
  void asked();
  void want(Lists lists);
  // A subscribe or unsubscribe is sent to the server as a listen, with its own headers, which are kept once
  // it is acknowledged. The callbacks are never called synchronously, and never after withdraw().
  struct Asker {
    uint64_t serial = 0;
    std::function<void(core::CallPhase)> moved;  // phase of the listen that requests it
    Settled settled;                             // called once: a listen with (or without) the URI is
                                                 // acknowledged
  };
  void subscribe(const core::UpstreamRequest& request, const std::string& uri, Asker asker);
  void unsubscribe(const core::UpstreamRequest& request, const std::string& uri, Asker asker);
  // The request is cancelled; a subscription that is not acknowledged yet is dropped.
  void withdraw(uint64_t serial);
  // No message is delivered, nothing settled or opened after this.
  void stop(std::string_view why);

 private:
  struct Wish {
    Lists lists;
    CountedSet uris;
    bool empty() const { return lists == Lists{} && uris.empty(); }
    bool operator==(const Wish&) const = default;
  };
  // The caller that the server is queried for.
  struct As {
    core::HeaderFields headers;
    core::ClientRequestPtr from;
    MemoryCharge bytes{Held::listens};
  };
  using AsPtr = std::shared_ptr<const As>;
  struct Listen final : core::CallCallbacks {
    Listen(BridgeListen& its_listen, Wish its_wish, AsPtr asked_as)
        : listen(its_listen),
          wish(std::move(its_wish)),
          as(std::move(asked_as)),
          ack_limit(its_listen.loop_) {}
    void on_call_phase(core::CallPhase phase) override;
    void on_call_message(mcp::Message&& message) override { listen.heard(*this, std::move(message)); }
    void on_call_failed(const core::Failure& failure) override {
      if (failure.by_policy || mcp::is_refusal_of_client(failure.reason))
        return listen.refused(*this, failure);
      listen.lost(*this, failure);
    }

    BridgeListen& listen;
    Wish wish;
    AsPtr as;
    std::optional<CountedSet> granted;  // URIs; null: it is not acknowledged
    std::unique_ptr<core::Call> call;
    MemoryCharge request_bytes{Held::listens};  // no exchange counts them
    net::Timer ack_limit;
  };
  enum class Loss : uint8_t {
    broken,
    refused,      // additions to the acknowledged filter get the refusal as their answer
    for_good,     // the server does not support listens
    at_capacity,  // not a failure of the server, so without a budget
    used_up       // the budget, by a lower layer
  };
  static Loss loss_of(const core::Failure& failure);
  struct Waiter {
    SharedText uri;
    bool wanted;
    AsPtr as;
    Asker asker;
  };

  static AsPtr as_of(const core::UpstreamRequest& request);
  static bool is_same(const AsPtr& one, const AsPtr& other);
  // Does this listen's filter include what the waiter waits for?
  static bool is_asked_by(const Listen& listen, const Waiter& waiter);
  // Does a request wait for a subscription to it?
  bool is_waited_for(const std::string& uri) const;
  AsPtr next_as() const;
  Wish wish_of(const AsPtr& as) const;
  void changed();
  void refresh();
  void moved(const Listen& listen, core::CallPhase phase);
  void heard(Listen& listen, mcp::Message message);
  void acknowledged(Listen& listen, const mcp::Message& message);
  void notify(Listen& listen, mcp::Message message);
  void lost(Listen& listen, const std::string& why, Loss loss,
            std::chrono::milliseconds no_sooner = std::chrono::milliseconds(-1));
  void lost(Listen& listen, const core::Failure& failure);
  // Refused by a policy, which may name the URIs concerned; or the server refuses the client (401, 403, 429).
  void refused(Listen& listen, const core::Failure& failure);
  // Ends these subscriptions; their waiters get the reason.
  void end(const CountedSet& over, const std::string& why);
  void refuse_ungranted(const Listen& listen);
  void give_up();
  // All waiters, or those with these credentials.
  void fail_waiters(const core::Failure& refusal, const AsPtr& as = nullptr);
  void fail_waiters(const std::string& why, const AsPtr& as = nullptr);
  void tell(Waiter waiter, std::optional<core::Failure> refusal);
  void settle();
  void tell_changes(const Wish& wish);
  // It is lost or refused; `listen` is gone.
  void went(Listen& listen, std::string_view why);
  void drop(std::unique_ptr<Listen>& listen, std::string_view why);

  net::Loop& loop_;
  core::Upstream& inner_;
  const config::Server& server_;
  core::Scope scope_;
  AsPtr kept_ = std::make_shared<const As>();
  std::function<std::string(const std::string&)> make_;
  std::function<void(mcp::Message)> deliver_;
  AccountPtr account_;
  // The wishes of the session; granted: the last acknowledged filter. Up while current_ stands.
  StandingListen<Wish> standing_;
  Wish& wish_ = standing_.asked();
  Wish& established_ = standing_.granted();
  std::unique_ptr<Listen> current_;
  std::unique_ptr<Listen> next_;  // until it is acknowledged
  std::vector<Waiter> waiters_;
  net::Timer again_;
  bool after_refusal_ =
      false;               // `again_` runs because of a refusal or a lack of room, and delays no new filter
  bool given_up_ = false;  // the budget is used up, and no request came since
  bool scheduled_ = false;
  bool stopped_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
