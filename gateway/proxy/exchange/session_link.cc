#include "proxy/exchange/session_link.h"

#include <fmt/format.h>

#include <charconv>

#include "foundation/json/json_scan.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::exchange {
namespace {

using mcp::Field;
using mcp::Method;

constexpr size_t kMaxQuestions = 256;
constexpr size_t kMaxTasks = 256;  // with progress still forwarded
// Prefix of request ids in sessions that other replicas may serve too.
constexpr std::string_view kShared = "lw";

// Upper bound for an id sent back by a client, however it is escaped.
constexpr size_t kMaxShown = 6 * (mcp::kMaxIdBytes + 32);

// The number written with exactly these digits; −1: none.
int64_t number_of(std::string_view digits) {
  int64_t number = 0;
  const char* end = digits.data() + digits.size();
  auto [at, wrong] = std::from_chars(digits.data(), end, number);
  return wrong == std::errc() && at == end ? number : -1;
}

// The number of the server request that this answers, −1: none; and the server's own id for it, if the shown
// id contains it.
std::pair<int64_t, std::string> read_shown(const mcp::Message& answer) {
  if (answer.has(Field::id) && answer.raw(Field::id).size() > kMaxShown) return {-1, {}};
  std::string canonical = answer.has(Field::id) ? mcp::canonical_id(answer.raw(Field::id)) : std::string();
  std::string_view text = canonical;
  if (text.substr(0, 2) == "n:") return {number_of(text.substr(2)), {}};
  if (!answer.is_string(Field::id)) return {-1, {}};
  std::string named = answer.text(Field::id);
  text = named;
  // The number alone, as a string.
  if (const int64_t id = number_of(text); id >= 0 && text == std::to_string(id)) return {id, {}};
  size_t colon = text.find(':');
  if (text.substr(0, kShared.size()) != kShared || colon == std::string_view::npos) return {-1, {}};
  const int64_t id = number_of(text.substr(kShared.size(), colon - kShared.size()));
  std::string server_id(text.substr(colon + 1));
  if (id < 0 || json::validate(server_id) != json::Fault::none) return {-1, {}};
  return {id, std::move(server_id)};
}

}  // namespace

bool SessionLink::is_shared() {
  client::Session* session = finder_.session(scope_.session);
  return session != nullptr && session->shared() != nullptr;
}

// In a shared session another replica may receive the answer; it finds the server's id in the shown id.
std::string SessionLink::shown_id(int64_t id, std::string_view server_id) {
  if (!is_shared()) return std::to_string(id);
  return json::quote(fmt::format("{}{}:{}", kShared, id, server_id));
}

// Selects the stream for a message. First the call it must belong to; then a GET stream (null here). Else the
// newest written call that allows server requests: all calls of a session are from one client.
Exchange* SessionLink::stream_for(std::optional<uint64_t> only_call) {
  if (only_call) {
    core::ExchangeId id{static_cast<uint32_t>(*only_call & 0xffffffffu),
                        static_cast<uint32_t>(*only_call >> 32)};
    Exchange* exchange = finder_.find(id);
    if (exchange != nullptr && mcp::may_ask(exchange->from().method)) return exchange;
  }
  client::Session* session = finder_.session(scope_.session);
  if (session == nullptr || session->has_stream()) return nullptr;
  return finder_.newest_to_ask(scope_.session);
}

void SessionLink::on_scope_message(mcp::Message message, std::optional<uint64_t> only_call) {
  if (auto why = finder_.judge(scope_, message)) {
    if (message.kind() == mcp::MessageKind::request) refuse(message.raw(Field::id), *why);
    return;
  }
  if (mcp::method_of(message.method()) == Method::progress) return task_progress(message);
  Exchange* exchange = stream_for(only_call);
  if (message.kind() == mcp::MessageKind::request) return question(std::move(message), exchange);
  if (mcp::method_of(message.method()) == Method::cancelled) return withdrawn(message);
  // List changes and updates concern the session, not a running call.
  bool about_session = mcp::method_of(message.method()) != Method::message &&
                       mcp::method_of(message.method()) != Method::other;
  client::Session* session = finder_.session(scope_.session);
  if (session == nullptr) return;
  if (about_session && session->to_stream(message.bytes())) return;
  if (exchange != nullptr && exchange->send(message.bytes())) return;
  to_session(message.bytes());
}

