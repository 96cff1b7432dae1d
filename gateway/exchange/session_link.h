// The two-way traffic of a legacy session with its server that belongs to no single call: the server's own
// requests and unscoped notifications on their way to exactly one stream, and the client's answers on their
// way back.
//
// One per legacy session, owned by the exchange table; the upstream holds a reference from open_scope to
// close_scope.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/kept_refs.h"
#include "client/session/session.h"
#include "core/upstream.h"
#include "exchange/exchange.h"
#include "exchange/served.h"

namespace lineward::exchange {

class ExchangeFinder {
 public:
  virtual Exchange* find(core::ExchangeId id) = 0;
  // The exchanges of a session that are under way, oldest first.
  virtual std::vector<Exchange*> of_session(const std::string& session) = 0;
  // The newest of them during which a server may ask; null where there is none.
  virtual Exchange* newest_to_ask(const std::string& session) = 0;
  virtual client::Session* session(const std::string& id) = 0;
  // Its server has ended it; it goes at the end of the turn.
  virtual void session_lost(const std::string& id) = 0;
  // What policies make of a server's message that belongs to no call; why it goes no further, or nothing.
  virtual std::optional<std::string> judge(const core::Scope& scope, mcp::Message& message) = 0;

 protected:
  ~ExchangeFinder() = default;
};

class SessionLink final : public core::ScopeOwner {
 public:
  SessionLink(ExchangeFinder& finder, UpstreamLease lease, core::Scope scope)
      : finder_(finder), lease_(std::move(lease)), upstream_(lease_.upstream()), scope_(std::move(scope)) {}

  void on_scope_message(mcp::Message message, std::optional<uint64_t> only_call) override;
  void on_scope_reset() override;
  void on_scope_ended() override { finder_.session_lost(scope_.session); }
  bool is_lived_in() const override;
  std::optional<std::chrono::milliseconds> unused_for() const override;
  // 2025-11-25 tasks: progress under this token of ours goes on, to the client under its own.
  void task_started(std::string_view token, const std::string& client_token);
  // The client answers a question; unknown ones are dropped. True: it was asked by way of another replica,
  // and the server has the answer.
  bool answer(const mcp::Message& answer);
  // Another replica has passed this answer to the server: nobody waits for it here any more.
  void answered_elsewhere(const mcp::Message& answer);
  // An exchange ends, and its client can still be sent something: what was asked during it is taken back, and
  // the server is told that no answer will come. One that has finished the call may await it all the same.
  void exchange_ended(core::ExchangeId id, bool server_finished);
  const core::Scope& scope() const { return scope_; }
  core::Upstream& upstream() const { return upstream_; }
  const UpstreamLease& lease() const { return lease_; }

 private:
  struct Question {
    SharedText server_id;                   // as the server wrote it
    SharedText canonical;                   // as it compares with others
    core::ExchangeId on;                    // the exchange whose stream carries it; none: a GET stream
    std::vector<core::ExchangeId> waiting;  // whose clocks stand still for it
  };
  void task_progress(const mcp::Message& progress);
  void to_session(const std::string& message);
  // Until a GET stream comes; what has to make room for it is refused.
  void keep(client::Session& session, std::string message, int64_t question);
  void question(mcp::Message message, Exchange* on);
  void withdrawn(const mcp::Message& cancelled);
  Exchange* stream_for(std::optional<uint64_t> only_call);
  bool drop_orphan();
  void refuse(std::string_view server_id, std::string_view why);
  // The question that this answers, if it was asked here. `server_id`: as read_shown() finds it.
  std::optional<Question> take_answered(int64_t id, std::string_view server_id);
  void closed(const Question& question);
  // Nobody will answer it: client and server are told, clocks go on. `client_why`, `server_why`: for each.
  void give_up(int64_t id, std::string_view client_why, std::string_view server_why);
  // The client need not answer it any more: `message` says so, unless it never saw the question.
  void take_back(int64_t id, const Question& question, const std::string& message);
  void tell_cancelled(int64_t id, const Question& question, std::string_view reason);
  // The id of a question as the client sees it, and back.
  std::string shown_id(int64_t id, std::string_view server_id);
  bool is_shared();

  ExchangeFinder& finder_;
  const UpstreamLease lease_;
  core::Upstream& upstream_;
  core::Scope scope_;
  std::map<int64_t, Question> questions_;  // by the number in the id that the client sees
  std::deque<std::pair<std::string, SharedText>> task_tokens_;  // ours → the client's; the oldest goes first
  uint64_t dropped_ = 0;
  int64_t next_id_ = 1;  // not 0: SDK 1.x clients overlook a cancel of request 0
};

}  // namespace lineward::exchange
