// One client request on its way to a server, as far as it is the same over every transport: what is asked,
// the questions that the server asked meanwhile, and what its owner is told of it.
//
// Owned by its caller (an exchange); whoever lets it wait, or has it under way, holds a plain pointer, which
// the call removes when it dies.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/kept_text.h"
#include "core/owned_call.h"
#include "upstream/shared/caller_shares.h"
#include "upstream/shared/legacy_listens.h"
#include "upstream/shared/open_questions.h"

namespace lineward::upstream {

class TransportCall : public core::OwnedCall, public ListenCall {
 public:
  core::CallRequest request;
  std::string group;  // key of the group of callers that it belongs to
  int64_t id = 0;     // the id the server knows
  OpenQuestions open_questions;
  CallerShares::Place place;  // of its caller; a listen has none
  CallTurn turn;              // when it is sent, among those that wait
  // Since when it waits for its client; nothing: it does not.
  std::optional<std::chrono::milliseconds> parked_since;
  const Account* caller() const { return Account::caller_of(request.account()).get(); }
  bool acknowledged = false;  // a listen: its client knows that it is open
  bool is_listen() const { return request.method == mcp::Method::subscriptions_listen; }

  // Does this take back what its client was asked and has not answered (`notifications/cancelled`), or say
  // that its user is done with that (`notifications/elicitation/complete`)? Modern clients do not know the
  // latter.
  bool asked_what_is_named(const mcp::Message& notification) const;

  const mcp::Message& request_message() const override { return request.message; }
  const mcp::Message& listen_request() const override { return request.message; }
  bool is_of_session() const override { return request.of_session(); }
  // Told once for each phase that follows another.
  void phase(core::CallPhase phase) override;
  void message(mcp::Message message) override;  // not the last

 protected:
  TransportCall(core::CallRequest&& what, core::CallOwner& owner)
      : OwnedCall(&owner), request(std::move(what)) {}
  // It is over: who is told so may call again at once, and finds its place free.
  virtual void give_place() { place.leave(); }
  // The last message to its owner; a failure, where it is longer than this server's answers may be.
  void pass_answer(mcp::Message&& message, const config::Server& server);
  void pass_failure(const core::Failure& failure);

 private:
  void note_elicitation(const mcp::Message& question);
  bool is_of_legacy_client() const {
    return request.from != nullptr && request.from->era == mcp::Era::legacy;
  }

  KeptTexts elicitations_{Held::calls};  // ids of the URL questions that its legacy client was asked
  core::CallPhase phase_ = core::CallPhase::queued;
  bool phase_told_ = false;
};

}  // namespace lineward::upstream
