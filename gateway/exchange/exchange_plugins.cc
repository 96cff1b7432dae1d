#include "exchange/exchange_plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "http/header_list.h"
#include "mcp/errors.h"

namespace lineward::exchange {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::MessageKind;
using plugin::Verdict;

// What may wait for a plugin that takes its time. Before that the server is not read from, where that is
// possible.
constexpr size_t kMostWaiting = 1024;
constexpr size_t kMostWaitingBytes = 8 << 20;
constexpr size_t kHoldBack = 16;

bool is_mirror(const std::pair<std::string, std::string>& header) {
  constexpr std::string_view kParam = "Mcp-Param-";
  return http::equals_ignoring_case(std::string_view(header.first).substr(0, kParam.size()), kParam);
}

bool is_final(MessageKind kind) {
  return kind == MessageKind::result || kind == MessageKind::error;
}

}  // namespace

ExchangePlugins::ExchangePlugins(Exchange& exchange, std::shared_ptr<plugin::PluginSet> set)
    : exchange_(exchange), chain_(std::move(set), [this] { moved(); }) {
  const core::Arrival& arrival = exchange.arrival_;
  bool mirrored =
      arrival.mirrors_itself && std::any_of(arrival.headers.begin(), arrival.headers.end(), is_mirror);
  if (mirrored) mirrored_ = std::hash<std::string>{}(arrival.message.bytes());
}

std::unique_ptr<ExchangePlugins> ExchangePlugins::attach(Exchange& exchange,
                                                         std::shared_ptr<plugin::PluginSet> set) {
  if (!set || set->empty()) return nullptr;
  std::unique_ptr<ExchangePlugins> made(new ExchangePlugins(exchange, std::move(set)));
  return made->chain_.attach(*made, exchange.arrival_.upstream) ? std::move(made) : nullptr;
}

// ---- the request
// ------------------------------------------------------------------------------------------------------

bool ExchangePlugins::pass_request() {
  mcp::Message& message = exchange_.arrival_.message;
  switch (chain_.client_message(*this, message)) {
    case Verdict::wait: exchange_.set_clock(); return false;
    case Verdict::answered:
      if (!finish()) broke("took the request and gave no answer");
      return false;
    case Verdict::proceed: break;
  }
  bool same = message.kind() == MessageKind::request && message.method() == exchange_.method_ &&
              message.raw(Field::id) == exchange_.raw_id_;
  if (!same) {
    broke("changed the request's id or method");
    return false;
  }
  drop_stale_mirrors();
  exchange_.phase_since_ = exchange_.loop_.now();
  return true;
}

void ExchangePlugins::drop_stale_mirrors() {
  core::Arrival& arrival = exchange_.arrival_;
  if (mirrored_ == 0 || std::hash<std::string>{}(arrival.message.bytes()) == mirrored_) return;
  std::erase_if(arrival.headers, is_mirror);
  arrival.mirrors_itself = false;  // Lineward makes them anew
}

void ExchangePlugins::moved() {
  if (exchange_.ended()) return;
  if (exchange_.step_ == Exchange::Step::plugins) return exchange_.advance();
  pump();
}

void ExchangePlugins::broke(std::string_view what) {
  chain_.note(plugin::Chain::Did::fail);
  exchange_.fail(EndReason::internal, fmt::format("plugin {} {}", chain_.last(), what), -1, 200);
}

