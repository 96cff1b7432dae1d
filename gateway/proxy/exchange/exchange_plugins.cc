#include <fmt/format.h>

#include <algorithm>

#include "config/aggregate.h"
#include "protocol/http/header_list.h"
#include "protocol/mcp/client_capabilities.h"
#include "proxy/core/tool_view.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/park_table.h"
#include "proxy/plugin/client_facts.h"

namespace lineward::exchange {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::MessageKind;
using plugin::Verdict;

}  // namespace

Exchange::Hooks::Hooks(Exchange& exchange, const std::shared_ptr<plugin::PluginSet>& set)
    : chain(set, [&exchange] { exchange.hook_moved(); }),
      queue(chain, exchange, exchange),
      begun_at(exchange.record_.read_at() != 0 ? exchange.record_.read_at() : net::Loop::nanoseconds()),
      mirrors(exchange.mirrors_itself_, exchange.from_->method, exchange.message_, exchange.headers_) {
  queue.charge(exchange.from_->account);
}

void Exchange::attach(const std::shared_ptr<plugin::PluginSet>& set) {
  if (!set || set->empty()) return;
  hooks_ = std::make_unique<Hooks>(*this, set);
  auto role =
      config::is_aggregate(from_->upstream) ? plugin::ServerRole::aggregate : plugin::ServerRole::single;
  if (!hooks_->chain.attach(*this, from_->upstream, role)) hooks_ = nullptr;
}

// ---- the request ----

bool Exchange::pass_request() {
  if (!std::exchange(hooks_->shown, true)) note_params();
  switch (hooks_->chain.client_message(*this, message_)) {
    case Verdict::wait: clock_.plugins_decide(); return false;
    case Verdict::answered:
      if (!decided()) broke("took the request and gave no answer");
      return false;
    case Verdict::proceed: break;
  }
  bool same = message_.kind() == MessageKind::request && message_.method() == from_->method_name &&
              message_.raw(Field::id) == from_->raw_id;
  if (!same) {
    broke("changed the request's id or method");
    return false;
  }
  // The client's headers that repeat a message which a plugin has changed.
  if (hooks_->mirrors.drop_stale(message_, headers_)) mirrors_itself_ = false;
  clock_.plugins_decided();
  return true;
}

// A client's retry has the same parameters as its request, but plugins may change them differently: one may
// insert the time, or a reload may have replaced it.
void Exchange::note_params() {
  const core::ClientRequest& from = *from_;
  if (from.era != mcp::Era::modern || !mcp::may_ask(from.method)) return;
  if (message_.has(mcp::Field::params_request_state)) {
    hooks_->asked_with = owner_.park_table().digest_of(from.principal, from.upstream, message_);
    return;
  }
  // The digest reads all of the parameters, so it is taken only if the call may be parked. The client must
  // accept input requests, and the server must not be known as modern: a modern server keeps its own state.
  const bool keeps_state = config::is_aggregate(from.upstream) || lease_.upstream().era() != mcp::Era::modern;
  if (keeps_state && mcp::declares_any(from.capabilities))
    hooks_->asked_with = RequestStates::digest_of(message_);
}

void Exchange::hook_moved() {
  if (ended()) return;
  if (step_ == Step::plugins) return advance();
  hooks_->queue.pump();
  if (!ended() && questions_ && !hook_holds_message() && !questions_->round.empty()) settle_questions();
}

void Exchange::broke(std::string_view what) {
  plugin::HookChain& chain = hooks_->chain;
  chain.note(plugin::HookChain::Did::fail);
  record_.judged(chain.last());
  fail(EndReason::internal, fmt::format("plugin {} {}", chain.last(), what));
}

bool Exchange::decided() {
  plugin::HookChain& chain = hooks_->chain;
  if (hooks_->refusal || hooks_->answer) record_.judged(chain.last());
  if (hooks_->refusal) {
    chain.note(plugin::HookChain::Did::refuse);
    core::PolicyError refusal = std::move(*hooks_->refusal);
    if (refusal.retry_after_ms >= 0) {
      retry_after_ms_ = refusal.retry_after_ms;
      bool given = false;
      for (const auto& [name, value] : refusal.headers)
        given = given || http::equals_ignoring_case(name, "Retry-After");
      if (!given)
        refusal.headers.emplace_back("Retry-After", std::to_string((refusal.retry_after_ms + 999) / 1000));
    }
    reply_->add_headers(refusal.headers);
    if (refusal.code != 0) {
      refuse(refusal.reason, refusal.code, refusal.text);
      return true;
    }
    fail(refusal.reason, std::move(refusal.text),
         {.status = refusal_status(refusal.reason, *from_, owner_.legacy_status())});
    return true;
  }
  if (!hooks_->answer) return false;
  chain.note(plugin::HookChain::Did::answer);
  session_told_ = true;  // for an `initialize`: its session stays open
  if (is_view_of_tools()) {
    auto list = mcp::Message::parse(fmt::format(R"({{"jsonrpc":"2.0","id":0,"result":{}}})", *hooks_->answer),
                                    json::kDepthCeiling);
    if (list) {
      core::show_tools(*server_, *list);
      hooks_->answer = std::string(list->raw(Field::result));
    }
  }
  end(EndReason::ok, 0, "a plugin has answered",
      Answer{fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", from_->raw_id, *hooks_->answer)});
  return true;
}

// ---- the server's messages ----

void Exchange::pause_server() {
  if (call_) call_->pause();
}

void Exchange::resume_server() {
  const bool held_for_client = clock_.is_held();
  if (call_ && !held_for_client) call_->resume();
}

void Exchange::end_hooks(EndReason reason, int code) {
  plugin::Ending ending;
  ending.reason = reason;
  ending.code = code;
  ending.status = record_.events() > 0 ? 200 : status_;
  ending.text = record_.error_text();
  ending.took = std::chrono::microseconds((net::Loop::nanoseconds() - hooks_->begun_at) / 1000);
  ending.queued = clock_.queued_for();
  if (auto took = clock_.at_server()) ending.upstream = *took;
  ending.bytes_out = reply_->bytes_out();
  ending.events = record_.events();
  ending.attempts = record_.attempts();
  ending.request_state = hooks_->request_state;
  hooks_->chain.end(*this, ending);
}

// ---- plugin::ExchangeView ----

plugin::RequestInfo Exchange::facts() const {
  plugin::RequestInfo facts = plugin::facts_of(*from_);
  facts.upstream = server_name();
  return facts;
}

std::string_view Exchange::header(std::string_view name) const {
  for (const auto& [field, value] : from_->seen) {
    if (http::equals_ignoring_case(field, name)) return value;
  }
  return {};
}

void Exchange::set_upstream_header(std::string_view name, std::string value) {
  core::HeaderFields headers = headers_;
  std::erase_if(headers, [&](const auto& field) { return http::equals_ignoring_case(field.first, name); });
  headers.emplace_back(std::string(name), std::move(value));
  headers_ = std::move(headers);
}

void Exchange::add_reply_header(std::string_view name, std::string value) {
  if (!ended()) reply_->add_header(name, std::move(value));
}

void Exchange::refuse(core::PolicyError refusal) {
  if (!hooks_->refusal && !hooks_->answer) hooks_->refusal = std::move(refusal);
}

void Exchange::answer(std::string result) {
  if (!hooks_->refusal && !hooks_->answer) hooks_->answer = std::move(result);
}

void Exchange::note_trace(std::string_view trace_id, std::string_view span_id, plugin::Sampled sampled) {
  hooks_->trace_id = trace_id;
  hooks_->span_id = span_id;
  hooks_->sampled = sampled;
}

}  // namespace lineward::exchange
