#include "proxy/exchange/exchange_plugins.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/aggregate.h"
#include "protocol/http/header_list.h"
#include "protocol/mcp/client_capabilities.h"
#include "proxy/exchange/exchange_questions.h"
#include "proxy/plugin/client_facts.h"

namespace lineward::exchange {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::MessageKind;
using plugin::Verdict;

}  // namespace

ExchangePlugins::ExchangePlugins(Exchange& exchange, std::shared_ptr<plugin::PluginSet> set)
    : exchange_(exchange),
      chain_(std::move(set), [this] { moved(); }),
      queue_(chain_, *this, *this),
      begun_at_(exchange.record().read_at() != 0 ? exchange.record().read_at() : net::Loop::nanoseconds()),
      mirrors_(exchange.mirrors_itself_, exchange.from_->method, exchange.message_, exchange.headers_) {
  queue_.charge(exchange.from_->account);
}

std::unique_ptr<ExchangePlugins> ExchangePlugins::attach(Exchange& exchange,
                                                         const std::shared_ptr<plugin::PluginSet>& set) {
  if (!set || set->empty()) return nullptr;
  std::unique_ptr<ExchangePlugins> made(new ExchangePlugins(exchange, set));
  const std::string& server = exchange.from_->upstream;
  auto role = config::is_aggregate(server) ? plugin::ServerRole::aggregate : plugin::ServerRole::single;
  return made->chain_.attach(*made, server, role) ? std::move(made) : nullptr;
}

// ---- the request ----

bool ExchangePlugins::pass_request() {
  mcp::Message& message = exchange_.message_;
  if (!std::exchange(shown_, true)) note_params();
  switch (chain_.client_message(*this, message)) {
    case Verdict::wait: exchange_.clock_.plugins_decide(); return false;
    case Verdict::answered:
      if (!decided()) broke("took the request and gave no answer");
      return false;
    case Verdict::proceed: break;
  }
  bool same = message.kind() == MessageKind::request && message.method() == exchange_.from_->method_name &&
              message.raw(Field::id) == exchange_.from_->raw_id;
  if (!same) {
    broke("changed the request's id or method");
    return false;
  }
  drop_stale_mirrors();
  exchange_.clock_.plugins_decided();
  return true;
}

// A client's retry has the same parameters as its request, but plugins may change them differently: one may
// insert the time, or a reload may have replaced it.
void ExchangePlugins::note_params() {
  const core::ClientRequest& from = *exchange_.from_;
  const mcp::Message& message = exchange_.message_;
  if (from.era != mcp::Era::modern || !mcp::may_ask(from.method)) return;
  if (message.has(mcp::Field::params_request_state)) {
    asked_with_ = exchange_.owner_.park_table().digest_of(from.principal, from.upstream, message);
    return;
  }
  // The digest reads all of the parameters, so it is taken only if the call may be parked. The client must
  // accept input requests, and the server must not be known as modern: a modern server keeps its own state.
  const bool keeps_state =
      config::is_aggregate(from.upstream) || exchange_.lease_.upstream().era() != mcp::Era::modern;
  if (keeps_state && mcp::declares_any(from.capabilities)) asked_with_ = RequestStates::digest_of(message);
}

void ExchangePlugins::drop_stale_mirrors() {
  if (mirrors_.drop_stale(exchange_.message_, exchange_.headers_)) exchange_.mirrors_itself_ = false;
}

void ExchangePlugins::moved() {
  if (exchange_.ended()) return;
  if (exchange_.step_ == Exchange::Step::plugins) return exchange_.advance();
  queue_.pump();
  if (!exchange_.ended() && exchange_.questions_ && !has_waiting()) exchange_.questions_->all_heard();
}

void ExchangePlugins::broke(std::string_view what) {
  chain_.note(plugin::HookChain::Did::fail);
  exchange_.record_.judged(chain_.last());
  exchange_.fail(EndReason::internal, fmt::format("plugin {} {}", chain_.last(), what));
}

bool ExchangePlugins::decided() {
  if (refusal_ || answer_) exchange_.record_.judged(chain_.last());
  if (refusal_) {
    chain_.note(plugin::HookChain::Did::refuse);
    core::PolicyError refusal = std::move(*refusal_);
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
      exchange_.refuse(refusal.reason, refusal.code, refusal.text);
      return true;
    }
    exchange_.fail(
        refusal.reason, std::move(refusal.text),
        {.status = refusal_status(refusal.reason, *exchange_.from_, exchange_.owner_.legacy_status())});
    return true;
  }
  if (!answer_) return false;
  chain_.note(plugin::HookChain::Did::answer);
  exchange_.session_told_ = true;  // for an `initialize`: its session stays open
  exchange_.end(EndReason::ok, 0, "a plugin has answered",
                Exchange::Answer{fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})",
                                             exchange_.from_->raw_id, *answer_)});
  return true;
}

// ---- the server's messages ----

void ExchangePlugins::pause_server() {
  if (exchange_.call_) exchange_.call_->pause();
}

void ExchangePlugins::resume_server() {
  const bool held_for_client = exchange_.clock_.is_held();
  if (exchange_.call_ && !held_for_client) exchange_.call_->resume();
}

void ExchangePlugins::passed(mcp::Message message) {
  exchange_.received(std::move(message));
}

void ExchangePlugins::passed(const core::Failure& failure) {
  exchange_.failed(failure);
}

void ExchangePlugins::ended(EndReason reason, int code) {
  plugin::Ending ending;
  ending.reason = reason;
  ending.code = code;
  ending.status = exchange_.record().events() > 0 ? 200 : exchange_.status_;
  ending.text = exchange_.record().error_text();
  ending.took = std::chrono::microseconds((net::Loop::nanoseconds() - begun_at_) / 1000);
  ending.queued = exchange_.clock_.queued_for();
  if (auto took = exchange_.clock_.at_server()) ending.upstream = *took;
  ending.bytes_out = exchange_.reply_->bytes_out();
  ending.events = exchange_.record().events();
  ending.attempts = exchange_.record().attempts();
  ending.request_state = request_state_;
  chain_.end(*this, ending);
}

// ---- plugin::ExchangeView ----

plugin::RequestInfo ExchangePlugins::facts() const {
  plugin::RequestInfo facts = plugin::facts_of(*exchange_.from_);
  facts.upstream = exchange_.server_name();
  return facts;
}

std::string_view ExchangePlugins::header(std::string_view name) const {
  for (const auto& [field, value] : exchange_.from_->seen) {
    if (http::equals_ignoring_case(field, name)) return value;
  }
  return {};
}

void ExchangePlugins::set_upstream_header(std::string_view name, std::string value) {
  core::HeaderFields headers = exchange_.headers_;
  std::erase_if(headers, [&](const auto& field) { return http::equals_ignoring_case(field.first, name); });
  headers.emplace_back(std::string(name), std::move(value));
  exchange_.headers_ = std::move(headers);
}

void ExchangePlugins::add_reply_header(std::string_view name, std::string value) {
  if (!exchange_.ended()) exchange_.reply_->add_headers({{std::string(name), std::move(value)}});
}

void ExchangePlugins::refuse(core::PolicyError refusal) {
  if (!refusal_ && !answer_) refusal_ = std::move(refusal);
}

void ExchangePlugins::answer(std::string result) {
  if (!refusal_ && !answer_) answer_ = std::move(result);
}

}  // namespace lineward::exchange