bool ExchangePlugins::finish() {
  if (refusal_) {
    chain_.note(plugin::Chain::Did::refuse);
    plugin::Refusal refusal = std::move(*refusal_);
    if (refusal.retry_after_ms >= 0) {
      exchange_.retry_after_ms_ = refusal.retry_after_ms;
      bool given = false;
      for (const auto& [name, value] : refusal.headers)
        given = given || http::equals_ignoring_case(name, "Retry-After");
      if (!given)
        refusal.headers.emplace_back("Retry-After", std::to_string((refusal.retry_after_ms + 999) / 1000));
    }
    exchange_.reply_->add_headers(refusal.headers);
    if (refusal.code != 0) {
      mcp::GatewayError error;
      error.reason = refusal.reason;
      error.upstream = exchange_.arrival_.upstream;
      error.call_id = exchange_.call_id_;
      exchange_.error_text_ = refusal.text.substr(0, 300);
      exchange_.cancel_call(refusal.reason, refusal.text);
      exchange_.reply_->finish(
          mcp::error_message(exchange_.raw_id_, refusal.code, refusal.text, mcp::gateway_data(error)), 200);
      exchange_.end(refusal.reason, refusal.code);
      return true;
    }
    exchange_.fail(refusal.reason, std::move(refusal.text), -1, refusal_status(refusal.reason));
    return true;
  }
  if (!answer_) return false;
  chain_.note(plugin::Chain::Did::answer);
  exchange_.cancel_call(EndReason::ok, "a plugin has answered");
  exchange_.reply_->finish(
      fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", exchange_.raw_id_, *answer_), 200);
  exchange_.end(EndReason::ok);
  return true;
}

// ---- the server's messages
// -------------------------------------------------------------------------------------------------

void ExchangePlugins::from_server(mcp::Message message) {
  waiting_bytes_ += message.bytes().size();
  waiting_.push_back(std::move(message));
  if (waiting_.size() > kMostWaiting || (waiting_.size() > 1 && waiting_bytes_ > kMostWaitingBytes)) {
    return broke(fmt::format("lets more than {} messages or {} MiB of the server wait", kMostWaiting,
                             kMostWaitingBytes >> 20));
  }
  if (waiting_.size() == kHoldBack && exchange_.call_) exchange_.call_->pause(true);
  if (waiting_.size() == 1) pump();
}

bool ExchangePlugins::holds_back(const core::Failure& failure) {
  if (waiting_.empty()) return false;
  failure_ = failure;
  return true;
}

void ExchangePlugins::pump() {
  while (!waiting_.empty()) {
    mcp::Message& message = waiting_.front();
    if (!std::exchange(begun_, true)) {
      expected_id_ = message.raw(Field::id);
      expected_kind_ = message.kind();
      waiting_bytes_ -= message.bytes().size();
    }
    Verdict verdict = chain_.upstream_message(*this, message);
    if (exchange_.ended() || verdict == Verdict::wait) return;
    begun_ = false;
    bool final = is_final(expected_kind_);
    mcp::Message passed = std::move(message);
    waiting_.pop_front();
    if (waiting_.size() < kHoldBack && exchange_.call_ && !exchange_.held_) exchange_.call_->pause(false);
    if (verdict == Verdict::answered) {
      if (finish()) return;
      if (final) return broke("took the server's answer and gave none");
      chain_.note(plugin::Chain::Did::drop);
      continue;
    }
    bool same = is_final(passed.kind()) == final && passed.raw(Field::id) == expected_id_ &&
                (final || passed.kind() == expected_kind_);
    if (!same) return broke("changed a message's id or kind");
    exchange_.received(std::move(passed));
    if (exchange_.ended()) return;
  }
  if (failure_) exchange_.failed(*std::exchange(failure_, std::nullopt));
}

void ExchangePlugins::ended(EndReason reason, int code) {
  plugin::Ending ending;
  ending.reason = reason;
  ending.code = code;
  ending.status = exchange_.events_ > 0 ? 200 : exchange_.status_;
  ending.text = exchange_.error_text_;
  ending.took = std::chrono::microseconds((net::Loop::nanoseconds() - exchange_.read_at_) / 1000);
  ending.queued = exchange_.queued_for_;
  if (exchange_.phase_ == core::CallPhase::written)
    ending.upstream = exchange_.loop_.now() - exchange_.written_at_;
  ending.bytes_out = exchange_.reply_->bytes_out();
  ending.events = exchange_.events_;
  chain_.end(*this, ending);
}

// ---- what plugins see
// ------------------------------------------------------------------------------------------------------

plugin::Facts ExchangePlugins::facts() const {
  const core::Arrival& arrival = exchange_.arrival_;
  plugin::Facts facts;
  facts.call_id = exchange_.call_id_;
  facts.upstream = arrival.upstream;
  facts.method_name = exchange_.method_;
  facts.method = arrival.method;
  facts.target = exchange_.target_;
  facts.era = arrival.era;
  facts.revision = arrival.revision;
  facts.session = arrival.session;
  facts.peer = arrival.peer;
  facts.raw_id = exchange_.raw_id_;
  facts.principal = arrival.principal;
  facts.caller = arrival.caller.get();
  facts.bytes_in = arrival.bytes_in;
  facts.on_stdio = arrival.on_stdio;
  return facts;
}

std::string_view ExchangePlugins::header(std::string_view name) const {
  for (const auto& [field, value] : exchange_.arrival_.seen) {
    if (http::equals_ignoring_case(field, name)) return value;
  }
  return {};
}

void ExchangePlugins::set_upstream_header(std::string_view name, std::string value) {
  core::HeaderFields& headers = exchange_.arrival_.headers;
  std::erase_if(headers, [&](const auto& field) { return http::equals_ignoring_case(field.first, name); });
  headers.emplace_back(std::string(name), std::move(value));
}

void ExchangePlugins::add_reply_header(std::string_view name, std::string value) {
  if (!exchange_.ended()) exchange_.reply_->add_headers({{std::string(name), std::move(value)}});
}

void ExchangePlugins::refuse(plugin::Refusal refusal) {
  if (!refusal_ && !answer_) refusal_ = std::move(refusal);
}

void ExchangePlugins::answer(std::string result) {
  if (!refusal_ && !answer_) answer_ = std::move(result);
}

}  // namespace lineward::exchange
