// One request of a legacy client on its way to a modern server: translated, and made again with the client's
// answers as often as the server asks for input (behaviour.md 10). Owned by its caller (an exchange); it owns
// the modern calls it makes, one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/held_bytes.h"
#include "core/owned_call.h"
#include "mcp/modern_server.h"
#include "net/loop.h"

namespace lineward::upstream {

class BridgeSession;

class BridgeCall final : public core::OwnedCall, public core::CallOwner {
 public:
  BridgeCall(BridgeSession& session, core::CallRequest request, core::CallOwner& owner);
  ~BridgeCall() override;

  // core::Call. A cancel withdraws the open questions before it returns: through the session's owner, who may
  // send the client word of it. Nothing is replied to it, since what the client answers comes by the session,
  // and nothing retried, since legacy clients do not do that.
  void cancel(core::CancelCause why) override;
  bool pause() override { return inner_ && inner_->live() && inner_->pause(); }
  bool resume() override { return inner_ && inner_->live() && inner_->resume(); }
  const mcp::Message& request_message() const override { return request_.message; }
  bool is_servers_word() const override { return servers_word_; }

  // Which of these comes first depends on the request; the session decides. None calls back at once.
  std::optional<core::Failure> start_as_it_came();  // the client's own `initialize`, as it came
  std::optional<core::Failure> start_discover();
  std::optional<core::Failure> start_translated();
  void start_local();  // finish() comes later
  // What is sent for it is another's call, which is this far.
  void moved(core::CallPhase phase) { on_call_phase(phase); }

  // The end, not from within start().
  void finish(json::Text text);
  void finish(std::string text) { finish(json::Text{std::move(text), nullptr}); }
  void fail(const core::Failure& failure);
  // The client answered a question.
  void answered(int64_t question, const mcp::Message& answer);

  const core::CallRequest& request() const { return request_; }
  uint64_t serial() const { return serial_; }

 private:
  enum class Step : uint8_t { half_open_probe, discover, translated, local };
  struct Question {
    int64_t id;
    std::string key;
    mcp::Method method;
    std::string answer;  // raw JSON; empty while open
  };

  // core::CallOwner, of the modern call
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
  void on_call_request(core::Whose whose) override {
    if (live()) owner_->on_call_request(whose);
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
  // The server whose answer it is: among several, the one that the call went to.
  const std::string& answering() const;
  core::CallOwner& leave(std::string_view why = "the call it belongs to has ended");

  BridgeSession& session_;
  const uint64_t serial_;
  core::CallRequest request_;  // as the client made it
  std::unique_ptr<core::Call> inner_;
  core::RoutedPtr answers_;  // of several servers as one; null: of the only one, or of all
  Step step_ = Step::local;
  bool written_ = false;       // told, of this round
  bool taken_ = false;         // by the server, which has said something that is no error
  bool servers_word_ = false;  // what came last of the modern call, which is gone when its owner asks
  uint32_t rounds_ = 0;
  std::vector<Question> questions_;
  HeldCount answers_held_{Held::calls};  // what the client has answered of them, while others are open
  // Of a legacy server, which is reached through several servers as one: it asks during its call.
  struct LiveQuestion {
    int64_t id;
    std::string server_id;  // raw
  };
  std::vector<LiveQuestion> live_questions_;
  std::string state_;                   // raw JSON
  std::string failed_;                  // the client's error that ends the call, raw JSON
  std::optional<mcp::Message> served_;  // its good answer, while we look whether it can do better
  // Of the client's own `initialize`, or of Lineward's in its place, while the era is not certain.
  std::optional<mcp::Message> refusal_;
  std::optional<core::Failure> failure_;
  bool going_on_ = false;
  net::Timer pause_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
