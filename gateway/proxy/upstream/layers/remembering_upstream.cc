#include "proxy/upstream/layers/remembering_upstream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "foundation/base/sha256.h"
#include "foundation/json/json_member.h"
#include "foundation/json/json_splice.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/legacy_server.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/core/owned_call.h"
#include "proxy/metrics/limits.h"
#include "proxy/upstream/layers/remembered_changes.h"
#include "proxy/upstream/layers/watched_listen.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Message;
using mcp::MessageKind;
using mcp::Method;
using std::chrono::milliseconds;

constexpr std::string_view kMark = "io.lineward/remembered";
// Parameters and capabilities beyond this are not remembered.
constexpr size_t kMostKeyBytes = 64 * 1024;
constexpr size_t kMaxChecks = 256;
constexpr size_t kMaxFailed = 256;
constexpr size_t kMaxProcesses = 256;  // until those that have ended are forgotten
constexpr size_t kMaxHeld = 16, kMaxHeldBytes = 64 * 1024;
// Changes are collected before the file is written, and it is not written all the time.
constexpr milliseconds kCollect{250}, kWriteEvery{5000};
// SDK clients of 2026-07-28 start a process of Lineward for discover alone, and end it with the answer. It
// needs no server.
constexpr milliseconds kDiscoverPause{250};
// A program is not looked up more often.
constexpr milliseconds kFreshPrint{1000};

bool reads_list(Method method) {
  return WatchedListen::bit_of(method) != 0;
}

constexpr std::array<std::string_view, 5> kKnownMeta{
    "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/logLevel", "progressToken"};

// A request for the first page, and nothing else.
bool is_plain(const Message& message) {
  bool plain = true;
  json::for_each_member(message.raw(Field::params), [&](const std::string& key, std::string_view value) {
    const bool is_null = value == "null";
    plain = plain && (key == "_meta" || (key == "cursor" && is_null));
  });
  json::for_each_member(message.raw(Field::params_meta), [&](const std::string& key, std::string_view) {
    plain = plain && std::find(kKnownMeta.begin(), kKnownMeta.end(), key) != kKnownMeta.end();
  });
  return plain;
}

uint8_t declared_by(std::string_view initialize_result) {
  const mcp::LegacyServer server = mcp::read_initialize_result(initialize_result);
  return static_cast<uint8_t>((server.tools_list_changed ? WatchedListen::kTools : 0) |
                              (server.prompts_list_changed ? WatchedListen::kPrompts : 0) |
                              (server.resources_list_changed ? WatchedListen::kResources : 0));
}

// A request that leaves no state behind in the server.
bool leaves_no_state(Method method) {
  return reads_list(method) || method == Method::initialize || method == Method::ping ||
         method == Method::server_discover || method == Method::subscriptions_listen;
}

// The parts of an answer that clients act on; `_meta` may differ each time.
std::string digest_of(Method method, const Message& answer) {
  if (answer.kind() == MessageKind::error) return "error";
  std::string parts;
  json::for_each_member(answer.raw(Field::result), [&](const std::string& key, std::string_view value) {
    if (key == "_meta" || key == "ttlMs" || key == "cacheScope") return;
    parts += fmt::format("{}:{}{}:{}", key.size(), key, value.size(), value);
  });
  if (method == Method::server_discover) parts += answer.raw(Field::result_meta_server_info);
  return sha256_hex(parts);
}

// A server that does not know the revisions of `initialize` does not learn them.
bool is_lasting_refusal(Method method, const Message& answer) {
  if (method != Method::initialize || answer.kind() != MessageKind::error) return false;
  const int code = mcp::error_code(answer);
  return code == mcp::kMethodNotFound || code == mcp::kUnsupportedVersion;
}

bool is_whole(const Message& answer) {
  return answer.kind() == MessageKind::result && !answer.has(Field::result_next_cursor) &&
         (!answer.has(Field::result_type) || answer.text(Field::result_type) == "complete");
}

