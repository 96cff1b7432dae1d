// The traffic of a legacy session that belongs to no single call. The server's requests and unscoped
// notifications go to exactly one stream. The client's answers go back to the server.
//
// There is one per legacy session, owned by the exchange table; the upstream holds a reference from
// open_scope to close_scope.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "foundation/base/counted_set.h"
#include "proxy/client/session/session.h"
#include "proxy/core/upstream.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/server_directory.h"

namespace lineward::exchange {

class ExchangeFinder {
 public:
  virtual Exchange* find(core::ExchangeId id) = 0;
  // The exchanges of a session, oldest first.
  virtual std::vector<Exchange*> of_session(const std::string& session) = 0;
  // The newest of them during which a server may send requests; null: none.
  virtual Exchange* newest_to_ask(const std::string& session) = 0;
  virtual client::Session* session(const std::string& id) = 0;
  // The server has ended the session; it is removed at the end of the turn.
  virtual void session_lost(const std::string& id) = 0;
  // Applies policies to a server's message that belongs to no call; returns why it is dropped, or nullopt.
  virtual std::optional<std::string> judge(const core::Scope& scope, mcp::Message& message) = 0;

 protected:
  ~ExchangeFinder() = default;
};

class SessionLink final : public core::ScopeCallbacks {
 public:
  SessionLink(ExchangeFinder& finder, ServerRef lease, core::Scope scope)
      : finder_(finder), lease_(std::move(lease)), upstream_(lease_.upstream()), scope_(std::move(scope)) {}

  void on_scope_message(mcp::Message message, std::optional<uint64_t> only_call) override;
  void on_scope_reset() override;
  void on_scope_ended() override { finder_.session_lost(scope_.session); }
  bool is_pinned() const override;
  std::optional<std::chrono::milliseconds> unused_for() const override;
  std::optional<std::chrono::milliseconds> abandoned_for() const override;
  // 2025-11-25 tasks: progress with Lineward's token is forwarded to the client with the client's token.
  void task_started(std::string_view token, const std::string& client_token);
  // The client answers a server's request; answers to unknown ones are dropped. True: the request was sent
  // through another replica, and the server has the answer.
  bool answer(const mcp::Message& answer);
  // Another replica has passed this answer to the server: the request is no longer open here.
  void answered_elsewhere(const mcp::Message& answer);
  // An exchange ends, and its client can still receive messages. Open requests that belong to it alone are
  // cancelled, and the server is notified that no answer will come. A server that has finished the call may
  // still await its answer.
  void exchange_ending(core::ExchangeId id, bool server_finished);
  const core::Scope& scope() const { return scope_; }
  core::Upstream& upstream() const { return upstream_; }
  const ServerRef& lease() const { return lease_; }

 private:
  struct Question {
    SharedText server_id;                   // as the server wrote it
    SharedText canonical;                   // normalised for comparison
    core::ExchangeId on;                    // sent on the stream of this exchange; none: a GET stream
    std::vector<core::ExchangeId> waiting;  // the exchanges with stopped clocks
  };
  void task_progress(const mcp::Message& progress);
  void to_session(const std::string& message);
  // Keeps a message until a GET stream opens; refuses the questions that it evicts for that.
  void keep(client::Session& session, std::string message, int64_t question);
  void question(mcp::Message message, Exchange* on);
  void withdrawn(const mcp::Message& cancelled);
  Exchange* stream_for(std::optional<uint64_t> only_call);
  bool drop_orphan();
  void refuse(std::string_view server_id, std::string_view why);
  // The server request that this answers, if it was sent here. `server_id`: as read_shown() returns it.
  std::optional<Question> take_answered(int64_t id, std::string_view server_id);
  void closed(const Question& question);
  // The question will not be answered: client and server are notified, clocks continue. `client_why`,
  // `server_why`: the texts for each.
  void cancel_question(int64_t id, std::string_view client_why, std::string_view server_why);
  // Cancels a request at the client with `message`, unless the client never saw the request.
  void take_back(int64_t id, const Question& question, const std::string& message);
  void send_cancel(int64_t id, const Question& question, std::string_view reason);
  // The id of a server request as shown to the client, and back.
  std::string shown_id(int64_t id, std::string_view server_id);
  bool is_shared();

  ExchangeFinder& finder_;
  const ServerRef lease_;
  core::Upstream& upstream_;
  core::Scope scope_;
  std::map<int64_t, Question> questions_;                       // by the number in the shown id
  std::deque<std::pair<std::string, SharedText>> task_tokens_;  // Lineward's → the client's; the oldest is
                                                                // evicted first
  uint64_t dropped_ = 0;
  int64_t next_id_ = 1;  // not 0: SDK 1.x clients ignore a cancel of request 0
};

}  // namespace lineward::exchange
