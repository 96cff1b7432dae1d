// Legacy sessions (2025-03-26 … 2025-11-25, "Session Management"): the id, the owner, the streams, and
// messages that wait for a stream. The meaning of a session's calls and questions is known in exchange/ only.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "foundation/base/account.h"
#include "foundation/net/loop.h"
#include "proxy/client/session/session_stream.h"
#include "proxy/core/connection_end.h"
#include "proxy/core/portable_scopes.h"

namespace lineward::client {

class Session {
 public:
  Session(net::Loop& loop, const config::Listen& limits, std::string its_id, std::string its_principal,
          std::string its_upstream)
      : id(std::move(its_id)),
        principal(std::move(its_principal)),
        upstream(std::move(its_upstream)),
        loop_(loop),
        limits_(limits) {
    events_->trim = [this](SessionStream& by) { trim_events(by); };
  }
  ~Session() {
    events_->trim = [](SessionStream&) {};
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::string id;
  const std::string principal;
  const std::string upstream;
  std::string path;         // that its client uses, as configured
  std::string listener;     // the further listener where it was opened; empty: `listen`
  std::string lease;        // Lineward-Session of the request that opened it: at a shared gateway, its client
  std::string client_info;  // `clientInfo` of `initialize`, JSON text, truncated
  std::chrono::milliseconds opened{0};
  std::string revision;        // negotiated; empty until `initialize` was answered
  uint32_t exchanges = 0;      // in flight
  bool one_stream = false;     // HTTP+SSE: answers go out on its GET stream too
  bool asked_to_open = false;  // HTTP+SSE: `initialize` came
  std::chrono::milliseconds last_used{0};
  uint64_t last_touch = 0;  // the order of touches within one millisecond
  bool tied = false;        // its client was given an id that names this replica
  bool deleted = false;     // by its client: it ends on all replicas
  // proxy/client/session/unnamed_sessions.h:
  bool named = false;           // its client has returned its id
  bool on_connection = false;   // the connection that it was opened on is open
  bool served_unnamed = false;  // it served a request that named no session
  bool opening = false;         // Lineward sends `initialize` in the client's place
  bool ends_when_idle = false;  // no request can reach it any more
  bool unclaimed = false;       // only its id leads to it, which its client is expected to return
  bool forsaken = false;        // its client never returned the id and is taken for gone; it may still come
                                // back
  bool by_gateway = false;      // Lineward sent `initialize`: its client cannot be made to repeat it
  // This replica's name, for the event ids of a shared session; empty: it has no name. Set before its first
  // stream.
  std::string place;

  // The session was opened with these credentials (ClientRequest::authorization), or the server has answered
  // a request that carried them. A caller with such credentials may send messages in this session that use
  // its stored state. Before the session is open any caller may; only the last few count, since tokens are
  // renewed.
  void accepted(size_t authorization);
  static constexpr size_t kNobodys = 2;  // equals no digest of credentials
  bool accepts(size_t authorization) const {
    return accepted_.empty() ||
           std::find(accepted_.begin(), accepted_.end(), authorization) != accepted_.end();
  }
  // The account that the session's memory is charged to. Before its first stream.
  void charge(const AccountPtr& caller);
  // Null: charged to no account.
  const AccountPtr& account() const { return account_; }
  const Account* caller() const { return Account::caller_of(account_).get(); }
  // Other replicas may serve it too; null: only this one. Before its first stream.
  void share(core::ScopeState state);
  const core::ScopeState* shared() const { return shared_ ? &*shared_ : nullptr; }
  bool has_stream() const;  // a GET stream with a connection, or a pipe
  bool idle() const { return exchanges == 0 && !has_stream(); }
  // The time for which it has been idle without a message from its client.
  std::optional<std::chrono::milliseconds> unused_for() const {
    return idle() ? std::optional(loop_.now() - last_used) : std::nullopt;
  }
  // A client connection brings a message of the session. Null: one that does not tell whether the client is
  // there, such as another replica's.
  void brought_on(const core::ConnectionEndPtr& connection);
  // The time since its client closed the last connection that had brought its messages. Nullopt: the client
  // may be there or has something to return for. Then a connection is open or Lineward closed it; a call runs
  // or may be resumed; a task was started; or the session had a GET stream.
  std::optional<std::chrono::milliseconds> abandoned_for() const;
  // The open ones of these connections.
  size_t connections() const;
  bool had_stream() const { return had_stream_; }
  // A task outlives its call: the client returns for its result.
  void task_started() { has_task_ = true; }
  // On stdio all messages go to the single client.
  void use_pipe(std::function<void(const std::string&)> pipe) { pipe_ = std::move(pipe); }
  // The stream of a POST; `client_left` as in SessionStream.
  SessionStream& open_post_stream(SessionStream::ClientLeft client_left);
  // A GET stream; pending messages are sent on it. `make` builds the transport for the given stream.
  void open_get_stream(const std::function<std::unique_ptr<HttpReply>(SessionStream&)>& make);
  SessionStream* find_stream(uint32_t number);
  // The replica name in an event id, as Session::place; empty: none.
  static std::string_view place_of(std::string_view event_id) {
    size_t tilde = event_id.find('~');
    return tilde == std::string_view::npos ? std::string_view() : event_id.substr(0, tilde);
  }
  // The stream of an event id, if it can resume after that event; sets `after`.
  SessionStream* resumable(std::string_view event_id, uint64_t& after);
  // Sends the pending messages on this stream, if it is a GET stream.
  void flush_waiting(SessionStream& stream);
  void end_streams();
  // The GET streams alone: during a drain, calls in flight finish.
  void end_get_streams();
  // Sends to exactly one GET stream.
  bool to_stream(const std::string& message);
  // Keeps the message, bounded, for the next GET stream; the oldest is dropped for the newest. `question`:
  // its number, if an answer to it is awaited.
  struct Dropped {
    size_t messages = 0;
    std::vector<int64_t> questions;  // of these
  };
  Dropped keep_for_stream(std::string message, int64_t question = 0);
  // Removes a question that needs no answer any more; false when it is no longer pending.
  bool take_back(int64_t question);
  // From 2025-11-25 on clients accept the empty event that makes a stream resumable.
  bool primes() const { return revision >= "2025-11-25"; }

  // Is there room for so many more bytes of optional data, in its caller's share and in total?
  bool may_keep(size_t more) const;

 private:
  SessionStream& open(SessionStream::ClientLeft client_left);
  void remove(uint32_t number);
  void trim_events(SessionStream& newest);

  net::Loop& loop_;
  const config::Listen& limits_;
  AccountPtr account_;
  std::deque<size_t> accepted_;  // newest first
  const std::shared_ptr<EventStore> events_ = std::make_shared<EventStore>();
  std::function<void(const std::string&)> pipe_;
  std::map<uint32_t, std::unique_ptr<SessionStream>> streams_;
  std::vector<uint32_t> get_streams_;
  std::set<uint32_t> lingering_;  // ended but kept for a while, oldest first
  uint32_t next_stream_ = 1;
  std::optional<core::ScopeState> shared_;
  std::vector<core::ConnectionEndPtr> connections_;
  bool unknown_connections_ = false;  // it has others than `connections_`
  bool had_stream_ = false, has_task_ = false;
  struct Waiting {
    std::string message;
    int64_t question;  // 0: none
  };
  std::deque<Waiting> waiting_;
  HeldCount waiting_bytes_{Held::queues};
};

// All sessions of a worker. Ids are 128 random bits; another principal's id is treated exactly like an
// unknown one.
class SessionTable {
 public:
  // `expired` must end a session that was idle too long or has to make room; it must call remove().
  SessionTable(net::Loop& loop, const config::Listen& limits,
               std::function<void(const std::string& id)> expired);

