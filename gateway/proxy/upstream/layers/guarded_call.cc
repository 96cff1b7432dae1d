#include "proxy/upstream/layers/guarded_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/mcp/errors.h"
#include "proxy/core/gate.h"
#include "proxy/metrics/stats.h"
#include "proxy/plugin/client_facts.h"

namespace lineward::plugin {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::MessageKind;

core::ClientRequestPtr origin_of(const core::UpstreamRequest& request) {
  return request.from ? request.from : std::make_shared<const core::ClientRequest>();
}

}  // namespace

GuardedCall::GuardedCall(net::Loop& loop, core::Upstream& inner, std::shared_ptr<PluginSet> plugins,
                         core::UpstreamRequest request)
    : PassingCall(std::move(request), nullptr),
      loop_(loop),
      upstream_(inner),
      from_(origin_of(request_)),
      method_(request_.message.method()),
      target_(core::target_of(request_.message)),
      revision_(request_.message.text(Field::meta_protocol_version)),
      raw_id_(request_.message.raw(Field::id)),
      principal_(request_.scope.principal),
      bytes_(request_.message.bytes().size()),
      mirrors_(request_.sends_param_headers, request_.method, request_.message, request_.headers),
      chain_(std::move(plugins), [this] { moved(); }),
      queue_(chain_, *this, *this) {
  queue_.charge(request_.account());
}

GuardedCall::~GuardedCall() {
  if (live()) cancel_alive(upstream_.name());
}

// ---- the request ----

void GuardedCall::begin(core::CallCallbacks& owner) {
  owner_ = &owner;
  begun_at_ = net::Loop::nanoseconds();
  beginning_ = true;
  ask();
  beginning_ = false;
}

void GuardedCall::ask() {
  switch (chain_.client_message(*this, request_.message)) {
    case Verdict::wait: return;
    case Verdict::answered:
      if (!decided()) broke("took the request and gave no answer");
      return;
    case Verdict::proceed: break;
  }
  const mcp::Message& message = request_.message;
  bool same = message.kind() == MessageKind::request && message.method() == method_ &&
              message.raw(Field::id) == raw_id_;
  if (!same) return broke("changed the request's id or method");
  if (mirrors_.drop_stale(message, request_.headers)) request_.sends_param_headers = false;
  send();
}

void GuardedCall::moved() {
  if (!live()) return;
  sent_ ? queue_.pump() : ask();
}

void GuardedCall::send() {
  sent_ = true;
  auto call = upstream_.start(std::move(request_), *this);
  if (!call) return passed(call.error());
  inner_ = std::move(*call);
}

// ---- end ----

core::CallCallbacks* GuardedCall::leave(EndReason reason, int code, std::string_view text) {
  Ending ending;
  ending.reason = reason;
  ending.code = code;
  ending.text = text;
  ending.took = std::chrono::microseconds((net::Loop::nanoseconds() - begun_at_) / 1000);
  if (written_at_.count() >= 0) ending.upstream = loop_.now() - written_at_;
  ending.bytes_out = bytes_out_;
  ending.events = events_;
  ending.attempts = attempts_;
  chain_.end(*this, ending);
  return take_owner();
}

void GuardedCall::finish(mcp::Message message, EndReason reason, int code) {
  if (!beginning_) return leave(reason, code, {})->on_call_message(std::move(message));
  auto kept = std::make_shared<mcp::Message>(std::move(message));
  loop_.defer(lifetime_, [this, kept, reason, code] {
    if (live()) finish(std::move(*kept), reason, code);
  });
}

void GuardedCall::fail(core::Failure failure) {
  if (beginning_) {
    loop_.defer(lifetime_, [this, failure] {
      if (live()) fail(failure);
    });
    return;
  }
  cancel_inner(failure.text);
  leave(failure.reason, failure.code, failure.text)->on_call_failed(failure);
}

void GuardedCall::broke(std::string_view what) {
  chain_.note(HookChain::Did::fail);
  fail({EndReason::internal, fmt::format("plugin {} {}", chain_.last(), what)});
}

bool GuardedCall::decided() {
  if (refusal_) {
    chain_.note(HookChain::Did::refuse);
    core::Failure failure{refusal_->reason, std::move(refusal_->text)};
    failure.headers = std::move(reply_headers_);
    failure.headers.insert(failure.headers.end(), refusal_->headers.begin(), refusal_->headers.end());
    failure.retry_after_ms = refusal_->retry_after_ms;
    bool given = std::any_of(failure.headers.begin(), failure.headers.end(), [](const auto& header) {
      return http::equals_ignoring_case(header.first, "Retry-After");
    });
    if (failure.retry_after_ms >= 0 && !given)
      failure.headers.emplace_back("Retry-After", std::to_string((failure.retry_after_ms + 999) / 1000));
    failure.code = refusal_->code;
    failure.by_policy = true;
    failure.policy = chain_.last();
    failure.refused_parts = std::move(refusal_->parts);
    fail(std::move(failure));
    return true;
  }
  if (!answer_) return false;
  chain_.note(HookChain::Did::answer);
  if (inner_ && inner_->live()) inner_->cancel("a plugin has answered");
  auto message = mcp::Message::parse(fmt::format(R"({{"jsonrpc":"2.0","id":0,"result":{}}})", *answer_),
                                     json::kDepthCeiling);
  if (!message) {
    broke("gave an answer that is no result");
  } else {
    finish(std::move(*message), EndReason::ok, 0);
  }
  return true;
}