// As it was sent, but with Lineward's mark, and not to be kept by the client.
Message marked(const Message& kept) {
  if (kept.kind() == MessageKind::error) return kept;
  json::Splice splice = kept.splice();
  if (kept.is_object(Field::result_meta)) {
    const bool has_mark = json::member(kept.raw(Field::result_meta), kMark).has_value();
    if (!has_mark) splice.add_member(kept.at(Field::result_meta), kMark, "true");
  } else if (!kept.has(Field::result_meta) && kept.is_object(Field::result)) {
    splice.add_member(kept.at(Field::result), "_meta", fmt::format(R"({{"{}":true}})", kMark));
  }
  if (kept.has(Field::result_ttl_ms)) splice.replace(kept.at(Field::result_ttl_ms), "0");
  if (splice.empty()) return kept;
  auto made = Message::parse(splice.apply_outlined(), json::kDepthCeiling);
  return made ? std::move(*made) : kept;
}

// An answer from memory.
class RememberedCall final : public core::OwnedCall {
 public:
  RememberedCall(net::Loop& loop, const std::string& upstream, core::UpstreamRequest request,
                 core::CallCallbacks& owner, Message answer)
      : OwnedCall(&owner),
        upstream_(upstream),
        request_(std::move(request)),
        answer_(std::move(answer)),
        later_(
            loop, [](void* self) { static_cast<RememberedCall*>(self)->tell(); }, this) {
    later_.schedule();
  }
  ~RememberedCall() override {
    if (live()) cancel_alive(upstream_);
  }
  void cancel(core::CancelCause) override {
    if (take_owner() != nullptr) metrics::upstream_stats(upstream_).cancel_settled(request_.tag, {});
  }
  core::CallFacts call_facts() const override {
    core::CallFacts facts{&request_.message};
    facts.is_from_server = false;
    return facts;
  }

 private:
  void tell() {
    if (!live()) return;
    Message answer = std::move(answer_);  // the owner may end this call during the callback
    take_owner()->on_call_message(std::move(answer));
  }

  const std::string& upstream_;
  const core::UpstreamRequest request_;
  Message answer_;
  net::Deferred later_;
};

// A call to the server. Its answer is remembered.
class LearningCall final : public core::PassingCall {
 public:
  LearningCall(RememberingUpstream& upstream, std::string key, RememberingUpstream::Groups groups,
               core::UpstreamRequest request, core::CallCallbacks& owner)
      : PassingCall(std::move(request), &owner),
        upstream_(upstream),
        key_(std::move(key)),
        groups_(std::move(groups)),
        scope_(request_.scope) {}
  ~LearningCall() override {
    if (live()) cancel_alive(upstream_.name());
  }
  std::optional<core::Failure> begin() {
    core::UpstreamRequest request = std::move(request_);
    request_.method = request.method;
    auto call = upstream_.inner().start(std::move(request), *this);
    if (!call) return call.error();
    inner_ = std::move(*call);
    return std::nullopt;
  }
  void cancel(core::CancelCause why) override {
    if (take_owner() != nullptr) cancel_inner(why);
  }
  void on_call_phase(core::CallPhase phase) override {
    if (live()) owner_->on_call_phase(phase);
  }
  void on_call_message(Message&& message) override {
    if (!live()) return;
    const bool is_last = message.kind() == MessageKind::result || message.kind() == MessageKind::error;
    if (!is_last) return owner_->on_call_message(std::move(message));
    upstream_.learn(key_, request_.method, scope_, groups_, message);
    take_owner()->on_call_message(std::move(message));
  }
  void on_call_failed(const core::Failure& failure) override {
    if (core::CallCallbacks* owner = take_owner()) owner->on_call_failed(failure);
  }

 private:
  RememberingUpstream& upstream_;
  const std::string key_;
  const RememberingUpstream::Groups groups_;
  const core::Scope scope_;
};

}  // namespace

RememberingUpstream::RememberingUpstream(net::Loop& loop, std::unique_ptr<core::Upstream> inner,
                                         const config::Server& server, const char* const* environment,
                                         Transport transport)
    : PassingUpstream(std::move(inner)),
      loop_(loop),
      server_(server),
      environment_(environment),
      transport_(std::move(transport)),
      stats_(metrics::upstream_stats(server.name)),
      had_file_(has_memory(memory_place(server, environment))) {}

RememberingUpstream::~RememberingUpstream() {
  lifetime_.end();
  checks_.clear();
}

// ---- the memory ----

