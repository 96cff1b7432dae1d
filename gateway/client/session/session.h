// Legacy sessions (2025-03-26 … 2025-11-25, "Session Management"): an id, who it belongs to, its streams and
// what waits for one. What a session's calls and questions mean is known in exchange/ only.
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

#include "base/account.h"
#include "client/session/session_stream.h"
#include "config/config.h"
#include "core/portable_scopes.h"
#include "net/loop.h"

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
  std::string path;         // that its client asks at, as it stands in the configuration
  std::string client_info;  // what its client told of itself in `initialize`, JSON text, cut to a bound
  std::chrono::milliseconds opened{0};
  std::string revision;        // negotiated; empty until `initialize` was answered
  uint32_t exchanges = 0;      // under way
  bool one_stream = false;     // HTTP+SSE: answers go out on its GET stream too
  bool asked_to_open = false;  // HTTP+SSE: `initialize` came
  std::chrono::milliseconds last_used{0};
  uint64_t last_touch = 0;  // the same as a number: of two in one millisecond one came first
  bool tied = false;        // its client was given an id that names this replica
  bool deleted = false;     // by its client: it ends for all replicas
  // client/session/unnamed_sessions.h:
  bool named = false;           // its client has returned its id
  bool on_connection = false;   // the connection that it was opened on is there
  bool served_unnamed = false;  // it served a request that named no session
  bool opening = false;         // Lineward initialises it for a client that does not
  bool ends_when_idle = false;  // nothing leads to it any more
  bool unclaimed = false;       // nothing leads to it but its name, which its client is about to return
  bool forsaken = false;        // its client never did, and is taken for gone; it may still come back
  bool by_gateway = false;      // Lineward has initialised it: its client cannot be told to do so again
  // This replica, in the ids of events of a session that others may serve too; empty: it has no name. Before
  // its first stream.
  std::string place;

  // The session was opened with these credentials (ClientRequest::authorization), or the server has answered
  // a request that brought them: whoever brings them may speak in this session with what is remembered of it.
  // Before it is open anybody may; the last few count, since tokens are renewed.
  void accepted(size_t authorization);
  static constexpr size_t kNobodys = 2;  // what nobody can bring
  bool accepts(size_t authorization) const {
    return accepted_.empty() ||
           std::find(accepted_.begin(), accepted_.end(), authorization) != accepted_.end();
  }
  // Whose share what it keeps is of. Before its first stream.
  void charge(const AccountPtr& caller);
  // Of what it keeps; null: nobody's share is of it.
  const AccountPtr& account() const { return account_; }
  const Account* caller() const { return Account::caller_of(account_).get(); }
  // Other replicas may serve it too; null: this one alone. Before its first stream.
  void share(core::ScopeState state);
  const core::ScopeState* shared() const { return shared_ ? &*shared_ : nullptr; }
  bool has_stream() const;  // a GET stream with a connection, or a pipe
  bool idle() const { return exchanges == 0 && !has_stream(); }
  // For how long it has been so, and its client has sent nothing.
  std::optional<std::chrono::milliseconds> unused_for() const {
    return idle() ? std::optional(loop_.now() - last_used) : std::nullopt;
  }
  // On stdio everything goes to the one client there is.
  void use_pipe(std::function<void(const std::string&)> pipe) { pipe_ = std::move(pipe); }
  // The stream of a POST; `gone` as in SessionStream.
  SessionStream& open_post_stream(SessionStream::Gone gone);
  // A GET stream; what waited goes out on it. `make` builds the transport for the stream it is given.
  void open_get_stream(const std::function<std::unique_ptr<HttpReply>(SessionStream&)>& make);
  SessionStream* find_stream(uint32_t number);
  // What an event id says of where its stream is, as Session::place; empty: nothing.
  static std::string_view place_of(std::string_view event_id) {
    size_t tilde = event_id.find('~');
    return tilde == std::string_view::npos ? std::string_view() : event_id.substr(0, tilde);
  }
  // The stream that an event id belongs to, when it can go on behind that event; sets `after`.
  SessionStream* resumable(std::string_view event_id, uint64_t& after);
  // What waits for a GET stream goes out on this one, if it is one.
  void flush_waiting(SessionStream& stream);
  void end_streams();
  // The GET streams alone: draining lets the calls under way finish.
  void end_get_streams();
  // To exactly one GET stream.
  bool to_stream(const std::string& message);
  // Waits, bounded, for a GET stream to come; the oldest is dropped for the newest. `question`: its number,
  // where somebody awaits an answer to it.
  struct Dropped {
    size_t messages = 0;
    std::vector<int64_t> questions;  // of these
  };
  Dropped keep_for_stream(std::string message, int64_t question = 0);
  // The question is not to be put to anybody any more; false when it waits no longer.
  bool take_back(int64_t question);
  // From 2025-11-25 on clients know the empty event that makes a stream resumable.
  bool primes() const { return revision >= "2025-11-25"; }

  // Is there room, in its caller's share and in all, to keep so much more of what can be done without?
  bool may_keep(size_t more) const;

 private:
  SessionStream& open(SessionStream::Gone gone);
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
  std::set<uint32_t> lingering_;  // ended and kept a while, oldest first
  uint32_t next_stream_ = 1;
  std::optional<core::ScopeState> shared_;
  struct Waiting {
    std::string message;
    int64_t question;  // 0: none
  };
  std::deque<Waiting> waiting_;
  HeldCount waiting_bytes_{Held::queues};
};

