#include "proxy/upstream/bridge/bridge_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/config.h"
#include "foundation/base/check.h"
#include "foundation/json/json_member.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/legacy_server.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/bridge/bridge_session.h"

namespace lineward::upstream {
namespace {

using core::CallPhase;
using mcp::EndReason;
using mcp::Field;
using mcp::Method;

constexpr uint32_t kMaxRounds = 100;
constexpr size_t kMaxQuestions = 64;  // in one round
// The pause before a call is repeated if its answer had no questions.
constexpr std::chrono::milliseconds kPause{250};

}  // namespace

BridgeCall::BridgeCall(BridgeSession& session, core::UpstreamRequest request, core::CallCallbacks& owner)
    : OwnedCall(&owner),
      session_(session),
      serial_(session.joined(*this)),
      request_(std::move(request)),
      pause_(session.loop()) {
  answers_held_.charge(request_.account());
}

BridgeCall::~BridgeCall() {
  if (live()) cancel_alive(session_.inner().name());
}

void BridgeCall::later(std::function<void()> work) {
  session_.loop().defer(lifetime_, [this, work = std::move(work)] {
    if (live()) work();
  });
}

// Detaches the owner: the call cannot end again, whatever the withdrawal of its questions causes. The calling
// code, which has checked live(), makes the last callback to the returned owner.
core::CallCallbacks& BridgeCall::leave(std::string_view why) {
  core::CallCallbacks* owner = take_owner();
  LW_CHECK(owner != nullptr);
  pause_.stop();
  withdraw_questions(why);
  session_.left(*this);
  return *owner;
}

const std::string& BridgeCall::answering() const {
  return answers_ ? answers_->server->name : session_.inner().name();
}

void BridgeCall::retire_inner() {
  session_.loop().retire(std::move(inner_));
}

void BridgeCall::cancel(core::CancelCause why) {
  if (!live()) return;
  leave("the call it belongs to was cancelled");
  if (inner_ && inner_->live()) return inner_->cancel(why);
  metrics::upstream_stats(session_.inner().name())
      .cancel_settled(request_.tag, {});  // the server processes nothing of it
}

void BridgeCall::finish(json::Text text) {
  auto message = mcp::Message::parse(std::move(text));
  if (!message)
    return fail({EndReason::internal, "an answer could not be translated: " + message.error().text});
  if (live()) leave().on_call_message(std::move(*message));
}

void BridgeCall::fail(const core::Failure& failure) {
  if (!live()) return;
  core::CallCallbacks& owner = leave();
  if (inner_ && inner_->live()) inner_->cancel(failure.text);
  retire_inner();
  owner.on_call_failed(failure);
}

// ---- to the server ----

std::optional<core::Failure> BridgeCall::send(mcp::Message message, Method method, core::Scope scope,
                                              mcp::Era era) {
  core::UpstreamRequest request;
  request.message = std::move(message);
  request.method = method;
  request.client_era = era;
  request.scope = std::move(scope);
  request.http_status_visible = request_.http_status_visible;
  request.headers = request_.headers;
  request.tag = request_.tag;
  request.from = request_.from;
  request.bytes_in = request_.bytes_in;
  auto call = session_.inner().start(std::move(request), *this);
  if (!call) return call.error();
  inner_ = std::move(*call);
  return std::nullopt;
}

std::optional<core::Failure> BridgeCall::start_as_it_came() {
  step_ = Step::half_open_probe;
  auto copy = mcp::Message::parse(request_.message.bytes(), json::kDepthCeiling);
  if (!copy) return core::Failure{EndReason::internal, "this request could not be copied"};
  return send(std::move(*copy), request_.method, request_.scope, mcp::Era::legacy);
}

std::optional<core::Failure> BridgeCall::start_discover() {
  step_ = Step::discover;
  auto message = mcp::Message::parse(mcp::discover_for_client(session_.client()));
  if (!message) return core::Failure{EndReason::internal, "this request could not be translated"};
  return send(std::move(*message), Method::server_discover, session_.modern_scope(), mcp::Era::modern);
}

std::optional<core::Failure> BridgeCall::start_translated() {
  step_ = Step::translated;
  mcp::InputRetry retry;
  retry.state = state_;
  for (const auto& question : questions_)
    retry.responses.emplace_back(question.key, question.answer);
  auto message = mcp::Message::parse(
      mcp::legacy_message_for_modern(request_.message, session_.client(), &retry), json::kDepthCeiling);
  if (!message) {
    return core::Failure{EndReason::internal,
                         "this request could not be translated: " + message.error().text};
  }
  return send(std::move(*message), request_.method, session_.modern_scope(), mcp::Era::modern);
}

void BridgeCall::start_local() {
  later([this] { on_call_phase(CallPhase::written); });
}

void BridgeCall::on_call_phase(CallPhase phase) {
  if (!live() || written_) return;
  // Until an `initialize` is answered its server counts as starting, whatever was sent to it.
  if (phase == CallPhase::written && request_.method == Method::initialize) phase = CallPhase::starting;
  written_ = phase == CallPhase::written;
  if (written_) session_.sent_or_answered();
  owner_->on_call_phase(phase);
}

// ---- from the server ----

void BridgeCall::on_call_message(mcp::Message&& message) {
  if (!live()) return;
  if (!written_) session_.sent_or_answered();  // the answer may be cached
  from_server_ = inner_ && inner_->call_facts().is_from_server;
  const bool takes = step_ == Step::translated && from_server_ && message.kind() != mcp::MessageKind::error;
  if (takes && !std::exchange(taken_, true)) session_.taken_by_server(request_);
  switch (message.kind()) {
    case mcp::MessageKind::request: return ask_live(message);
    case mcp::MessageKind::notification:
      if (withdrawn(message)) return;
      return owner_->on_call_message(std::move(message));
    case mcp::MessageKind::result:
    case mcp::MessageKind::error: break;
  }
  bool has_session = !inner_ || inner_->call_facts().has_session;
  retire_inner();
  switch (step_) {
    case Step::half_open_probe: return served_as_it_came(std::move(message), has_session);
    case Step::discover: {
      if (served_) return compared(std::move(message));
      if (refused_after_all()) return;
      if (message.kind() == mcp::MessageKind::error) break;
      auto answer = session_.discovered(message);
      if (answer) return finish(std::move(*answer));
      return fail({EndReason::upstream_protocol,
                   fmt::format("{} names no version that the gateway speaks", session_.inner().name())});
    }
    case Step::translated:
      if (mcp::is_input_required(message)) return ask(message);
      if (!mcp::is_known_result(message, session_.client())) {
        return fail({EndReason::upstream_protocol,
                     fmt::format("{} sent a result of a type that this client does not know", answering())});
      }
      if (auto changed = session_.project(request_, message)) return finish(std::move(*changed));
      return leave().on_call_message(std::move(message));
    case Step::local: return;
  }
  leave().on_call_message(std::move(message));
}

void BridgeCall::on_call_failed(const core::Failure& failure) {
  if (!live()) return;
  retire_inner();
  if (step_ == Step::discover && served_) return served_as_it_is();
  if (step_ == Step::discover && refused_after_all()) return;
  const auto era = session_.inner().era();
  const bool refused = failure.reason == EndReason::upstream_protocol;
  if (step_ == Step::half_open_probe && era == mcp::Era::modern &&
      (refused || failure.reason == EndReason::upstream_exited)) {
    session_.learned_modern_only(false);
    return discover_instead(std::nullopt);
  }
  // With shared sessions Lineward sends `initialize` itself, perhaps before the server's era is known.
  if (step_ == Step::half_open_probe && !era && refused) {
    failure_ = failure;
    return discover_instead(std::nullopt);
  }
  leave().on_call_failed(failure);
}

// The client's own `initialize` was answered. A server that accepts it serves this client unchanged; a modern
// server that refuses it is bridged.
void BridgeCall::served_as_it_came(mcp::Message answer, bool has_session) {
  if (answer.kind() == mcp::MessageKind::result) {
    if (!has_session && session_.inner().era() != mcp::Era::legacy) return look_for_better(std::move(answer));
    session_.serves_itself(answer, has_session);
  } else {
    auto era = session_.inner().era();
    int code = mcp::error_code(answer);
    bool unknown = code == mcp::kMethodNotFound || code == mcp::kUnsupportedVersion;
    if (era == mcp::Era::modern) {
      session_.learned_modern_only(unknown);
      return discover_instead(std::nullopt);
    }
    if (!era && unknown) return discover_instead(std::move(answer));
  }
  leave().on_call_message(std::move(answer));
}

// It serves legacy clients one request at a time: no questions, no change notifications, no log level. If it
// is modern too, the bridge offers all of them.
void BridgeCall::look_for_better(mcp::Message answer) {
  step_ = Step::local;
  served_ = std::move(answer);
  later([this] {
    if (start_discover()) served_as_it_is();
  });
}

void BridgeCall::compared(mcp::Message discovered) {
  bool modern = session_.inner().era() == mcp::Era::modern && discovered.kind() == mcp::MessageKind::result;
  auto answer = modern ? session_.discovered(discovered) : std::nullopt;
  if (!answer) return served_as_it_is();
  served_.reset();
  session_.learned_modern_only(true);
  session_.begin_bridging();
  finish(std::move(*answer));
}

void BridgeCall::served_as_it_is() {
  auto answer = std::exchange(served_, std::nullopt);
  session_.serves_itself(*answer, false);
  leave().on_call_message(std::move(*answer));
}

// Deferred: the answering call is on the stack, and its process is about to end.
void BridgeCall::discover_instead(std::optional<mcp::Message> refusal) {
  step_ = Step::local;
  refusal_ = std::move(refusal);
  later([this] {
    session_.begin_bridging();
    if (auto failure = start_discover()) fail(*failure);
  });
}

// The era is known and not modern: the server's own refusal is the answer.
bool BridgeCall::refused_after_all() {
  if ((!refusal_ && !failure_) || session_.inner().era() == mcp::Era::modern) return false;
  if (failure_) {
    leave().on_call_failed(*failure_);
  } else {
    mcp::Message refusal = std::move(*refusal_);  // the owner may end this call during the callback
    leave().on_call_message(std::move(refusal));
  }
  return true;
}

// ---- questions of the server ----

void BridgeCall::ask(const mcp::Message& answer) {
  const std::string& name = answering();
  if (!mcp::may_ask(request_.method)) {
    return fail({EndReason::upstream_protocol, fmt::format("{} asked for input during {}, which may not ask",
                                                           name, request_.message.method())});
  }
  if (++rounds_ > kMaxRounds) {
    return fail({EndReason::upstream_protocol, fmt::format("{} asked for input {} times", name, kMaxRounds)});
  }
  mcp::InputRequired wanted = mcp::read_input_required(answer, kMaxQuestions);
  if (!wanted.fault.empty())
    return fail({EndReason::upstream_protocol, fmt::format("{} sent {}", name, wanted.fault)});
  state_ = std::move(wanted.state);
  questions_.clear();
  if (wanted.requests.empty()) return pause_.start(kPause, [this] { retry(); });
  std::vector<mcp::Message> messages;
  for (const auto& request : wanted.requests) {
    int64_t id = session_.new_question(*this);
    questions_.push_back({id, request.key, mcp::method_of(request.method), {}});
    auto question = mcp::Message::parse(mcp::question_for_legacy(request, id, session_.client().revision,
                                                                 session_.new_elicitation_id(request)),
                                        json::kDepthCeiling);
    if (!question)
      return fail({EndReason::upstream_protocol, fmt::format("{} sent a broken question", name)});
    messages.push_back(std::move(*question));
  }
  for (size_t at = 0; at < messages.size() && live(); ++at) {
    auto needed = mcp::capability_for(messages[at]);
    if (needed && !json::member(session_.client().capabilities, needed->name)) {
      // The specification forbids this question; this client would not understand it.
      session_.refuse_question(messages[at], needed->name);
    } else {
      session_.to_client(std::move(messages[at]), request_.tag);
    }
  }
}

// Modern servers send no requests: this is a legacy server behind an aggregate.
void BridgeCall::ask_live(const mcp::Message& question) {
  if (!inner_) return;
  auto needed = mcp::capability_for(question);
  bool may = needed && mcp::may_ask(request_.method) && live_questions_.size() < kMaxQuestions &&
             json::member(session_.client().capabilities, needed->name);
  if (!may) {
    inner_->reply(
        mcp::error_message(question.raw(Field::id), mcp::kMethodNotFound, "this client cannot be asked"));
    return;
  }
  int64_t id = session_.new_question(*this);
  live_questions_.push_back({id, std::string(question.raw(Field::id))});
  auto asked = mcp::Message::parse(mcp::with_id(question, std::to_string(id)), json::kDepthCeiling);
  if (asked) session_.to_client(std::move(*asked), request_.tag);
}

bool BridgeCall::withdrawn(const mcp::Message& cancelled) {
  if (live_questions_.empty() || mcp::method_of(cancelled.method()) != Method::cancelled) return false;
  std::string id = mcp::canonical_id(cancelled.raw(Field::params_request_id));
  auto open = std::find_if(live_questions_.begin(), live_questions_.end(),
                           [&](const auto& one) { return mcp::canonical_id(one.server_id) == id; });
  if (open == live_questions_.end()) return false;
  int64_t question = open->id;
  live_questions_.erase(open);
  session_.withdraw(question, cancelled.text(Field::params_reason), request_.tag);
  return true;
}

void BridgeCall::answered(int64_t id, const mcp::Message& answer) {
  auto asked = std::find_if(live_questions_.begin(), live_questions_.end(),
                            [&](const auto& one) { return one.id == id; });
  if (asked != live_questions_.end()) {
    std::string server_id = asked->server_id;
    live_questions_.erase(asked);
    if (inner_ && inner_->live()) inner_->reply(mcp::with_id(answer, server_id));
    return;
  }
  auto question =
      std::find_if(questions_.begin(), questions_.end(), [&](const auto& q) { return q.id == id; });
  if (question == questions_.end() || !question->answer.empty()) return;
  bool result = answer.kind() == mcp::MessageKind::result;
  answers_held_ += answer.bytes().size();
  if (result && answer.is_object(Field::result)) {
    question->answer = std::string(answer.raw(Field::result));
  } else if (question->method == Method::elicitation_create) {
    question->answer = R"({"action":"cancel"})";  // an error has no modern form
  } else {
    question->answer = "{}";
    failed_ = result ? R"({"code":-32603,"message":"the client's answer is no object"})"
                     : std::string(answer.raw(Field::error));
  }
  if (std::exchange(going_on_, true)) return;
  later([this] {
    going_on_ = false;
    go_on();
  });
}

void BridgeCall::go_on() {
  if (!failed_.empty()) {
    withdraw_questions("another question of this call could not be answered");
    return finish(fmt::format(R"({{"jsonrpc":"2.0","id":0,"error":{}}})", failed_));
  }
  bool open =
      std::any_of(questions_.begin(), questions_.end(), [](const auto& q) { return q.answer.empty(); });
  if (!open) retry();
}

void BridgeCall::retry() {
  written_ = false;  // it is queued like any other call
  auto failure = start_translated();
  questions_.clear();
  answers_held_ = 0;
  if (failure) fail(*failure);
}

void BridgeCall::withdraw_questions(std::string_view why) {
  std::vector<int64_t> open;
  for (const auto& question : questions_) {
    if (question.answer.empty()) open.push_back(question.id);
  }
  questions_.clear();
  answers_held_ = 0;
  for (const auto& question : live_questions_)
    open.push_back(question.id);
  live_questions_.clear();
  for (int64_t id : open)
    session_.withdraw(id, why, request_.tag);
}

}  // namespace lineward::upstream