void RememberingUpstream::load(Era era) {
  if (std::exchange(loaded_, true)) return;
  place_ = memory_place(server_, environment_);
  fingerprint_ = place_.fingerprint;
  fingerprint_at_ = loop_.now();
  if (place_.directory.empty()) {
    log::write(log::Level::warn, "memory.none",
               {{"upstream", name()}, {"why", "there is no directory for state; set remember.directory"}});
    return;
  }
  auto ignored = [&](const std::string& why) {
    log::write(log::Level::info, "memory.ignored", {{"upstream", name()}, {"why", why}});
  };
  auto text = read_memory(place_, server_.remember.max_bytes);
  if (!text) return text.error().text.empty() ? void() : ignored(text.error().text);
  if (auto read = answers_.read(*text, place_.fingerprint, server_.remember.max_bytes); !read)
    return ignored(read.error().text);
  log::write(log::Level::info, "memory.read",
             {{"upstream", name()}, {"answers", static_cast<uint64_t>(answers_.size())}});
  if (era == Era::assumed && answers_.era().known) transport_.assume(answers_.era());
}

const std::string& RememberingUpstream::fingerprint_now() {
  if (loop_.now() - fingerprint_at_ >= kFreshPrint) {
    fingerprint_ = memory_place(server_, environment_).fingerprint;
    fingerprint_at_ = loop_.now();
  }
  return fingerprint_;
}

RememberingUpstream::Groups RememberingUpstream::groups_of(const core::UpstreamRequest& request,
                                                           std::optional<mcp::Era> era) {
  Groups groups;
  for (const mcp::Era each : {mcp::Era::modern, mcp::Era::legacy}) {
    if (era && *era != each) continue;
    const auto plan = grouping_.of(request, each);
    if (plan && (groups.empty() || groups.back() != plan->key)) groups.push_back(plan->key);
  }
  return groups;
}

bool RememberingUpstream::may_hold_state(const core::Scope& scope, const Groups& groups) const {
  return used_sessions_.count(scope.session + scope.bridged_session) > 0 ||
         std::any_of(groups.begin(), groups.end(), [this](const std::string& group) {
           auto found = processes_.find(group);
           return found != processes_.end() && found->second.is_used;
         });
}

// The program may have been replaced under a running process.
bool RememberingUpstream::is_current(const Groups& groups) {
  return fingerprint_now() == place_.fingerprint &&
         std::all_of(groups.begin(), groups.end(), [this](const std::string& group) {
           auto found = processes_.find(group);
           return found != processes_.end() && found->second.fingerprint == place_.fingerprint;
         });
}

// The callers that start the same processes. With a process for each session this is the caller: its
// next session would fail as the last one.
std::string RememberingUpstream::starter_of(const core::Scope& scope) const {
  const bool is_session = !scope.session.empty() || !scope.bridged_session.empty();
  const bool is_common = config::is_of_all_callers(server_.isolation) &&
                         !(is_session && config::is_of_one_session(server_.isolation));
  return is_common ? std::string() : "of " + scope.principal;
}

bool RememberingUpstream::has_failed_for(const core::Scope& scope) const {
  auto found = failed_.find(starter_of(scope));
  return found != failed_.end() && loop_.now() < found->second;
}

// Before the request is sent. The era may turn out to be another one than is known now, so a request that may
// leave state behind is noted for both.
RememberingUpstream::Groups RememberingUpstream::note_request(const core::UpstreamRequest& request) {
  if (processes_.size() >= kMaxProcesses)
    std::erase_if(processes_, [this](const auto& one) { return !transport_.is_awaited(one.first); });
  const bool may_change = !leaves_no_state(request.method);
  Groups groups = groups_of(request, may_change ? std::nullopt : transport_.era_for(request.scope));
  for (const std::string& group : groups) {
    auto [at, is_new] = processes_.try_emplace(group);
    Process& process = at->second;
    // A process that starts, or is waited for, gets what is queued first.
    if (is_new || (!may_change && !transport_.is_awaited(group))) process = {false, fingerprint_now()};
    process.is_used = process.is_used || may_change;
  }
  // A session that has held state is not like others any more, whatever its process.
  const std::string session = request.scope.session + request.scope.bridged_session;
  if (may_change && !session.empty()) used_sessions_.insert(session);
  return groups;
}

