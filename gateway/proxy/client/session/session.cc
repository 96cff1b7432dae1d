#include "proxy/client/session/session.h"

#include <algorithm>
#include <charconv>

#include "config/load_levels.h"
#include "foundation/base/random_id.h"
#include "proxy/metrics/limits.h"

namespace lineward::client {
namespace {

constexpr size_t kMaxWaiting = 256;
constexpr size_t kMaxWaitingBytes = 1 << 20;
// Idle sessions searched per new session when all are in use; also the most callers searched.
constexpr size_t kNewcomersALook = 64;
constexpr size_t kMaxEventBytes = 8 << 20;  // of all its streams together, except the newest event
constexpr size_t kMaxStreams = 128;         // of one session, including recently ended ones
constexpr size_t kMaxAccepted = 4;          // credentials of one session
constexpr size_t kMaxGetStreams = 32;       // of one session, before a disconnected one is removed
constexpr size_t kMaxConnections = 64;      // of one session; with more, it is not taken for abandoned
constexpr std::chrono::milliseconds kSweepAtMost{30000};
constexpr std::chrono::milliseconds kSweepAtLeast{100};

}  // namespace

SessionStream& Session::open(SessionStream::ClientLeft client_left) {
  // Ended streams wait a while for a resume; a client that opens many keeps only the newest.
  if (streams_.size() >= kMaxStreams && !lingering_.empty()) remove(*lingering_.begin());
  uint32_t number = next_stream_++;
  auto& slot = streams_[number];
  slot = std::make_unique<SessionStream>(
      loop_, number, place, events_, limits_.resume_window, std::move(client_left),
      [this](uint32_t over) { remove(over); }, [this](uint32_t ended) { lingering_.insert(ended); });
  return *slot;
}

void Session::accepted(size_t authorization) {
  if (!accepted_.empty() && accepted_.front() == authorization) return;
  std::erase(accepted_, authorization);
  accepted_.push_front(authorization);
  if (accepted_.size() > kMaxAccepted) accepted_.pop_back();
}

void Session::charge(const AccountPtr& caller) {
  if (caller) account_ = Account::within(caller);
  events_->held.charge(account_);
  waiting_bytes_.charge(account_);
}

// Optional data may use three quarters of the share; the rest is for required data.
bool Session::may_keep(size_t more) const {
  const uint64_t most = Account::limit_of_callers() / 4 * 3;
  if (account_ && most > 0 && account_->held_by_caller() + more > most) return false;
  if (account_ && !account_->has_room(more)) return false;
  return config::load_of(MemoryCharge::total() + more, limits_) < config::Load::no_streams;
}

// The oldest streams lose their events first. Without any room the newest event goes as well: the client may
// receive it, but cannot resume it.
void Session::trim_events(SessionStream& newest) {
  auto too_much = [this] { return events_->held.mine() > kMaxEventBytes || !may_keep(0); };
  for (auto& [number, stream] : streams_) {
    const size_t stays = stream.get() == &newest ? 1 : 0;
    while (stream->events() > stays && too_much())
      stream->forget_oldest();
  }
  while (newest.events() > 0 && !may_keep(0))
    newest.forget_oldest();
}

void Session::remove(uint32_t number) {
  if (lingering_.erase(number) == 0) last_used = loop_.now();  // until now it had a stream
  auto found = streams_.find(number);
  if (found == streams_.end()) return;
  std::erase(get_streams_, number);
  loop_.retire(std::move(found->second));
  streams_.erase(found);
}

SessionStream& Session::open_post_stream(SessionStream::ClientLeft client_left) {
  return open(std::move(client_left));
}

void Session::open_get_stream(const std::function<std::unique_ptr<HttpReply>(SessionStream&)>& make) {
  // Each message searches these streams: a client that keeps opening and losing them can resume only the
  // newest.
  if (get_streams_.size() >= kMaxGetStreams) {
    const auto lost = std::find_if(get_streams_.begin(), get_streams_.end(), [this](uint32_t number) {
      const SessionStream* stream = find_stream(number);
      return stream == nullptr || !stream->attached();
    });
    if (lost != get_streams_.end()) remove(*lost);
  }
  had_stream_ = true;
  SessionStream& stream = open(nullptr);
  get_streams_.push_back(stream.number());
  auto transport = make(stream);
  HttpReply& its_reply = *transport;
  stream.attach(std::move(transport));
  its_reply.open_stream();
  flush_waiting(stream);
}

void Session::flush_waiting(SessionStream& stream) {
  if (std::find(get_streams_.begin(), get_streams_.end(), stream.number()) == get_streams_.end()) return;
  while (!waiting_.empty() && stream.attached()) {
    if (!stream.send(waiting_.front().message)) return;  // it waits for the next one
    waiting_bytes_ -= waiting_.front().message.size();
    waiting_.pop_front();
  }
}

SessionStream* Session::find_stream(uint32_t number) {
  auto found = streams_.find(number);
  return found == streams_.end() ? nullptr : found->second.get();
}

SessionStream* Session::resumable(std::string_view event_id, uint64_t& after) {
  if (std::string_view where = place_of(event_id); !where.empty()) {
    if (where != place) return nullptr;
    event_id.remove_prefix(where.size() + 1);
  }
  uint32_t number = 0;
  const char* end = event_id.data() + event_id.size();
  auto [dash, error] = std::from_chars(event_id.data(), end, number);
  if (error != std::errc() || dash == end || *dash != '-') return nullptr;
  auto [at, fault] = std::from_chars(dash + 1, end, after);
  if (fault != std::errc() || at != end) return nullptr;
  SessionStream* stream = find_stream(number);
  return stream != nullptr && stream->can_resume(after) ? stream : nullptr;
}

// The stream numbers are unlikely to occur on another replica, so an event id from there resumes nothing
// here.
void Session::share(core::ScopeState state) {
  shared_ = std::move(state);
  next_stream_ = 1;
  for (char digit : random_id().substr(0, 7))
    next_stream_ = next_stream_ * 16 + static_cast<uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

bool Session::has_stream() const {
  if (pipe_) return true;
  for (uint32_t number : get_streams_) {
    auto found = streams_.find(number);
    if (found != streams_.end() && found->second->attached()) return true;
  }
  return false;
}

// Earlier connections that are closed say nothing any more: their client has come back.
void Session::brought_on(const core::ConnectionEndPtr& connection) {
  if (connection == nullptr) unknown_connections_ = true;
  if (unknown_connections_) return connections_.clear();
  if (connections_.size() == 1 && connections_.front() == connection) return;
  std::erase_if(connections_,
                [&](const core::ConnectionEndPtr& one) { return one == connection || !one->is_open(); });
  if (connections_.size() >= kMaxConnections) return brought_on(nullptr);
  connections_.push_back(connection);
}

std::optional<std::chrono::milliseconds> Session::abandoned_for() const {
  const bool may_return = had_stream_ || has_task_ || shared_ || !streams_.empty() || !idle();
  if (may_return || connections_.empty()) return std::nullopt;
  std::chrono::milliseconds last = last_used;
  for (const core::ConnectionEndPtr& one : connections_) {
    const auto closed = one->closed_by_client();
    if (!closed) return std::nullopt;
    last = std::max(last, *closed);
  }
  return loop_.now() - last;
}

size_t Session::connections() const {
  return static_cast<size_t>(std::count_if(connections_.begin(), connections_.end(),
                                           [](const auto& one) { return one->is_open(); }));
}

void Session::end_streams() {
  std::vector<SessionStream*> all;
  for (auto& [number, stream] : streams_)
    all.push_back(stream.get());
  for (SessionStream* stream : all)
    stream->finish_empty();
}

void Session::end_get_streams() {
  if (one_stream && exchanges > 0) return;
  for (uint32_t number : std::vector<uint32_t>(get_streams_)) {
    if (SessionStream* stream = find_stream(number)) stream->finish_empty();
  }
}

bool Session::to_stream(const std::string& message) {
  if (pipe_) {
    pipe_(message);
    return true;
  }
  for (auto number = get_streams_.rbegin(); number != get_streams_.rend(); ++number) {
    SessionStream* stream = find_stream(*number);
    if (stream == nullptr || !stream->attached()) continue;
    if (stream->send(message)) return true;
  }
  return false;
}

Session::Dropped Session::keep_for_stream(std::string message, int64_t question) {
  Dropped dropped;
  while (!waiting_.empty() &&
         (waiting_.size() >= kMaxWaiting || waiting_bytes_ + message.size() > kMaxWaitingBytes ||
          !may_keep(message.size()))) {
    ++dropped.messages;
    if (waiting_.front().question != 0) dropped.questions.push_back(waiting_.front().question);
    waiting_bytes_ -= waiting_.front().message.size();
    waiting_.pop_front();
  }
  if (!may_keep(message.size())) {
    ++dropped.messages;
    if (question != 0) dropped.questions.push_back(question);
    return dropped;
  }
  waiting_bytes_ += message.size();
  waiting_.push_back({std::move(message), question});
  return dropped;
}

bool Session::take_back(int64_t question) {
  auto found = std::find_if(waiting_.begin(), waiting_.end(),
                            [&](const Waiting& one) { return one.question == question; });
  if (found == waiting_.end()) return false;
  waiting_bytes_ -= found->message.size();
  waiting_.erase(found);
  return true;
}

SessionTable::SessionTable(net::Loop& loop, const config::Listen& limits,
                           std::function<void(const std::string&)> expired)
    : loop_(loop), limits_(limits), expired_(std::move(expired)), sweeper_(loop) {
  sweeper_.start(sweep_every(), [this] { sweep(); });
}

// A caller may exceed its share while there is room. When the table is full, a caller at or above its share
// loses a session of its own. Otherwise the caller with the most sessions loses one, never to a caller that
// has more. Sessions beyond a caller's share may be removed even with a stream.
bool SessionTable::make_room(const Account* caller) {
  if (sessions_.size() < limits_.max_sessions) return true;
  auto found = of_caller_.find(caller);
  const size_t own = found == of_caller_.end() ? 0 : found->second.sessions.size();
  const size_t share = Account::share_of(limits_.max_sessions);
  const bool has_share = caller != nullptr && own >= share;
  metrics::limit_reached(has_share ? metrics::Limit::max_principal_percent : metrics::Limit::sessions);
  Session* goes = has_share ? dispensable(found->second) : nullptr;
  size_t looks = has_share ? 0 : kNewcomersALook;
  for (auto most = by_count_.rbegin(); goes == nullptr && looks > 0 && most != by_count_.rend(); ++most) {
    if (most->first < own) break;
    goes = dispensable(of_caller_.at(most->second));
    --looks;
  }
  if (goes == nullptr && !has_share && !by_count_.empty()) {
    const auto& [count, with_most] = *by_count_.rbegin();
    if (with_most != nullptr && count > share) goes = lent(of_caller_.at(with_most));
  }
  if (goes == nullptr) return false;
  expired_(std::string(goes->id));
  return true;
}

void SessionTable::count_in(Session& session) {
  const Account* caller = session.caller();
  OfCaller& its = of_caller_[caller];
  by_count_.erase({its.sessions.size(), caller});
  its.sessions.emplace(session.id, &session);
  by_count_.emplace(its.sessions.size(), caller);
}

void SessionTable::count_out(Session& session) {
  const Account* caller = session.caller();
  OfCaller& its = of_caller_[caller];
  by_count_.erase({its.sessions.size(), caller});
  its.sessions.erase(session.id);
  if (its.sessions.empty()) {
    of_caller_.erase(caller);
  } else {
    by_count_.emplace(its.sessions.size(), caller);
  }
}

// On average, every n-th id hashes to this worker.
std::string SessionTable::new_id() const {
  std::string id = random_id();
  while (home_of(id) != self_)
    id = random_id();
  return id;
}

Session* SessionTable::create(std::string id, const std::string& principal, const std::string& upstream,
                              const AccountPtr& caller) {
  if (!make_room(caller.get())) return nullptr;
  if (id.empty()) id = new_id();
  auto& slot = sessions_[id];
  slot = std::make_unique<Session>(loop_, limits_, id, principal, upstream);
  slot->charge(caller);
  count_in(*slot);
  touch(*slot);
  slot->opened = slot->last_used;
  return slot.get();
}

SessionTable::Worth SessionTable::worth(const Session& session) {
  return {!session.forsaken, session.last_touch};
}

void SessionTable::forsake(Session& session) {
  session.forsaken = true;
  OfCaller& its = of_caller_.at(session.caller());
  if (its.dispensable.size() > its.sessions.size()) its.dispensable.clear();  // discards outdated entries
  if (!its.dispensable.empty()) its.dispensable.emplace(worth(session), session.id);
}

// The caller's idle session with the least value: one that was never named, else the least recently used. A
// full search is rare, since a client can open sessions at any rate. Its results serve as many new sessions
// as make up for the cost. Sessions that were used meanwhile or are gone are skipped; sessions that became
// idle meanwhile are found by the next search.
Session* SessionTable::dispensable(OfCaller& caller) {
  for (;;) {
    for (; !caller.dispensable.empty(); caller.dispensable.erase(caller.dispensable.begin())) {
      const auto& [then, id] = *caller.dispensable.begin();
      Session* session = find(id);
      if (session != nullptr && session->idle() && worth(*session) == then) return session;
    }
    if (caller.none_idle == std::pair(loop_.now(), touches_)) return nullptr;
    std::vector<std::pair<Worth, const std::string*>> idle;
    for (const auto& [id, session] : caller.sessions) {
      if (session->idle()) idle.emplace_back(worth(*session), &id);
    }
    if (idle.empty()) {
      caller.none_idle = {loop_.now(), touches_};
      return nullptr;
    }
    const size_t enough =
        std::min(idle.size(), std::max<size_t>(1, caller.sessions.size() / kNewcomersALook));
    std::partial_sort(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(enough), idle.end());
    for (size_t i = 0; i < enough; ++i)
      caller.dispensable.emplace(idle[i].first, *idle[i].second);
  }
}

// The least recently used session without a call, of a caller above its share.
Session* SessionTable::lent(OfCaller& caller) {
  Session* oldest = nullptr;
  for (const auto& [id, session] : caller.sessions) {
    if (session->exchanges > 0) continue;
    if (oldest == nullptr || session->last_touch < oldest->last_touch) oldest = session;
  }
  return oldest;
}

Session* SessionTable::find(const std::string& id, const std::string& principal) {
  Session* session = find(id);
  return session != nullptr && session->principal == principal ? session : nullptr;
}

Session* SessionTable::find(const std::string& id) {
  auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

void SessionTable::remove(const std::string& id) {
  auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  // Its streams may be on the stack: they end here, and are freed at the end of the turn.
  std::unique_ptr<Session> ended = std::move(found->second);
  sessions_.erase(found);
  count_out(*ended);
  ended->end_streams();
  loop_.retire(std::move(ended));
}

std::vector<std::string> SessionTable::ids() const {
  std::vector<std::string> out;
  out.reserve(sessions_.size());
  for (const auto& entry : sessions_)
    out.push_back(entry.first);
  return out;
}

std::map<std::string, size_t> SessionTable::by_upstream() const {
  std::map<std::string, size_t> out;
  for (const auto& entry : sessions_)
    ++out[entry.second->upstream];
  return out;
}

std::chrono::milliseconds SessionTable::sweep_every() const {
  return std::clamp(limits_.session_idle / 4, kSweepAtLeast, kSweepAtMost);
}

void SessionTable::sweep() {
  sweeper_.start(sweep_every(), [this] { sweep(); });
  std::vector<std::string> old;
  for (const auto& [id, session] : sessions_) {
    if (session->idle() && loop_.now() - session->last_used > limits_.session_idle) old.push_back(id);
  }
  for (const auto& id : old)
    expired_(id);
}

// ---- SessionReply ----

SessionStream* SessionReply::stream() const {
  Session* session = sessions_.find(session_);
  return session != nullptr ? session->find_stream(number_) : nullptr;
}

SessionReply::~SessionReply() {
  SessionStream* s = stream();
  if (s == nullptr) return;
  s->abandon();
}

void SessionReply::send(std::string message) {
  if (SessionStream* s = stream()) s->send(std::move(message));
}
// A stream that needs no resume leaves its session here, and lives until the end of the turn.
void SessionReply::finish(std::string message, int status) {
  SessionStream* s = stream();
  if (s == nullptr) return;
  s->finish(std::move(message), status);
  bytes_out_ = s->bytes_out();
}
std::optional<mcp::EndReason> SessionReply::lost() const {
  SessionStream* s = stream();
  return s != nullptr ? s->lost() : std::nullopt;
}
void SessionReply::add_headers(const core::HeaderFields& fields) {
  if (SessionStream* s = stream()) s->add_headers(fields);
}
void SessionReply::finish_empty() {
  if (SessionStream* s = stream()) s->finish_empty();
}
void SessionReply::cut() {
  if (SessionStream* s = stream()) s->cut();
}
bool SessionReply::can_send() const {
  SessionStream* s = stream();
  return s != nullptr && s->can_send();
}
bool SessionReply::above_high_watermark() {
  SessionStream* to = stream();
  return to != nullptr && to->above_high_watermark();
}

void SessionReply::when_drained(std::function<void()> drained) {
  if (SessionStream* to = stream()) to->when_drained(std::move(drained));
}

uint64_t SessionReply::bytes_out() const {
  SessionStream* s = stream();
  return s != nullptr ? s->bytes_out() : bytes_out_;
}

}  // namespace lineward::client
