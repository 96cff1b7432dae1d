// The one `subscriptions/listen` of a legacy session on a modern server, or on a legacy one whose process it
// shares with others: made from its resources/subscribe and from the list changes that the server announces
// (behaviour.md 6 and 10). A change of wishes makes the new listen before it breaks the old, which stays
// where the new one brings nothing; one that is lost or refused is made again with growing pauses and a
// budget. When that is used up, a try is made for each request of the session until one stands: its client
// has no listen whose end it could be told.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/held_bytes.h"
#include "base/kept_refs.h"
#include "config/config.h"
#include "core/upstream.h"
#include "net/loop.h"

namespace lineward::upstream {

class BridgeListen {
 public:
  struct Lists {
    bool tools = false, prompts = false, resources = false;
    bool operator==(const Lists&) const = default;
  };
  // Nothing: done; else why not. `invalid_request` where it is refused for what is asked; a refusal of the
  // client itself (HTTP 401, 403, 429), with its headers, as it came.
  using Settled = std::function<void(const std::optional<core::Failure>& refusal)>;
  // `make` gives the request for a filter (raw JSON); `deliver` takes what the session's client is to see.
  BridgeListen(net::Loop& loop, core::Upstream& inner, const config::Server& server, core::Scope scope,
               std::function<std::string(const std::string& filter)> make,
               std::function<void(mcp::Message)> deliver);
  ~BridgeListen();

  // From here on it goes where the session's own requests go (core::CallRequest::of_session).
  void go_with(const core::Scope& session) { scope_ = session; }
  // The client's headers that go on, and who it is, from the last request that the server has taken: a listen
  // is its own request too, and one that nobody has judged may be a stranger's.
  void use_request(const core::CallRequest& request);
  // The session has made a request, whoever it was.
  void asked();
  void want(Lists lists);
  // A subscribe or unsubscribe is put to the server as a listen: with its own headers, which are kept once
  // that is acknowledged. Neither function is called from here, and neither after withdraw().
  struct Asker {
    uint64_t serial = 0;
    std::function<void(core::CallPhase)> moved;  // of the listen that asks for it
    Settled settled;                             // once: when a listen with (or without) it stands
  };
  void subscribe(const core::CallRequest& request, const std::string& uri, Asker asker);
  void unsubscribe(const core::CallRequest& request, const std::string& uri, Asker asker);
  // Nobody waits for it any more; a subscription that does not stand yet is not wished any more.
  void withdraw(uint64_t serial);
  // Nothing is delivered, settled or opened after this.
  void stop(std::string_view why);

 private:
  struct Wish {
    Lists lists;
    KeptRefs uris;
    bool empty() const { return lists == Lists{} && uris.empty(); }
    bool operator==(const Wish&) const = default;
  };
  // As whom the server is asked.
  struct As {
    core::HeaderFields headers;
    core::ClientRequestPtr from;
    HeldBytes bytes{Held::listens};
  };
  using AsPtr = std::shared_ptr<const As>;
  struct Listen final : core::CallOwner {
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
    KeptRefs granted;  // URIs
    bool acknowledged = false;
    std::chrono::milliseconds since{0};  // the acknowledgement
    bool brought = false;                // something, since then
    std::unique_ptr<core::Call> call;
    HeldBytes request_bytes{Held::listens};  // no exchange counts them
    net::Timer ack_limit;
  };
  // Refused: what was wished on top of what stood is answered with it. For good: the server does not know
  // listens. Lack of room is no failure of the server, and has no budget.
  enum class Loss : uint8_t { broken, refused, for_good, no_room };
  static Loss loss_of(const core::Failure& failure);
  struct Waiter {
    SharedText uri;
    bool wanted;
    AsPtr as;
    Asker asker;
  };

  static AsPtr as_of(const core::CallRequest& request);
  static bool is_same(const AsPtr& one, const AsPtr& other);
  // Does this listen ask for what it waits for?
  static bool is_asked_by(const Listen& listen, const Waiter& waiter);
  // Does somebody wait for a subscription to it?
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
  // By a policy, which may say which URIs it is for; or the server refuses the client (401, 403, 429).
  void refused(Listen& listen, const core::Failure& failure);
  // These subscriptions are over, and who waits for one is told why.
  void end(const KeptRefs& over, const std::string& why);
  void refuse_ungranted(const Listen& listen);
  void give_up();
  // All, or those whose wish is asked for in these credentials.
  void fail_waiters(const core::Failure& refusal, const AsPtr& as = nullptr);
  void fail_waiters(const std::string& why, const AsPtr& as = nullptr);
  void tell(Waiter waiter, std::optional<core::Failure> refusal);
  void settle();
  void tell_changes(const Wish& wish);
  void drop(std::unique_ptr<Listen>& listen, std::string_view why);

  net::Loop& loop_;
  core::Upstream& inner_;
  const config::Server& server_;
  core::Scope scope_;
  AsPtr kept_ = std::make_shared<const As>();
  std::function<std::string(const std::string&)> make_;
  std::function<void(mcp::Message)> deliver_;
  AccountPtr account_;
  Wish wish_;
  Wish established_;  // what a listen stood with last
  std::unique_ptr<Listen> current_;
  std::unique_ptr<Listen> next_;  // until it is acknowledged
  std::vector<Waiter> waiters_;
  net::Timer again_;
  uint32_t failures_ = 0;
  bool after_refusal_ =
      false;               // `again_` waits since it was refused or had no room, which holds up no new wish
  bool given_up_ = false;  // the budget is used up, and nothing asked for since
  bool missed_ = false;    // none stood for a while: what may have been missed is told when one does
  bool scheduled_ = false;
  bool stopped_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