// The program, or a variable, may have changed since.
bool RememberingUpstream::is_same_program() {
  const std::string& now = fingerprint_now();
  if (now.empty()) return false;
  if (now == place_.fingerprint) return true;
  log::write(log::Level::info, "memory.ignored",
             {{"upstream", name()}, {"why", "the server's program has changed meanwhile"}});
  place_.fingerprint = now;
  answers_.clear();
  transport_.doubt();
  return false;
}

void RememberingUpstream::note_era(const EraVerdict& verdict) {
  load(Era::ignored);
  if (answers_.keep_era(verdict)) write_later();
}

void RememberingUpstream::learn(const std::string& key, Method method, const core::Scope& scope,
                                const Groups& groups, const Message& answer) {
  failed_.erase(starter_of(scope));
  Session* session = method == Method::initialize ? session_of(scope) : nullptr;
  if (session != nullptr && answer.kind() == MessageKind::result)
    session->declared = declared_by(answer.raw(Field::result));
  if (!is_current(groups)) return;
  const bool remembers = is_whole(answer) || is_lasting_refusal(method, answer);
  if (!remembers) return answers_.forget(key);
  const Field self =
      method == Method::initialize ? Field::result_server_info : Field::result_meta_server_info;
  const bool describes = method == Method::initialize || method == Method::server_discover;
  if (describes && answers_.keep_server(answer.raw(self))) {
    log::write(log::Level::info, "memory.ignored",
               {{"upstream", name()}, {"why", "the server has another name or version now"}});
    answers_.forget_last_life();
    transport_.doubt();
  }
  auto plain = Message::parse(mcp::with_id(answer, "0"), json::kDepthCeiling);
  if (!plain) return;
  const Message* before = answers_.find(key);
  const bool is_same = before != nullptr && before->bytes() == plain->bytes();
  if (!answers_.keep(key, *plain, server_.remember.max_bytes))
    metrics::limit_reached(metrics::Limit::remembered_bytes);
  if (!is_same) write_later();
}

void RememberingUpstream::write_later() {
  is_dirty_ = true;
  if (write_timer_.running() || stopping_ || is_retired_) return;
  const milliseconds next = written_at_ + kWriteEvery - loop_.now();
  write_timer_.start(written_at_.count() > 0 ? std::max(next, kCollect) : kCollect, [this] { write(); });
}

void RememberingUpstream::write() {
  write_timer_.stop();
  // A retired version has a successor, which has the file now.
  if (is_retired_ || !std::exchange(is_dirty_, false) || place_.directory.empty()) return;
  written_at_ = loop_.now();
  auto written = write_memory(place_, answers_.text(place_.fingerprint));
  is_dirty_ = !written;  // the next change, or the end, tries again
  if (written) {
    log::write(log::Level::debug, "memory.written",
               {{"upstream", name()}, {"answers", static_cast<uint64_t>(answers_.size())}});
  } else {
    log::write(log::Level::warn, "memory.unwritten", {{"upstream", name()}, {"why", written.error().text}});
  }
}

// ---- requests ----

// A digest of the caller and of everything that the answer may depend on; empty: it is not remembered.
std::string RememberingUpstream::key_of(const core::UpstreamRequest& request) {
  const Message& message = request.message;
  const core::Scope& scope = request.scope;
  const bool is_modern = request.client_era == mcp::Era::modern;
  const bool is_handshake = request.method == Method::initialize && !is_modern;
  const bool may_be =
      is_handshake || reads_list(request.method) || (request.method == Method::server_discover && is_modern);
  if (!may_be || place_.directory.empty()) return {};
  // State under a name has lists of its own, and a name may be used by one client only once.
  if (is_modern && server_.isolation == config::Isolation::session) return {};
  Session* session = is_modern ? nullptr : session_of(scope);
  if (!is_modern && session == nullptr) return {};
  std::string whose;
  if (is_handshake) {
    whose =
        fmt::format("{}\n{}\n{}", message.raw(Field::params_protocol_version),
                    json::compact(message.raw(Field::params_capabilities)), static_cast<int>(request.wire()));
    session->handshake = whose.size() > kMostKeyBytes ? std::string() : sha256_hex(whose);
  }
  if (session != nullptr) {
    if (session->handshake.empty()) return {};
    whose = session->handshake;
  } else {
    const std::string_view declared = message.raw(Field::meta_client_capabilities);
    if (declared.size() > kMostKeyBytes) return {};
    whose = fmt::format("{}\n{}\n{}", message.raw(Field::meta_protocol_version), json::compact(declared),
                        scope.bridged_session.empty());
  }
  if (!is_handshake && (message.raw(Field::params).size() > kMostKeyBytes || !is_plain(message))) return {};
  return sha256_hex(fmt::format("{}\n{}\n{}\n{}", is_modern, scope.principal, message.method(), whose));
}