// ---- from the caller ----

void GuardedCall::cancel(core::CancelCause why) {
  if (!live()) return;
  const uint64_t tag = request_.tag;
  std::string told(why.text);  // a client's own text is forwarded to the server
  chain_.failure_text(told);
  leave(why.reason, mcp::row(why.reason).code, why.text);
  if (cancel_inner({told, why.reason})) return;
  metrics::upstream_stats(upstream_.name()).cancel_settled(tag, {});
}

// A client's answer to a legacy server's question.
void GuardedCall::reply(std::string message) {
  if (!inner_ || !inner_->live()) return;
  if (auto answer = mcp::Message::parse(std::move(message), json::kDepthCeiling)) {
    chain_.client_answer(*this, *answer);
    inner_->reply(answer->bytes());
  }
}

// Pauses the server while the caller or a plugin requires it.
bool GuardedCall::hold_server() {
  return inner_ && inner_->live() && inner_->hold(paused_ || holding_);
}

// After a refused pause the caller does not resume.
bool GuardedCall::hold(bool on) {
  paused_ = on;
  const bool done = hold_server();
  paused_ = on && done;
  return done;
}

void GuardedCall::pause_server() {
  holding_ = true;
  hold_server();
}

void GuardedCall::resume_server() {
  holding_ = false;
  hold_server();
}

void GuardedCall::hand_over(core::CallCallbacks& owner, core::Handover how) {
  paused_ = false;  // the new owner has not paused it
  PassingCall::hand_over(owner, how);
  if (live()) hold_server();
}

void GuardedCall::retried(mcp::Message request) {
  if (inner_ && inner_->live()) inner_->retried(std::move(request));
}

// ---- from the server ----

void GuardedCall::on_call_phase(core::CallPhase phase) {
  if (phase == core::CallPhase::written && written_at_.count() < 0) written_at_ = loop_.now();
  if (live()) owner_->on_call_phase(phase);
}

void GuardedCall::on_call_failed(const core::Failure& failure) {
  if (!live() || queue_.holds_back(failure)) return;
  passed(failure);
}

void GuardedCall::passed(const core::Failure& failure) {
  core::Failure told = failure;
  chain_.failure_text(told.text);
  fail(std::move(told));
}

void GuardedCall::passed(mcp::Message message) {
  if (!live()) return;
  bytes_out_ += message.bytes().size();
  switch (message.kind()) {
    case MessageKind::result: {
      EndReason reason = message.raw(Field::result_is_error) == "true"          ? EndReason::tool_error
                         : message.text(Field::result_type) == "input_required" ? EndReason::input_required
                                                                                : EndReason::ok;
      return finish(std::move(message), reason, 0);
    }
    case MessageKind::error: {
      int code = mcp::error_code(message);
      return finish(std::move(message), EndReason::rpc_error, code);
    }
    default: ++events_; return owner_->on_call_message(std::move(message));
  }
}

// ---- the view of the plugins ----

RequestInfo GuardedCall::facts() const {
  RequestInfo facts = facts_of(*from_);
  facts.upstream = upstream_.name();
  facts.method_name = method_;
  facts.method = request_.method;
  facts.target = target_;
  facts.era = mcp::Era::modern;
  facts.revision = revision_;
  facts.principal = principal_;
  facts.bytes_in = bytes_;
  return facts;
}

std::string_view GuardedCall::header(std::string_view name) const {
  for (const auto& [field, value] : from_->seen) {
    if (http::equals_ignoring_case(field, name)) return value;
  }
  return {};
}

void GuardedCall::set_upstream_header(std::string_view name, std::string value) {
  core::HeaderFields headers = request_.headers;
  std::erase_if(headers, [&](const auto& field) { return http::equals_ignoring_case(field.first, name); });
  headers.emplace_back(std::string(name), std::move(value));
  request_.headers = std::move(headers);
}

void GuardedCall::add_reply_header(std::string_view name, std::string value) {
  reply_headers_.emplace_back(std::string(name), std::move(value));
}

void GuardedCall::refuse(core::PolicyError refusal) {
  if (!refusal_ && !answer_) refusal_ = std::move(refusal);
}

void GuardedCall::answer(std::string result) {
  if (!refusal_ && !answer_) answer_ = std::move(result);
}

}  // namespace lineward::plugin