// All sessions of a worker. Ids are 128 random bits; a foreign principal's id looks exactly like an unknown
// one.
class SessionTable {
 public:
  // `expired` is asked to end a session that was idle too long or had to make room; it must call remove().
  SessionTable(net::Loop& loop, const config::Listen& limits,
               std::function<void(const std::string& id)> expired);

  // Null when the table is full of busy sessions: full for this caller, which may have more than its share as
  // long as no other wants one. `caller`: whose share what it keeps is of; null: nobody's.
  Session* create(const std::string& principal, const std::string& upstream, const AccountPtr& caller) {
    return create({}, principal, upstream, caller);
  }
  // `id`: the name of one that another replica shared; empty: a new name.
  Session* create(std::string id, const std::string& principal, const std::string& upstream,
                  const AccountPtr& caller);
  Session* find(const std::string& id, const std::string& principal);
  Session* find(const std::string& id);
  void remove(const std::string& id);
  void touch(Session& session) {
    session.last_used = loop_.now();
    session.last_touch = ++touches_;
  }
  // Its client went away without ever naming it: it is the first to make room.
  void forsake(Session& session);
  size_t size() const { return sessions_.size(); }
  // From now on the names of its new sessions say that they are this worker's, of so many.
  void belong_to(size_t worker, size_t of_workers) {
    self_ = worker;
    workers_ = of_workers;
  }
  // The worker that gave a session this name.
  size_t home_of(std::string_view id) const { return std::hash<std::string_view>{}(id) % workers_; }
  std::vector<std::string> ids() const;
  std::map<std::string, size_t> by_upstream() const;

 private:
  using Worth = std::pair<bool, uint64_t>;  // less is lost with the lesser one
  static Worth worth(const Session& session);
  struct OfCaller {
    std::unordered_map<std::string, Session*> sessions;
    std::set<std::pair<Worth, std::string>> dispensable;  // what they were worth when they were found to be
    std::pair<std::chrono::milliseconds, uint64_t> none_idle{-1, 0};  // when it was so, how many touches ago
  };
  Session* dispensable(OfCaller& caller);
  Session* lent(OfCaller& caller);
  std::string new_id() const;
  // Keeps `of_caller_` and `by_count_` true to each other.
  void count_in(Session& session);
  void count_out(Session& session);
  void sweep();
  std::chrono::milliseconds sweep_every() const;
  // Ends an idle session to make room for one of this caller; false where none is that may go.
  bool make_room(const Account* caller);

  net::Loop& loop_;
  const config::Listen& limits_;
  std::function<void(const std::string&)> expired_;
  net::Timer sweeper_;
  std::unordered_map<std::string, std::unique_ptr<Session>> sessions_;
  // By caller; null: those of nobody's share.
  std::unordered_map<const Account*, OfCaller> of_caller_;
  std::set<std::pair<size_t, const Account*>> by_count_;  // how many each of these has
  uint64_t touches_ = 0;
  size_t self_ = 0;
  size_t workers_ = 1;
};

// The reply of one exchange of a session: its SessionStream by name, since the session may end first.
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
  uint64_t bytes_out_ = 0;  // when its stream was there last
};

}  // namespace lineward::client