// Lineward's own requests are answered by the server: names are routed, and calls judged, by its own lists.
bool RememberingUpstream::may_answer(const core::UpstreamRequest& request) {
  const bool is_of_client = request.from != nullptr && !request.of_gateway;
  return is_of_client && !has_failed_for(request.scope) && !transport_.is_running(request) &&
         is_same_program();
}

Result<std::unique_ptr<core::Call>, core::Failure> RememberingUpstream::start(core::UpstreamRequest&& request,
                                                                              core::CallCallbacks& owner) {
  using Started = Result<std::unique_ptr<core::Call>, core::Failure>;
  if (stopping_) return inner_->start(std::move(request), owner);
  load(Era::assumed);
  Groups groups = note_request(request);
  if (request.method != Method::server_discover) hurry_checks(request, groups);
  std::string key = key_of(request);
  // Lists of a process that may hold a client's state are not learned. Requests are sent in their order.
  if (key.empty() || may_hold_state(request.scope, groups)) return inner_->start(std::move(request), owner);
  const Message* kept = answers_.find(key);
  // A refusal counts only while the server is known as one that has no `initialize`.
  const bool is_valid =
      kept != nullptr && (kept->kind() == MessageKind::result || inner_->era() == mcp::Era::modern);
  if (is_valid && may_answer(request)) {
    if (auto answered = from_memory(key, groups, Message(*kept), request, owner))
      return Started(std::move(answered));
  }
  auto call =
      std::make_unique<LearningCall>(*this, std::move(key), std::move(groups), std::move(request), owner);
  if (auto failure = call->begin()) {
    call->cancel("was not begun");
    return Unexpected<core::Failure>{std::move(*failure)};
  }
  return Started(std::move(call));
}

std::unique_ptr<core::Call> RememberingUpstream::from_memory(const std::string& key, const Groups& groups,
                                                             const Message& kept,
                                                             core::UpstreamRequest& request,
                                                             core::CallCallbacks& owner) {
  // A refused `initialize` opens no session, and the bridge asks for discover next, which is checked.
  const bool is_refusal = kept.kind() == MessageKind::error;
  if (!is_refusal && !check(key, groups, kept, request)) return nullptr;
  ++stats_.remembered[static_cast<size_t>(metrics::Remembered::answered)];
  if (request.method == Method::initialize && !is_refusal)
    session_of(request.scope)->revision = kept.text(Field::result_protocol_version);
  return std::make_unique<RememberedCall>(loop_, name(), std::move(request), owner, marked(kept));
}

// ---- checks ----

// False: it cannot be sent.
bool RememberingUpstream::check(const std::string& key, const Groups& groups, const Message& kept,
                                const core::UpstreamRequest& request) {
  std::string id = key + "\n" + request.scope.session + "\n" + request.scope.bridged_session;
  const std::string given = digest_of(request.method, kept);
  if (auto found = checks_.find(id); found != checks_.end()) {
    found->second->also_given(given);
    return true;
  }
  if (checks_.size() >= kMaxChecks) return false;
  auto made = std::make_unique<AnswerCheck>(
      loop_, server_, *inner_, AnswerCheck::Plan{id, key, given, groups}, core::UpstreamRequest(request),
      [this](AnswerCheck& check, Result<Message, core::Failure> answer) {
        checked(check, std::move(answer));
      });
  // The calls of a session wait for its handshake, so that one cannot wait for its turn.
  if (request.client_era == mcp::Era::legacy || transport_.line == nullptr) {
    if (made->begin()) return false;
    checks_.emplace(std::move(id), std::move(made));
    return true;
  }
  AnswerCheck& check = *checks_.emplace(std::move(id), std::move(made)).first->second;
  if (request.method == Method::server_discover) {
    check.begin_later(*transport_.line, kDiscoverPause);
  } else {
    check.begin_in_turn(*transport_.line);
  }
  return true;
}