void SessionLink::to_session(const std::string& message) {
  client::Session* session = finder_.session(scope_.session);
  if (session == nullptr || session->to_stream(message)) return;
  keep(*session, message, 0);
}

void SessionLink::keep(client::Session& session, std::string message, int64_t question) {
  client::Session::Dropped dropped = session.keep_for_stream(std::move(message), question);
  for (size_t i = 0; i < dropped.messages; ++i) {
    // A server may do this often for a client without a stream: log at powers of two.
    ++dropped_;
    if ((dropped_ & (dropped_ - 1)) != 0) continue;
    log::write(log::Level::info, "session.dropped",
               {{"session", scope_.session.substr(0, 8)},
                {"kind", "backlog"},
                {"so_far", static_cast<int64_t>(dropped_)}});
  }
  for (int64_t id : dropped.questions)
    cancel_question(id, {}, "too much waits for this client, which opens no stream");
}

void SessionLink::task_started(std::string_view token, const std::string& client_token) {
  if (task_tokens_.size() >= kMaxTasks) task_tokens_.pop_front();
  task_tokens_.emplace_back(token, shared_text(client_token, nullptr, Held::sessions));
}

void SessionLink::task_progress(const mcp::Message& progress) {
  const std::string_view raw = progress.raw(Field::params_progress_token);
  const std::string token = mcp::canonical_id(raw);
  for (const auto& [ours, clients] : task_tokens_) {
    // A number of Lineward's, which a server may send back as a string.
    const std::string known = mcp::canonical_id(ours);
    if (known == token || (raw.starts_with('"') && known.substr(2) == token.substr(2)))
      return to_session(mcp::progress_for_client(progress, clients->text()));
  }
  log::write(log::Level::info, "session.dropped",
             {{"session", scope_.session.substr(0, 8)}, {"kind", "unknown_token"}});
}

void SessionLink::question(mcp::Message message, Exchange* on) {
  if (questions_.size() >= kMaxQuestions && !drop_orphan()) {
    return refuse(message.raw(Field::id),
                  fmt::format("{} questions of this session are open already", kMaxQuestions));
  }
  client::Session* session = finder_.session(scope_.session);
  if (session == nullptr) return refuse(message.raw(Field::id), "this session is over");
  int64_t id = next_id_++;
  std::string ours = mcp::with_id(message, shown_id(id, message.raw(Field::id)));
  Question& question = questions_[id];
  question.server_id = shared_text(std::string(message.raw(Field::id)), nullptr, Held::sessions);
  question.canonical = shared_text(mcp::canonical_id(message.raw(Field::id)), nullptr, Held::sessions);
  if (on != nullptr && on->ask(ours)) {
    question.on = on->id();
    question.waiting.push_back(on->id());
    return;
  }
  // The call that caused it is unknown: the clocks of all possible ones stop.
  for (Exchange* exchange : finder_.of_session(scope_.session)) {
    if (!exchange->may_have_asked() || exchange->ended()) continue;
    exchange->asked();
    question.waiting.push_back(exchange->id());
  }
  if (!session->to_stream(ours)) keep(*session, std::move(ours), id);
}

void SessionLink::closed(const Question& question) {
  for (core::ExchangeId id : question.waiting) {
    if (Exchange* exchange = finder_.find(id)) exchange->answered();
  }
}

void SessionLink::take_back(int64_t id, const Question& question, const std::string& message) {
  client::Session* session = finder_.session(scope_.session);
  if (session != nullptr && session->take_back(id)) return;
  Exchange* exchange = question.on ? finder_.find(question.on) : nullptr;
  if (exchange != nullptr && exchange->send(message)) return;
  to_session(message);
}

void SessionLink::send_cancel(int64_t id, const Question& question, std::string_view reason) {
  take_back(
      id, question,
      fmt::format(
          R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":{}}}}})",
          shown_id(id, question.server_id->text()), json::quote(reason)));
}

void SessionLink::cancel_question(int64_t id, std::string_view client_why, std::string_view server_why) {
  auto found = questions_.find(id);
  if (found == questions_.end()) return;
  Question question = std::move(found->second);
  questions_.erase(found);
  if (!client_why.empty()) send_cancel(id, question, client_why);
  refuse(question.server_id->text(), server_why);
  closed(question);
}

