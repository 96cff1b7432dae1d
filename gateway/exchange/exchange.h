// One client request from its admission to its single end. The only place that decides how it ends.
//
// Lives in the worker's slot map (exchange_table.h); everyone else holds its id. Five ways lead in: a
// message from upstream (CallOwner), the client is gone, a deadline, a plugin resumed (with the plugins),
// tell(). Whoever ends it first wins; what comes later is dropped: end() is the only way out, it shuts
// all of them before it does anything else, and only then the call is cancelled and the client answered.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/held_bytes.h"
#include "base/pooled.h"
#include "config/config.h"
#include "core/exchange_api.h"
#include "core/upstream.h"
#include "exchange/call_clock.h"
#include "exchange/call_log.h"
#include "exchange/call_record.h"
#include "exchange/served.h"
#include "mcp/errors.h"
#include "metrics/stats.h"
#include "net/loop.h"

namespace lineward::plugin {
class PluginSet;
}

namespace lineward::exchange {

// What came from its server as the last of a call. `in_its_place`: a result that Lineward has given, which
// says nothing of what the server thinks of its client.
enum class ServerAnswer : uint8_t { none, error, in_its_place, result };

class Exchange;
class ExchangePlugins;
class ExchangeQuestions;
class ExchangeReport;
class ParkTable;

// The HTTP status of an error that Lineward makes.
int refusal_status(mcp::EndReason reason, const core::ClientRequest& from, config::LegacyStatus legacy);

// What its client is told of a failure beside the reason and the text.
struct FailedAs {
  int64_t limit_ms = -1;  // the limit that was broken, where there was one
  int status = 200;       // of the HTTP answer
  bool untaken = false;   // its server was sent it, and says that it did not take it
};

// What an exchange needs from the table it lives in.
class ExchangeOwner {
 public:
  // The server that it goes to, empty when there is none; in a session the form that the session is with.
  virtual UpstreamLease served(const core::ClientRequest& request) = 0;
  virtual ParkTable& park_table() = 0;
  // Null where none is configured.
  virtual const std::shared_ptr<plugin::PluginSet>& plugins() {
    static const std::shared_ptr<plugin::PluginSet> none;
    return none;
  }
  // How a rate limit refuses a request of a legacy session.
  config::LegacyStatus legacy_status() const { return errors_.legacy_status; }
  // Why this request goes nowhere while there is so much to do.
  virtual std::optional<core::Failure> overloaded(const Exchange&) { return std::nullopt; }
  // `initialize` goes to the server: a session opens. Its answer decides whether it stays. False: it is open
  // already, or about to be.
  virtual bool session_opening(Exchange& exchange) = 0;
  virtual void session_opened(Exchange& exchange, const mcp::Message* result) = 0;
  // A call of a legacy session has become a task: its progress goes on after its answer. The token is ours.
  virtual void task_started(Exchange& exchange, std::string_view token, const std::string& client_token) = 0;
  // For people and metrics: its call is about to be cancelled; it has ended.
  virtual void cancelling(Exchange&, core::CancelInitiator) {}
  // For people who look at it.
  virtual void moved(Exchange&, CallMoment) {}
  // Its call is over or cancelled, its client is not answered yet: what it leaves open can still be taken
  // back on its stream.
  virtual void ending(Exchange&) {}
  virtual void ended(Exchange&, mcp::EndReason, int) {}
  // Free it at the end of the turn; nothing is called on it after this. Called once.
  virtual void retire(Exchange& exchange) = 0;

 protected:
  // It stays as long as this.
  explicit ExchangeOwner(const config::Errors& errors = kDefaultErrors) : errors_(errors) {}
  ~ExchangeOwner() = default;

 private:
  static constexpr config::Errors kDefaultErrors{};
  const config::Errors& errors_;
};

class Exchange final : public core::CallOwner, public Pooled<Exchange> {
 public:
  Exchange(net::Loop& loop, ExchangeOwner& owner, core::ExchangeId id, std::string call_id,
           core::Arrival&& arrival, std::unique_ptr<core::ReplyStream> reply);
  ~Exchange();

  void begin() { advance(); }

  // The other ways in.
  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure& failure) override;
  void on_call_routed(const core::RoutedPtr& to) override;
  void on_call_repeated() override;
  void on_call_request(core::Whose whose) override { record_.request_is(whose); }
  void client_gone(mcp::EndReason why);
  // An order to end: an operator, draining, the client's own cancel on another request.
  void tell(mcp::EndReason reason, std::string_view why);