// The server is needed now. A list that is checked behind a call might show what the call has changed.
void RememberingUpstream::hurry_checks(const core::UpstreamRequest& before, const Groups& groups) {
  const bool may_change = !leaves_no_state(before.method);
  for (const auto& [id, check] : checks_) {
    const Groups& its = check->plan().groups;
    if (may_change && std::find_first_of(its.begin(), its.end(), groups.begin(), groups.end()) != its.end())
      check->begin_now();
    else
      check->hurry();
  }
}

void RememberingUpstream::checked(AnswerCheck& check, Result<Message, core::Failure> answer) {
  auto found = checks_.find(check.plan().id);
  if (found == checks_.end() || found->second.get() != &check) return;
  // Its call is on the stack.
  loop_.retire(std::move(found->second));
  checks_.erase(found);
  if (!answer) return failed(check, answer.error());
  const bool differs = check.differs_from(digest_of(check.method(), *answer));
  using metrics::Remembered;
  ++stats_.remembered[static_cast<size_t>(differs ? Remembered::different : Remembered::same)];
  if (differs) {
    log::write(log::Level::info, "memory.changed",
               {{"upstream", name()}, {"method", mcp::row(check.method())->name}});
  }
  learn(check.plan().key, check.method(), check.scope(), check.plan().groups, *answer);
  if (check.method() == Method::initialize) return handshake_checked(check, *answer, differs);
  if (!differs) return;
  if (check.method() == Method::server_discover && described_) return described_();
  tell(check);
}

void RememberingUpstream::failed(const AnswerCheck& check, const core::Failure& failure) {
  Session* session = check.method() == Method::initialize ? session_of(check.scope()) : nullptr;
  if (session != nullptr) {
    session->revision.clear();
    session->held.clear();
    session->held_bytes.set(0);
  }
  if (failure.reason == EndReason::cancelled_drain || stopping_) return;
  // Its client believes that it is initialized, and no process could answer for it.
  if (session != nullptr && session->owner != nullptr) session->owner->on_scope_ended();
  if (mcp::is(failure.reason, mcp::EndKind::cancel)) return;
  ++stats_.remembered[static_cast<size_t>(metrics::Remembered::failed)];
  if (!mcp::is_lack_of_room(failure.reason)) {
    std::erase_if(failed_, [now = loop_.now()](const auto& one) { return one.second <= now; });
    if (failed_.size() >= kMaxFailed) failed_.erase(failed_.begin());
    failed_[starter_of(check.scope())] = loop_.now() + transport_.failure_lasts;
  }
  log::write(log::Level::info, "memory.unchecked", {{"upstream", name()}, {"why", failure.text}});
}

// If the server refuses `initialize`, or answers with another revision, the session cannot go on as its
// client has begun it.
void RememberingUpstream::handshake_checked(const AnswerCheck& check, const Message& answer, bool differs) {
  Session* session = session_of(check.scope());
  if (session == nullptr) return;
  const std::string given = std::exchange(session->revision, {});
  auto held = std::exchange(session->held, {});
  session->held_bytes.set(0);
  const bool is_result = answer.kind() == MessageKind::result;
  if (differs && (!is_result || answer.text(Field::result_protocol_version) != given)) {
    log::write(log::Level::warn, "memory.session_ended",
               {{"upstream", name()},
                {"why", is_result ? "the server speaks another revision than in its last life"
                                  : "the server refused initialize"}});
    return session->owner->on_scope_ended();
  }
  const core::Scope scope = check.scope();
  for (const Message& message : held)
    pass(scope, message, {});
}

void RememberingUpstream::pass(const core::Scope& scope, const Message& message,
                               const core::HeaderFields& headers) {
  inner_->send(scope, mcp::Era::legacy, message, headers);
  Session* session = session_of(scope);
  if (session == nullptr || mcp::method_of(message.method()) != Method::initialized) return;
  session->is_initialized = true;
  tell_session(*session);
}

