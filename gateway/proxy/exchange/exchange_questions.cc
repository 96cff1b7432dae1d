#include "proxy/exchange/exchange_questions.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/aggregate.h"
#include "foundation/json/json_member.h"
#include "foundation/log/redaction.h"
#include "protocol/mcp/client_capabilities.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/legacy_server.h"
#include "proxy/core/request_size.h"
#include "proxy/exchange/exchange_plugins.h"

namespace lineward::exchange {

using mcp::EndReason;
using mcp::Field;

namespace {

// Whether it is an object of objects.
bool is_input_responses(std::string_view raw) {
  bool objects = true;
  bool object = json::for_each_member(
      raw, [&](const std::string&, std::string_view value) { objects = objects && value.front() == '{'; });
  return object && objects;
}

// Plugin rules on the tool have allowed the first caller: a caller with fewer scopes must not use that.
bool has_scopes_of(const core::CallerPtr& first, const core::CallerPtr& now) {
  return !first || std::all_of(first->scopes.begin(), first->scopes.end(),
                               [&](const std::string& scope) { return now && now->may(scope); });
}

}  // namespace

ExchangeQuestions::ExchangeQuestions(Exchange& exchange) : exchange_(exchange), settle_(exchange.loop_) {}

AskedWith ExchangeQuestions::asked_with(const Exchange& exchange, const mcp::Message& request) {
  return {request, exchange.plugins_ ? exchange.plugins_->asked_with() : std::string_view()};
}

// A client cannot answer requests for capabilities it did not declare: it gets an error that names the
// missing one.
void ExchangeQuestions::ask(const mcp::Message& message) {
  const core::ClientRequest& from = exchange_.from();
  auto needed = mcp::capability_for(message);
  const bool modern = from.era == mcp::Era::modern && mcp::may_ask(from.method);
  if (modern && mcp::declares(from.capabilities, message)) {
    if (round_.add(message)) return settle();
    return exchange_.call_->reply(
        mcp::error_message(message.raw(Field::id), mcp::kInternalError,
                           fmt::format("{} questions of this call are open", kMaxOpenQuestions)));
  }
  exchange_.call_->reply(
      mcp::error_message(message.raw(Field::id), mcp::kMethodNotFound, "this client cannot be asked"));
  if (!needed || !modern || exchange_.ended()) return;
  exchange_.end(EndReason::rpc_error, mcp::kMissingClientCapability,
                "the client lacks the capability " + needed->name,
                Exchange::Answer{mcp::missing_capability(from.raw_id, *needed), 400});
}

// Collects independent requests for a moment (timeouts.questionBatch): they go to the client as one result.
void ExchangeQuestions::settle() {
  if (!settle_.running()) settle_.start(exchange_.clock_.limits().question_batch, [this] { park(); });
}

void ExchangeQuestions::park() {
  if (exchange_.ended() || round_.empty()) return;  // withdrawn meanwhile
  // A message held by a plugin belongs to this round, or is the answer: all_heard() follows after it.
  if (exchange_.plugins_ && exchange_.plugins_->has_waiting()) return;
  if (exchange_.call_->call_facts().has_answer) return;
  if (auto lost = exchange_.reply_->lost()) return exchange_.client_gone(*lost);  // it would never retry
  const bool asks_anew = round_.has_new();
  if (!asks_anew && repeats_ >= kMaxRepeats) {
    return refuse_retry(
        exchange_, "unanswered",
        fmt::format("{} questions of this call were asked {} times again and are not answered", round_.size(),
                    kMaxRepeats));
  }
  if (asks_anew && rounds_ >= kMaxRounds) {
    return exchange_.fail(EndReason::upstream_protocol, fmt::format("{} asked in more than {} rounds",
                                                                    exchange_.server_name(), kMaxRounds));
  }
  ParkedCall parked;
  parked.call = std::move(exchange_.call_);
  round_.shown();
  parked.questions = std::move(round_);
  parked.rounds = asks_anew ? rounds_ + 1 : rounds_;
  parked.repeats = asks_anew ? 0 : repeats_ + 1;
  parked.spent = exchange_.clock_.spent();
  parked.from = exchange_.from_;
  parked.tag = exchange_.tag_;
  parked.lease = exchange_.lease_;
  parked.routed = exchange_.routed_;
  parked.asked_with = asked_with_;
  if (exchange_.plugins_ && asked_with_.empty()) parked.asked_with = exchange_.plugins_->asked_with();
  parked.stats = &exchange_.record().stats_or(exchange_.from().upstream);
  ParkTable& table = exchange_.owner_.park_table();
  if (auto refusal = table.refuses(*exchange_.server_, parked)) {
    exchange_.call_ = std::move(parked.call);
    return exchange_.fail(refusal->reason, refusal->text);
  }
  auto requests = parked.questions.requests();
  std::string info(parked.call->call_facts().server_info);
  std::string state = table.park(std::move(parked), *exchange_.server_, exchange_.clock_.limits().park);
  if (exchange_.plugins_) exchange_.plugins_->comes_back_with(state);
  exchange_.end(EndReason::input_required, 0, {},
                Exchange::Answer{mcp::input_required_answer(exchange_.from().raw_id, requests, state, info)});
}

// Whether this is a retry of a parked call. A modern server makes its own state. While the era is unknown,
// the upstream refuses a retry.
bool ExchangeQuestions::is_retry(const Exchange& exchange) {
  const core::ClientRequest& from = exchange.from();
  const mcp::Message& message = exchange.message_;
  if (from.era != mcp::Era::modern || !mcp::may_ask(from.method) || !message.has(Field::params_request_state))
    return false;
  // After a reload the new server version may have another era, or an unknown one.
  return exchange.lease_.upstream().era() == mcp::Era::legacy ||
         exchange.owner_.park_table().made(message.text(Field::params_request_state), from.principal,
                                           from.upstream, asked_with(exchange, message));
}

void ExchangeQuestions::resume() {
  const core::ClientRequest& from = exchange_.from();
  mcp::Message retry = std::move(exchange_.message_);
  if (retry.has(Field::params_input_responses) &&
      !is_input_responses(retry.raw(Field::params_input_responses)))
    return refuse_retry(exchange_, "malformed", "inputResponses is not an object of results");
  if (refused_at_aggregate(retry)) return;
  auto taken = exchange_.owner_.park_table().take(retry.text(Field::params_request_state), from.principal,
                                                  from.upstream, asked_with(exchange_, retry));
  if (!taken) {
    const std::string& server = taken.error().server;
    if (!server.empty() && server != from.upstream) {
      exchange_.lost_with_ = server;
      exchange_.record_.count_for(metrics::upstream_stats(server));
    }
    return refuse_retry(exchange_, name(taken.error().fault), taken.error().text);
  }
  exchange_.step_ = Exchange::Step::await_upstream;
  if (taken->routed) {
    exchange_.use_routed(taken->routed);
    exchange_.choose_limits();
  }
  exchange_.clock_.go_on(taken->spent);  // written, even if the server has answered meanwhile
  // The call stays with its server version, even after a reload, and so does its answer.
  exchange_.lease_ = std::move(taken->lease);
  if (!exchange_.routed_) exchange_.server_ = &exchange_.lease_->config;
  exchange_.call_ = std::move(taken->call);
  exchange_.tag_ = taken->tag;
  if (taken->answer) return exchange_.on_call_message(std::move(*taken->answer));
  exchange_.call_->hand_over(exchange_, core::Handover::in_flight);
  exchange_.clock_.use_limits(exchange_.clock_.limits(), *exchange_.server_);
  asked_with_ = std::move(taken->asked_with);
  rounds_ = taken->rounds;
  repeats_ = taken->repeats;
  round_ = std::move(taken->questions);
  round_.answer(retry.raw(Field::params_input_responses), *exchange_.call_);
  if (exchange_.ended()) return;
  exchange_.call_->retried(std::move(retry));
  // Server requests that came while the call was parked are judged now.
  for (mcp::Message& message : taken->unheard) {
    if (exchange_.ended()) return;
    exchange_.on_call_message(std::move(message));
  }
  if (exchange_.ended()) return;
  // They join the next round, with the requests that are still open.
  if (!round_.empty()) settle();
  exchange_.clock_.rearm();
}

// The checks that an aggregate can make only now that the member is known; a single server's path makes them
// earlier. They are the member's request size, and the first caller's scopes. After a refusal the call stays
// parked.
bool ExchangeQuestions::refused_at_aggregate(const mcp::Message& retry) {
  const core::ClientRequest& from = exchange_.from();
  if (!config::is_aggregate(from.upstream)) return false;
  const ParkedCall* parked = exchange_.owner_.park_table().find(
      retry.text(Field::params_request_state), from.principal, from.upstream, asked_with(exchange_, retry));
  if (parked == nullptr || !parked->routed) return false;
  core::RoutedPtr to = parked->routed;
  std::optional<core::Failure> refusal;
  if (!from.on_stdio()) refusal = core::too_large(*to->server, from.bytes_in);
  if (!has_scopes_of(parked->from->caller, from.caller)) {
    refusal = core::Failure{EndReason::forbidden,
                            "the call of this requestState was made with scopes that this token has not"};
  }
  if (!refusal) return false;
  exchange_.use_routed(to);
  exchange_.failed(*refusal);
  return true;
}

void ExchangeQuestions::refuse_retry(Exchange& exchange, std::string_view reason, std::string_view said) {
  const std::string text = redaction::apply(said);
  exchange.record_.failed(text);
  mcp::GatewayError error = exchange.error_of(EndReason::invalid_request);
  std::string data = fmt::format(R"({{"reason":"{}",{})", reason, mcp::gateway_data(error).substr(1));
  exchange.end(EndReason::invalid_request, mcp::kInvalidParams, text,
               Exchange::Answer{mcp::error_message(exchange.from().raw_id, mcp::kInvalidParams, text, data)});
}

// A legacy server's error −32042 lists what the user must do first; the client then calls again.
bool ExchangeQuestions::url_elicitation(Exchange& exchange, const mcp::Message& error) {
  const core::ClientRequest& from = exchange.from();
  const bool legacy = exchange.lease_.upstream().era() == mcp::Era::legacy ||
                      (exchange.call_ && exchange.call_->call_facts().of_legacy_server);
  const bool translated = from.era == mcp::Era::modern && mcp::may_ask(from.method) && legacy;
  auto requests = translated ? mcp::url_elicitations(error) : std::vector<mcp::InputQuestion>();
  if (requests.empty()) return false;
  auto elicitation = json::member(from.capabilities, "elicitation");
  if (!elicitation || !json::member(*elicitation, "url")) {
    exchange.end(
        EndReason::rpc_error, mcp::kMissingClientCapability, {},
        Exchange::Answer{
            mcp::missing_capability(from.raw_id, {"elicitation", R"({"elicitation":{"url":{}}})"}), 400});
    return true;
  }
  exchange.end(EndReason::input_required, 0, {},
               Exchange::Answer{mcp::input_required_answer(from.raw_id, requests, {}, {})});
  return true;
}

}  // namespace lineward::exchange
