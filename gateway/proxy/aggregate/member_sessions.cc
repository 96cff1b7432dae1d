#include "proxy/aggregate/member_sessions.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>
#include <vector>

#include "foundation/json/json_scan.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/aggregate/member.h"
#include "proxy/aggregate/name_map.h"

namespace lineward::aggregate {

using mcp::Field;
using mcp::Method;

namespace {

// The prefix of the ids under which clients see servers' questions. The bridge in front uses numbers for its
// own.
constexpr char kShown = 'm';

std::string shown_id(uint64_t number) {
  return fmt::format("\"{}{}\"", kShown, number);
}

// 0: not one of these ids.
uint64_t number_of(const mcp::Message& answer) {
  if (!answer.is_string(Field::id)) return 0;
  const std::string text = answer.text(Field::id);
  uint64_t number = 0;
  if (text.empty() || text.front() != kShown) return 0;
  const char* end = text.data() + text.size();
  auto [at, wrong] = std::from_chars(text.data() + 1, end, number);
  return wrong == std::errc() && at == end ? number : 0;
}

}  // namespace

// A session's own session at one member.
class MemberSession final : public core::ScopeCallbacks, public std::enable_shared_from_this<MemberSession> {
 public:
  MemberSession(MemberSessions& sessions, std::shared_ptr<Member> at, const core::Scope& session)
      : sessions_(&sessions), lease_(at->lease()), member_(std::move(at)), scope_(session) {
    scope_.by = nullptr;
    scope_.bridged_session = session.affinity;
    member_->upstream.open_scope(scope_, *this);
  }
  // The session's last call there is over, or the session is.
  ~MemberSession() { close(); }
  MemberSession(const MemberSession&) = delete;
  MemberSession& operator=(const MemberSession&) = delete;

  void close() {
    if (!lease_) return;
    member_->upstream.close_scope(scope_);
    lease_.reset();
  }
  // Its server's messages are dropped from now on.
  void forget_sessions() { sessions_ = nullptr; }
  void forward(const mcp::Message& message, const core::ClientRequestPtr& by = nullptr,
               const core::HeaderFields& headers = {}) {
    if (!lease_) return;
    core::Scope scope = scope_;
    scope.by = by;
    member_->upstream.send(scope, mcp::Era::legacy, message, member_->headers_for_it(headers));
  }
  void refuse(const mcp::Message& question) {
    auto refusal = mcp::Message::parse(
        mcp::error_message(question.raw(Field::id), mcp::kMethodNotFound, "this session is over"));
    if (refusal) forward(*refusal);
  }

  const std::string& session() const { return scope_.bridged_session; }
  const std::string& server() const { return member_->name; }
  const core::Scope& scope() const { return scope_; }

 private:
  void on_scope_message(mcp::Message message, std::optional<uint64_t> only_call) override {
    if (sessions_ != nullptr) return sessions_->heard(*this, std::move(message), only_call);
    if (message.kind() == mcp::MessageKind::request) refuse(message);
  }
  void on_scope_reset() override {
    if (sessions_ != nullptr) sessions_->withdraw_all(*this, "the server's process ended");
  }
  bool is_pinned() const override {
    MemberSessions::Session* its = sessions_ != nullptr ? sessions_->find(session()) : nullptr;
    return its != nullptr && its->owner.is_pinned();
  }
  std::optional<std::chrono::milliseconds> unused_for() const override {
    MemberSessions::Session* its = sessions_ != nullptr ? sessions_->find(session()) : nullptr;
    return its == nullptr ? std::nullopt : its->owner.unused_for();
  }
  std::optional<std::chrono::milliseconds> abandoned_for() const override {
    MemberSessions::Session* its = sessions_ != nullptr ? sessions_->find(session()) : nullptr;
    return its == nullptr ? std::nullopt : its->owner.abandoned_for();
  }