  // A server's question to the client on this exchange's stream: its clock stands still until it is answered.
  bool ask(std::string message);
  void asked();
  void answered();
  // A notification of the session that belongs here.
  bool send(std::string message);

  core::ExchangeId id() const { return id_; }
  const core::ClientRequest& from() const { return *from_; }
  bool is_listen() const { return from_->method == mcp::Method::subscriptions_listen; }
  // Of a question that names no call: one that its server does not have yet has not asked it.
  bool may_have_asked() const { return mcp::may_ask(from_->method) && clock_.is_written(); }
  // Or is about to: nothing gets in any more.
  bool ended() const { return step_ >= Step::ending; }
  const UpstreamLease& lease() const { return lease_; }
  // The server that the call is with: at the aggregate the one that it was routed to. And the aggregate's
  // path then, else nothing.
  const std::string& server_name() const {
    if (routed_) return routed_->server->name;
    return lost_with_.empty() ? from_->upstream : lost_with_;
  }
  std::string_view route() const {
    return routed_ || !lost_with_.empty() ? std::string_view(from_->upstream) : std::string_view();
  }
  ServerAnswer server_answer() const { return server_answer_; }
  // Its owner's: it counts for the limit of its principal; its place among the calls of its session.
  bool counts_for_principal = false;
  uint64_t number = 0;

  uint64_t tag() const { return tag_; }
  const CallRecord& record() const { return record_; }
  bool waits() const { return !clock_.is_written(); }

 private:
  friend class ExchangePlugins;
  friend class ExchangeQuestions;
  friend class ExchangeReport;
  enum class Step : uint8_t { admitted, plugins, route, await_upstream, ending, ended };
  // How its client is left: with an answer, with the end of its stream alone, or as one that is gone.
  struct Answer {
    std::string text;
    int status = 200;
  };
  struct NoAnswer {};
  struct Nobody {};
  using Goodbye = std::variant<Nobody, NoAnswer, Answer>;

  void advance();
  // A server's message that every plugin has let pass.
  void received(mcp::Message&& message);
  void failed(const core::Failure& failure);
  void forward_message(mcp::Message&& message);
  void final_message(mcp::Message&& message);
  void listen_message(mcp::Message&& message);
  void listen_again(const mcp::Message& acknowledgement);
  void pause_upstream();
  void choose_limits();
  void use_routed(const core::RoutedPtr& to);
  mcp::GatewayError error_of(mcp::EndReason reason) const;
  void deadline(const CallClock::Due& due);
  void fail(mcp::EndReason reason, std::string text, FailedAs as = {});
  void refuse(mcp::EndReason reason, int code, const std::string& text, int status = 0);
  // The one end. `why` is for the server, where its call is still to be cancelled.
  void end(mcp::EndReason reason, int code, std::string_view why, Goodbye goodbye);

  net::Loop& loop_;
  ExchangeOwner& owner_;
  const core::ExchangeId id_;
  const core::ClientRequestPtr from_;
  // These change on their way.
  mcp::Message message_;
  core::SharedFields headers_;
  bool mirrors_itself_;
  std::unique_ptr<core::ReplyStream> reply_;
  UpstreamLease lease_;     // outlives the call
  core::RoutedPtr routed_;  // of a call at the aggregate: the one server it goes to
  std::string lost_with_;   // of a retry at the aggregate, whose call is gone: the server that this was with
  std::unique_ptr<core::Call> call_;
  std::unique_ptr<ExchangePlugins> plugins_;      // where some plugin wants to see this exchange
  std::unique_ptr<ExchangeQuestions> questions_;  // once a question came, or of a retry
  const config::Server* server_ = nullptr;
  Step step_ = Step::admitted;
  CallClock clock_;
  uint64_t tag_;  // by which the upstream knows the call; of a parked call that was taken up: the first one's
  CallRecord record_;
  int64_t retry_after_ms_ = -1;
  int status_ = 200;  // that the answer had, if it was the first thing to be sent
  HeldBytes request_bytes_{Held::calls};
  bool acknowledged_ = false;  // a listen
  bool session_told_ = false;  // an `initialize`: its owner knows what became of its session
  ServerAnswer server_answer_ = ServerAnswer::none;
};

}  // namespace lineward::exchange
