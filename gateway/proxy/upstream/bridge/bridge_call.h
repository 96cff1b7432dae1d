// A legacy client's request to a modern server: translated, and sent again with the client's answers each
// time the server asks for input (behaviour.md 10). Owned by its caller (an exchange); it owns its modern
// calls, one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/base/memory_charge.h"
#include "foundation/net/loop.h"
#include "protocol/mcp/modern_server.h"
#include "proxy/core/owned_call.h"

namespace lineward::upstream {

class BridgeSession;

class BridgeCall final : public core::OwnedCall, public core::CallCallbacks {
 public:
  BridgeCall(BridgeSession& session, core::UpstreamRequest request, core::CallCallbacks& owner);
  ~BridgeCall() override;

  // core::Call. A cancel withdraws the open questions before it returns, through the session's owner, which
  // may notify the client. There is no reply(), since the client's answers arrive through the session, and no
  // retried(), since legacy clients do not retry.
  void cancel(core::CancelCause why) override;
  bool hold(bool on) override { return inner_ && inner_->live() && inner_->hold(on); }
  core::CallFacts call_facts() const override {
    core::CallFacts facts{&request_.message};
    facts.is_from_server = from_server_;
    return facts;
  }

  // The session decides by the request which of these begins. None calls back synchronously.
  std::optional<core::Failure> start_as_it_came();  // the client's own `initialize`, unchanged
  std::optional<core::Failure> start_discover();
  std::optional<core::Failure> start_translated();
  void start_local();  // finish() is called later
  // It waits for another call's request, which has reached this phase.
  void moved(core::CallPhase phase) { on_call_phase(phase); }

  // Ends the call; not to be called from within start().
  void finish(json::Text text);
  void finish(std::string text) { finish(json::Text{std::move(text), nullptr}); }
  void fail(const core::Failure& failure);
  // The client answered a question.
  void answered(int64_t question, const mcp::Message& answer);

  const core::UpstreamRequest& request() const { return request_; }
  uint64_t serial() const { return serial_; }

 private:
  enum class Step : uint8_t { half_open_probe, discover, translated, local };
  struct Question {
    int64_t id;
    std::string key;
    mcp::Method method;
    std::string answer;  // raw JSON; empty while open
  };

  // core::CallCallbacks, of the modern call
  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure& failure) override;
  void on_call_routed(const core::RoutedPtr& to) override {
    if (!live()) return;
    answers_ = to;
    owner_->on_call_routed(to);
  }
  void on_call_repeated() override {
    if (live()) owner_->on_call_repeated();
  }
  void on_call_request(core::Coalesced coalesced) override {
    if (live()) owner_->on_call_request(coalesced);
  }

  std::optional<core::Failure> send(mcp::Message message, mcp::Method method, core::Scope scope,
                                    mcp::Era era);
  void later(std::function<void()> work);
  void served_as_it_came(mcp::Message answer, bool has_session);
  void look_for_better(mcp::Message answer);
  void compared(mcp::Message discovered);
  void served_as_it_is();
  void discover_instead(std::optional<mcp::Message> refusal);
  bool refused_after_all();
  void ask(const mcp::Message& answer);
  void ask_live(const mcp::Message& question);
  bool withdrawn(const mcp::Message& cancelled);
  void go_on();
  void retry();
  void withdraw_questions(std::string_view why);
  void retire_inner();
  // The answering server: among several, the one that the call was routed to.
  const std::string& answering() const;
  core::CallCallbacks& leave(std::string_view why = "the call it belongs to has ended");

  BridgeSession& session_;
  const uint64_t serial_;
  core::UpstreamRequest request_;  // as the client made it
  std::unique_ptr<core::Call> inner_;
  core::RoutedPtr answers_;  // among several servers; null: the only one, or all
  Step step_ = Step::local;
  bool written_ = false;      // reported, for this round
  bool taken_ = false;        // the server has sent something other than an error
  bool from_server_ = false;  // of the last message; the modern call is gone when the owner asks
  uint32_t rounds_ = 0;
  std::vector<Question> questions_;
  HeldCount answers_held_{Held::calls};  // the client's answers, while other questions are open
  // From a legacy server behind an aggregate: it sends requests during its call.
  struct LiveQuestion {
    int64_t id;
    std::string server_id;  // raw
  };
  std::vector<LiveQuestion> live_questions_;
  std::string state_;                   // raw JSON
  std::string failed_;                  // the client's error that ends the call, raw JSON
  std::optional<mcp::Message> served_;  // the server's good answer, kept during the check for a better one
  // For the client's own `initialize`, or Lineward's in its place, until the era is certain.
  std::optional<mcp::Message> refusal_;
  std::optional<core::Failure> failure_;
  bool going_on_ = false;
  net::Timer pause_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