  MemberSessions* sessions_;  // null: the session is over, or its server is no longer a member
  std::shared_ptr<void> lease_;
  const std::shared_ptr<Member> member_;
  core::Scope scope_;
};

MemberSessions::~MemberSessions() {
  std::vector<std::string> ids;
  for (const auto& entry : sessions_)
    ids.push_back(entry.first);
  for (const std::string& id : ids)
    close({{}, {}, id});
}

MemberSessions::Session* MemberSessions::find(const std::string& id) {
  auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

void MemberSessions::open(const core::Scope& scope, core::ScopeCallbacks& owner) {
  sessions_[scope.affinity] = std::make_unique<Session>(owner, scope.principal);
}

void MemberSessions::close(const core::Scope& scope) {
  auto found = sessions_.find(scope.affinity);
  if (found == sessions_.end()) return;
  const std::unique_ptr<Session> over = std::move(found->second);
  sessions_.erase(found);
  for (const auto& [name, at] : over->members) {
    at->forget_sessions();
    at->close();
  }
}

std::shared_ptr<void> MemberSessions::enter(const std::shared_ptr<Member>& member, core::Scope& scope) {
  Session* session = find(scope.affinity);
  // A scope may name any session id, but only the session's own principal may use it.
  const bool is_its_own = session != nullptr && session->principal == scope.principal &&
                          config::is_of_one_session(member->server.isolation);
  if (!is_its_own || member->left) return member->lease();
  auto& at = session->members[member->name];
  if (!at) at = std::make_shared<MemberSession>(*this, member, scope);
  scope.bridged_session = scope.affinity;
  // The session there must outlive the call, and the server both.
  struct Lease {
    std::shared_ptr<void> server;
    std::shared_ptr<MemberSession> session;
  };
  return std::make_shared<Lease>(Lease{member->lease(), at});
}

void MemberSessions::left(const std::string& member) {
  std::vector<std::string> ids;
  for (const auto& entry : sessions_)
    ids.push_back(entry.first);
  for (const std::string& id : ids) {
    Session* session = find(id);
    if (session == nullptr) continue;
    auto found = session->members.find(member);
    if (found == session->members.end()) continue;
    const std::shared_ptr<MemberSession> at = std::move(found->second);
    session->members.erase(found);
    withdraw_all(*at, "the server is leaving");
    at->forget_sessions();
  }
}

// ---- from the servers ----

void MemberSessions::heard(MemberSession& at, mcp::Message message, std::optional<uint64_t> only_call) {
  Session* session = find(at.session());
  if (session == nullptr) {
    if (message.kind() == mcp::MessageKind::request) at.refuse(message);
    return;
  }
  if (message.kind() == mcp::MessageKind::request) {
    auto shown = shown_question(*session, at, message);
    if (!shown) return at.refuse(message);
    return session->owner.on_scope_message(std::move(*shown), only_call);
  }
  const Method method = mcp::method_of(message.method());
  // An update that was asked for reaches the client through its listen, under the aggregate's URI.
  if (method == Method::resources_updated) return;
  if (method != Method::cancelled) return session->owner.on_scope_message(std::move(message), only_call);
  if (auto shown = shown_withdrawal(*session, at, message))
    session->owner.on_scope_message(std::move(*shown), only_call);
}

// The answering side bounds the number of questions (proxy/exchange/session_link.h): each one over the limit
// is refused, and the refusal arrives here as its answer.
std::optional<mcp::Message> MemberSessions::shown_question(Session& session, MemberSession& at,
                                                           const mcp::Message& asked) {
  mcp::Message question = asked;
  if (auto text = question_for_client(shown_, at.server(), asked)) {
    auto renamed = mcp::Message::parse(std::move(*text), json::kDepthCeiling);
    if (renamed) question = std::move(*renamed);
  }
  const uint64_t number = session.next_question++;
  auto shown = mcp::Message::parse(mcp::with_id(question, shown_id(number)), json::kDepthCeiling);
  if (!shown) return std::nullopt;
  Question& kept = session.questions[number];
  kept.asked = at.weak_from_this();
  kept.server_id = std::string(asked.raw(Field::id));
  kept.bytes.set(kept.server_id.size());
  return std::move(*shown);
}

std::optional<mcp::Message> MemberSessions::shown_withdrawal(Session& session, const MemberSession& at,
                                                             const mcp::Message& cancelled) {
  if (!cancelled.has(Field::params_request_id)) return std::nullopt;
  const std::string wanted = mcp::canonical_id(cancelled.raw(Field::params_request_id));
  for (auto one = session.questions.begin(); one != session.questions.end(); ++one) {
    const bool is_its = one->second.asked.lock().get() == &at;
    if (!is_its || mcp::canonical_id(one->second.server_id) != wanted) continue;
    auto shown = mcp::Message::parse(mcp::with_request_id(cancelled, shown_id(one->first)));
    session.questions.erase(one);
    return shown ? std::optional(std::move(*shown)) : std::nullopt;
  }
  return std::nullopt;
}

void MemberSessions::withdraw_all(const MemberSession& at, std::string_view why) {
  Session* session = find(at.session());
  if (session == nullptr) return;
  std::vector<uint64_t> open;
  for (const auto& [number, question] : session->questions) {
    if (question.asked.lock().get() == &at) open.push_back(number);
  }
  for (uint64_t number : open) {
    session = find(at.session());
    if (session == nullptr || session->questions.erase(number) == 0) continue;
    auto message = mcp::Message::parse(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":{}}}}})",
        shown_id(number), json::quote(why)));
    if (message) session->owner.on_scope_message(std::move(*message), std::nullopt);
  }
}

// ---- from the client ----

void MemberSessions::forward(const core::Scope& scope, const mcp::Message& message,
                             const core::HeaderFields& headers) {
  Session* session = find(scope.affinity);
  if (session == nullptr) return;
  if (message.kind() == mcp::MessageKind::notification) {
    for (const auto& [name, at] : session->members)
      at->forward(message, scope.by, headers);
    return;
  }
  auto found = session->questions.find(number_of(message));
  if (found == session->questions.end()) return;
  auto answer = mcp::Message::parse(mcp::with_id(message, found->second.server_id), json::kDepthCeiling);
  auto asked = found->second.asked.lock();
  session->questions.erase(found);
  if (answer && asked) asked->forward(*answer);
}

}  // namespace lineward::aggregate