void SessionLink::exchange_ending(core::ExchangeId id, bool server_finished) {
  // A server may finish a call and still await an answer: such requests stay open.
  if (server_finished || questions_.empty()) return;
  std::vector<int64_t> over;
  for (const auto& [number, question] : questions_) {
    bool its = false, others = false;
    for (core::ExchangeId waiting : question.waiting) {
      its = its || waiting == id;
      others = others || (!(waiting == id) && finder_.find(waiting) != nullptr);
    }
    if (its && !others) over.push_back(number);
  }
  for (int64_t number : over)
    cancel_question(number, "the call it belongs to has ended", "the call it belongs to is over");
}

// Makes room by giving up the oldest request with no live call; false if there is none.
bool SessionLink::drop_orphan() {
  for (const auto& [number, question] : questions_) {
    bool waited_for = false;
    for (core::ExchangeId id : question.waiting)
      waited_for = waited_for || finder_.find(id) != nullptr;
    if (waited_for) continue;
    cancel_question(number, "too many questions are open", "the client did not answer this question in time");
    return true;
  }
  return false;
}

void SessionLink::refuse(std::string_view server_id, std::string_view why) {
  auto refusal = mcp::Message::parse(mcp::error_message(server_id, -32603, why));
  if (refusal) upstream_.send(scope_, mcp::Era::legacy, *refusal, {});
}

std::optional<SessionLink::Question> SessionLink::take_answered(int64_t id, std::string_view server_id) {
  auto found = questions_.find(id);
  if (found == questions_.end()) return {};
  if (!server_id.empty() && found->second.server_id->text() != server_id) return {};
  std::optional<Question> question = std::move(found->second);
  questions_.erase(found);
  return question;
}

bool SessionLink::answer(const mcp::Message& answer) {
  const auto [id, server_id] = read_shown(answer);
  const std::optional<Question> question = take_answered(id, server_id);
  // Sent through another replica: only the server knows whether it still waits.
  const bool elsewhere = !question && !server_id.empty() && is_shared();
  if (!question && !elsewhere) {
    log::write(log::Level::info, "session.dropped",
               {{"session", scope_.session.substr(0, 8)}, {"kind", "unknown_answer"}});
    return false;
  }
  auto theirs = mcp::Message::parse(
      mcp::with_id(answer, question ? question->server_id->text() : std::string_view(server_id)));
  if (theirs) upstream_.send(scope_, mcp::Era::legacy, *theirs, {});
  if (question) closed(*question);
  return elsewhere && theirs.has_value();
}

void SessionLink::answered_elsewhere(const mcp::Message& answer) {
  const auto [id, server_id] = read_shown(answer);
  if (auto question = take_answered(id, server_id)) closed(*question);
}

// The server cancels a request: the cancel is sent to the client with the shown id.
void SessionLink::withdrawn(const mcp::Message& cancelled) {
  std::string wanted = cancelled.has(Field::params_request_id)
                           ? mcp::canonical_id(cancelled.raw(Field::params_request_id))
                           : "";
  for (auto entry = questions_.begin(); entry != questions_.end(); ++entry) {
    if (entry->second.canonical->text() != wanted) continue;
    std::string message =
        mcp::with_request_id(cancelled, shown_id(entry->first, entry->second.server_id->text()));
    Question question = std::move(entry->second);
    int64_t id = entry->first;
    questions_.erase(entry);
    take_back(id, question, message);
    return closed(question);
  }
}

bool SessionLink::is_pinned() const {
  client::Session* session = finder_.session(scope_.session);
  return session != nullptr && !session->forsaken;
}

std::optional<std::chrono::milliseconds> SessionLink::unused_for() const {
  const client::Session* session = finder_.session(scope_.session);
  return session == nullptr || !questions_.empty() ? std::nullopt : session->unused_for();
}

std::optional<std::chrono::milliseconds> SessionLink::abandoned_for() const {
  const client::Session* session = finder_.session(scope_.session);
  return session == nullptr || !questions_.empty() ? std::nullopt : session->abandoned_for();
}

void SessionLink::on_scope_reset() {
  task_tokens_.clear();  // a new process reuses them for other calls
  auto lost = std::move(questions_);
  questions_.clear();
  for (const auto& [id, question] : lost) {
    send_cancel(id, question, "the server's process ended");
    closed(question);
  }
}

}  // namespace lineward::exchange