void RememberingUpstream::tell_session(Session& session) {
  if (!session.is_initialized || session.owner == nullptr) return;
  core::ScopeCallbacks& owner = *session.owner;
  const uint8_t bits = std::exchange(session.changed, uint8_t{0}) & session.declared;
  for (const uint8_t bit : {WatchedListen::kTools, WatchedListen::kPrompts, WatchedListen::kResources}) {
    auto notice = (bits & bit) != 0 ? WatchedListen::notice_of(bit) : std::nullopt;
    if (notice) owner.on_scope_message(std::move(*notice), std::nullopt);
  }
}

// A session without listens has a stream for it.
void RememberingUpstream::tell(const AnswerCheck& check) {
  const uint8_t bit = WatchedListen::bit_of(check.method());
  auto notice = bit != 0 ? WatchedListen::notice_of(bit) : std::nullopt;
  if (!notice) return;
  if (changed_) changed_(*notice);
  const std::string asker = asker_of(check.scope());
  const size_t told = listens_ == nullptr ? 0 : listens_->tell(asker, bit);
  Session* session = session_of(check.scope());
  if (session != nullptr && told == 0) {
    session->changed |= bit;
    return tell_session(*session);
  }
  if (session == nullptr && listens_ != nullptr) listens_->owe(asker, bit);
}

// ---- sessions ----

RememberingUpstream::Session* RememberingUpstream::session_of(const core::Scope& scope) {
  auto found = scope.session.empty() ? sessions_.end() : sessions_.find(scope.session);
  return found == sessions_.end() ? nullptr : &found->second;
}

void RememberingUpstream::open_scope(const core::Scope& scope, core::ScopeCallbacks& owner) {
  if (!scope.session.empty()) sessions_[scope.session].owner = &owner;
  inner_->open_scope(scope, owner);
}

void RememberingUpstream::close_scope(const core::Scope& scope) {
  cancel_checks(scope);
  const std::string session = scope.session + scope.bridged_session;
  if (!session.empty()) {
    used_sessions_.erase(session);
    processes_.erase(CallerGrouping::key_of_session(scope));
  }
  inner_->close_scope(scope);
  sessions_.erase(scope.session);
}

void RememberingUpstream::cancel_checks(const core::Scope& scope) {
  for (auto at = checks_.begin(); at != checks_.end();) {
    auto next = std::next(at);
    const core::Scope& its = at->second->scope();
    if (its.session == scope.session && its.bridged_session == scope.bridged_session &&
        !(scope.session.empty() && scope.bridged_session.empty())) {
      at->second->cancel("its session ended");
      loop_.retire(std::move(at->second));
      checks_.erase(at);
    }
    at = next;
  }
}

void RememberingUpstream::send(const core::Scope& scope, mcp::Era client_era, const Message& message,
                               const core::HeaderFields& headers) {
  Session* session = client_era == mcp::Era::legacy ? session_of(scope) : nullptr;
  if (session == nullptr) return inner_->send(scope, client_era, message, headers);
  if (!session->is_starting()) return pass(scope, message, headers);
  const bool fits =
      session->held.size() < kMaxHeld && session->held_bytes.mine() + message.bytes().size() <= kMaxHeldBytes;
  if (!fits) {
    log::write(log::Level::info, "client.dropped", {{"upstream", name()}, {"kind", "backlog"}});
    return;
  }
  session->held_bytes.add(message.bytes().size());
  session->held.push_back(message);
}

// ---- operators ----

core::UpstreamStatus RememberingUpstream::status() const {
  core::UpstreamStatus status = inner_->status();
  const bool remembers = loaded_ ? answers_.size() > 0 : had_file_;
  if (status.state == core::UpstreamStatus::State::idle && remembers)
    status.why += "; its lists are remembered";
  return status;
}

void RememberingUpstream::notice(core::UpstreamNotice what) {
  if (what == core::UpstreamNotice::retired) {
    write();
    is_retired_ = true;
  }
  PassingUpstream::notice(what);
}

void RememberingUpstream::stop(std::function<void()> done) {
  write();
  for (auto& [id, check] : checks_) {
    check->cancel("the gateway is stopping");
    loop_.retire(std::move(check));
  }
  checks_.clear();
  PassingUpstream::stop(std::move(done));
}

}  // namespace lineward::upstream