  // Null when the table is full of busy sessions. A caller may exceed its share as long as no other caller
  // needs the room. `caller`: the account that the session is charged to; null: none.
  Session* create(const std::string& principal, const std::string& upstream, const AccountPtr& caller) {
    return create({}, principal, upstream, caller);
  }
  // `id`: of a session that another replica shared; empty: a new id.
  Session* create(std::string id, const std::string& principal, const std::string& upstream,
                  const AccountPtr& caller);
  Session* find(const std::string& id, const std::string& principal);
  Session* find(const std::string& id);
  void remove(const std::string& id);
  void touch(Session& session) {
    session.last_used = loop_.now();
    session.last_touch = ++touches_;
  }
  // Its client is gone without ever naming it: it is the first to be removed.
  void forsake(Session& session);
  size_t size() const { return sessions_.size(); }
  // From now on, new ids hash to this worker, one of so many.
  void belong_to(size_t worker, size_t of_workers) {
    self_ = worker;
    workers_ = of_workers;
  }
  // The worker that generated this session id.
  size_t home_of(std::string_view id) const { return std::hash<std::string_view>{}(id) % workers_; }
  std::vector<std::string> ids() const;
  std::map<std::string, size_t> by_upstream() const;

 private:
  using Worth = std::pair<bool, uint64_t>;  // sessions with the lower value are removed first
  static Worth worth(const Session& session);
  struct OfCaller {
    std::unordered_map<std::string, Session*> sessions;
    std::set<std::pair<Worth, std::string>> dispensable;  // with their values when they were found
    std::pair<std::chrono::milliseconds, uint64_t> none_idle{-1, 0};  // the time and touch count when no idle
                                                                      // session was found
  };
  Session* dispensable(OfCaller& caller);
  Session* lent(OfCaller& caller);
  std::string new_id() const;
  // Keep `of_caller_` and `by_count_` consistent.
  void count_in(Session& session);
  void count_out(Session& session);
  void sweep();
  std::chrono::milliseconds sweep_every() const;
  // Ends an idle session to make room for one of this caller; false: no session may be removed.
  bool make_room(const Account* caller);

  net::Loop& loop_;
  const config::Listen& limits_;
  std::function<void(const std::string&)> expired_;
  net::Timer sweeper_;
  std::unordered_map<std::string, std::unique_ptr<Session>> sessions_;
  // By caller; null: sessions without an account.
  std::unordered_map<const Account*, OfCaller> of_caller_;
  std::set<std::pair<size_t, const Account*>> by_count_;  // session counts of callers
  uint64_t touches_ = 0;
  size_t self_ = 0;
  size_t workers_ = 1;
};

// The reply of one exchange in a session: refers to its SessionStream by number, since the session may end
// first.
class SessionReply final : public core::ReplyStream {
 public:
  SessionReply(SessionTable& sessions, std::string session, uint32_t stream)
      : sessions_(sessions), session_(std::move(session)), number_(stream) {}
  ~SessionReply() override;

  void send(std::string message) override;
  void finish(std::string message, int status) override;
  void finish_empty() override;
  void cut() override;
  bool can_send() const override;
  std::optional<mcp::EndReason> lost() const override;
  uint64_t bytes_out() const override;
  void add_headers(const core::HeaderFields& fields) override;
  bool above_high_watermark() override;
  void when_drained(std::function<void()> drained) override;

 private:
  SessionStream* stream() const;
  SessionTable& sessions_;
  std::string session_;
  uint32_t number_;
  uint64_t bytes_out_ = 0;  // when its stream last existed
};

}  // namespace lineward::client
