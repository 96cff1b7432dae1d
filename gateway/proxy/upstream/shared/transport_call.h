// A client request to a server, the same for every transport: the request, open requests of the server, and
// the callbacks of its owner.
//
// Owned by its caller (an exchange). Queues and tables hold plain pointers, which the call removes when it is
// destroyed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "foundation/base/counted_string.h"
#include "proxy/core/owned_call.h"
#include "proxy/upstream/shared/caller_shares.h"
#include "proxy/upstream/shared/legacy_listens.h"
#include "proxy/upstream/shared/open_questions.h"

namespace lineward::upstream {

class TransportCall : public core::OwnedCall, public ListenCall {
 public:
  core::UpstreamRequest request;
  std::string group;  // key of its group of callers
  int64_t id = 0;     // upstream id
  OpenQuestions open_questions;
  CallerShares::Place place;  // in its caller's share; a listen has none
  CallTurn turn;              // its order among waiting calls
  // When it was parked; nullopt: it is not parked.
  std::optional<std::chrono::milliseconds> parked_since;
  const Account* caller() const { return Account::caller_of(request.account()).get(); }
  bool acknowledged = false;  // a listen: its client knows that it is open
  bool is_listen() const { return request.method == mcp::Method::subscriptions_listen; }

  // Whether the notification cancels an open request of the server to this call's client
  // (`notifications/cancelled`). Or reports that the user has completed its elicitation
  // (`notifications/elicitation/complete`), which modern clients do not know.
  bool asked_what_is_named(const mcp::Message& notification) const;

  core::CallFacts call_facts() const override { return {&request.message}; }
  const mcp::Message& listen_request() const override { return request.message; }
  bool is_of_session() const override {
    return request.of_session() || !request.scope.bridged_session.empty();
  }
  // Reported once when the phase changes.
  void phase(core::CallPhase phase) override;
  void message(mcp::Message message) override;  // not the final one

 protected:
  TransportCall(core::UpstreamRequest&& what, core::CallCallbacks& owner)
      : OwnedCall(&owner), request(std::move(what)) {}
  // The call is over. Its place is freed before the owner is notified, since the owner may start a call at
  // once.
  virtual void give_place() { place.leave(); }
  // Passes the final message to the owner; a failure, if it is longer than this server's answers may be.
  void pass_answer(mcp::Message&& message, const config::Server& server);
  void pass_failure(const core::Failure& failure);

 private:
  void note_elicitation(const mcp::Message& question);
  bool is_of_legacy_client() const {
    return request.from != nullptr && request.from->era == mcp::Era::legacy;
  }

  CountedStringSet elicitations_{Held::calls};  // ids of the URL elicitations sent to its legacy client
  core::CallPhase phase_ = core::CallPhase::queued;
  bool phase_told_ = false;
};

}  // namespace lineward::upstream
