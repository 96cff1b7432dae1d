#include "proxy/exchange/exchange.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/aggregate.h"
#include "config/identity_words.h"
#include "foundation/json/json_member.h"
#include "foundation/log/redaction.h"
#include "protocol/mcp/client_capabilities.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/legacy_server.h"
#include "proxy/core/identity.h"
#include "proxy/core/request_size.h"
#include "proxy/exchange/park_table.h"

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

// Plugin rules on the tool have allowed the first caller, and its server knows its claims: a caller with
// fewer of them must not use that.
bool has_scopes_of(const core::CallerPtr& first, const core::CallerPtr& now) {
  if (!first) return true;
  return now ? now->has_all_of(*first) : first->scopes.empty() && first->claims.empty();
}

// Whether the server was told something of the first caller that this one is not: its process or session
// still knows it.
bool differs_for_server(const config::Server& server, const core::CallerPtr& first,
                        const core::CallerPtr& now) {
  const std::vector<std::string> words = first ? config::words_of(server) : std::vector<std::string>();
  const bool told_same = std::all_of(words.begin(), words.end(), [&](const std::string& one) {
    const std::string told = core::identity_of_caller(one, *first);
    return told.empty() || (now && told == core::identity_of_caller(one, *now));
  });
  return !told_same && !has_scopes_of(first, now);
}

}  // namespace

AskedWith Exchange::asked_with(const mcp::Message& request) const {
  return {request, hooks_ ? std::string_view(hooks_->asked_with) : std::string_view()};
}

// A client cannot answer requests for capabilities it did not declare: it gets an error that names the
// missing one.
void Exchange::add_question(const mcp::Message& message) {
  if (!questions_) questions_ = std::make_unique<Questions>(loop_);
  const core::ClientRequest& from = *from_;
  auto needed = mcp::capability_for(message);
  const bool modern = from.era == mcp::Era::modern && mcp::may_ask(from.method);
  if (modern && mcp::declares(from.capabilities, message)) {
    if (questions_->round.add(message)) return settle_questions();
    return call_->reply(
        mcp::error_message(message.raw(Field::id), mcp::kInternalError,
                           fmt::format("{} questions of this call are open", kMaxOpenQuestions)));
  }
  call_->reply(
      mcp::error_message(message.raw(Field::id), mcp::kMethodNotFound, "this client cannot be asked"));
  if (!needed || !modern || ended()) return;
  end(EndReason::rpc_error, mcp::kMissingClientCapability, "the client lacks the capability " + needed->name,
      Answer{mcp::missing_capability(from.raw_id, *needed), 400});
}

// Collects independent requests for a moment (timeouts.questionBatch): they go to the client as one result.
void Exchange::settle_questions() {
  net::Timer& settle = questions_->settle;
  if (!settle.running()) settle.start(clock_.limits().question_batch, [this] { park(); });
}

void Exchange::park() {
  QuestionRound& round = questions_->round;
  if (ended() || round.empty()) return;  // withdrawn meanwhile
  // A message held by a plugin belongs to this round, or is the answer: hook_moved() follows after it.
  if (hook_holds_message()) return;
  if (call_->call_facts().has_answer) return;
  if (auto lost = reply_->lost()) return client_left(*lost);  // it would never retry
  const bool asks_anew = round.has_new();
  if (!asks_anew && questions_->repeats >= kMaxRepeats) {
    return refuse_retry(
        "unanswered", fmt::format("{} questions of this call were asked {} times again and are not answered",
                                  round.size(), kMaxRepeats));
  }
  if (asks_anew && questions_->rounds >= kMaxRounds) {
    return fail(EndReason::upstream_protocol,
                fmt::format("{} asked in more than {} rounds", server_name(), kMaxRounds));
  }
  ParkedCall parked;
  parked.call = std::move(call_);
  round.shown();
  parked.questions = std::move(round);
  parked.rounds = asks_anew ? questions_->rounds + 1 : questions_->rounds;
  parked.repeats = asks_anew ? 0 : questions_->repeats + 1;
  parked.spent = clock_.spent();
  parked.from = from_;
  parked.tag = tag_;
  parked.lease = lease_;
  parked.routed = routed_;
  parked.asked_with = questions_->asked_with;
  if (hooks_ && parked.asked_with.empty()) parked.asked_with = hooks_->asked_with;
  parked.stats = &record_.stats_or(from_->upstream);
  ParkTable& table = owner_.park_table();
  if (auto refusal = table.refuses(*server_, parked)) {
    call_ = std::move(parked.call);
    return fail(refusal->reason, refusal->text);
  }
  auto requests = parked.questions.requests();
  std::string info(parked.call->call_facts().server_info);
  std::string state = table.park(std::move(parked), *server_, clock_.limits().park);
  if (hooks_) hooks_->request_state = state;
  end(EndReason::input_required, 0, {},
      Answer{mcp::input_required_answer(from_->raw_id, requests, state, info)});
}

// Whether this is a retry of a parked call. A modern server makes its own state. While the era is unknown,
// the upstream refuses a retry.
bool Exchange::is_retry() const {
  const core::ClientRequest& from = *from_;
  if (from.era != mcp::Era::modern || !mcp::may_ask(from.method)) return false;
  // After a reload the new server version may have another era, or an unknown one.
  return lease_.upstream().era() == mcp::Era::legacy ||
         owner_.park_table().made(message_.text(Field::params_request_state), from.principal, from.upstream,
                                  asked_with(message_));
}

void Exchange::continue_parked() {
  questions_ = std::make_unique<Questions>(loop_);
  const core::ClientRequest& from = *from_;
  mcp::Message retry = std::move(message_);
  if (retry.has(Field::params_input_responses) &&
      !is_input_responses(retry.raw(Field::params_input_responses)))
    return refuse_retry("malformed", "inputResponses is not an object of results");
  if (refused_at_aggregate(retry)) return;
  // At an aggregate this was checked, whatever its members are told.
  const ParkedCall* parked = owner_.park_table().find(retry.text(Field::params_request_state), from.principal,
                                                      from.upstream, asked_with(retry));
  if (parked != nullptr && differs_for_server(parked->lease->config, parked->from->caller, from.caller)) {
    return refuse_retry(name(StateFault::foreign),
                        "requestState belongs to a caller with other claims, which its server was told");
  }
  auto taken = owner_.park_table().take(retry.text(Field::params_request_state), from.principal,
                                        from.upstream, asked_with(retry));
  if (!taken) {
    const std::string& server = taken.error().server;
    if (!server.empty() && server != from.upstream) {
      lost_with_ = server;
      record_.count_for(metrics::upstream_stats(server));
    }
    return refuse_retry(name(taken.error().fault), taken.error().text);
  }
  step_ = Step::await_upstream;
  if (taken->routed) {
    use_routed(taken->routed);
    choose_limits();
  }
  clock_.go_on(taken->spent);  // written, even if the server has answered meanwhile
  // The call stays with its server version, even after a reload, and so does its answer.
  lease_ = std::move(taken->lease);
  if (!routed_) server_ = &lease_->config;
  call_ = std::move(taken->call);
  tag_ = taken->tag;
  if (taken->answer) return on_call_message(std::move(*taken->answer));
  call_->hand_over(*this, core::Handover::in_flight);
  clock_.use_limits(clock_.limits(), *server_);
  questions_->asked_with = std::move(taken->asked_with);
  questions_->rounds = taken->rounds;
  questions_->repeats = taken->repeats;
  questions_->round = std::move(taken->questions);
  questions_->round.answer(retry.raw(Field::params_input_responses), *call_);
  if (ended()) return;
  call_->retried(std::move(retry));
  // Server requests that came while the call was parked are judged now.
  for (mcp::Message& message : taken->unheard) {
    if (ended()) return;
    on_call_message(std::move(message));
  }
  if (ended()) return;
  // They join the next round, with the requests that are still open.
  if (!questions_->round.empty()) settle_questions();
  clock_.rearm();
}

// The checks that an aggregate can make only now that the member is known; a single server's path makes them
// earlier. They are the member's request size, and the first caller's scopes. After a refusal the call stays
// parked.
bool Exchange::refused_at_aggregate(const mcp::Message& retry) {
  const core::ClientRequest& from = *from_;
  if (!config::is_aggregate(from.upstream)) return false;
  const ParkedCall* parked = owner_.park_table().find(retry.text(Field::params_request_state), from.principal,
                                                      from.upstream, asked_with(retry));
  if (parked == nullptr || !parked->routed) return false;
  core::RoutedPtr to = parked->routed;
  std::optional<core::Failure> refusal;
  if (!from.on_stdio()) refusal = core::too_large(*to->server, from.bytes_in);
  if (!has_scopes_of(parked->from->caller, from.caller)) {
    refusal = core::Failure{EndReason::forbidden,
                            "the call of this requestState was made with scopes that this token has not"};
  }
  if (!refusal) return false;
  use_routed(to);
  failed(*refusal);
  return true;
}

void Exchange::refuse_retry(std::string_view reason, std::string_view said) {
  const std::string text = redaction::apply(said);
  record_.failed(text);
  mcp::GatewayError error = error_of(EndReason::invalid_request);
  std::string data = fmt::format(R"({{"reason":"{}",{})", reason, mcp::gateway_data(error).substr(1));
  end(EndReason::invalid_request, mcp::kInvalidParams, text,
      Answer{mcp::error_message(from_->raw_id, mcp::kInvalidParams, text, data)});
}

// A legacy server's error −32042 lists what the user must do first; the client then calls again.
bool Exchange::url_elicitation(const mcp::Message& error) {
  const core::ClientRequest& from = *from_;
  const bool legacy =
      lease_.upstream().era() == mcp::Era::legacy || (call_ && call_->call_facts().of_legacy_server);
  const bool translated = from.era == mcp::Era::modern && mcp::may_ask(from.method) && legacy;
  auto requests = translated ? mcp::url_elicitations(error) : std::vector<mcp::InputQuestion>();
  if (requests.empty()) return false;
  auto elicitation = json::member(from.capabilities, "elicitation");
  if (!elicitation || !json::member(*elicitation, "url")) {
    end(EndReason::rpc_error, mcp::kMissingClientCapability, {},
        Answer{mcp::missing_capability(from.raw_id, {"elicitation", R"({"elicitation":{"url":{}}})"}), 400});
    return true;
  }
  end(EndReason::input_required, 0, {}, Answer{mcp::input_required_answer(from.raw_id, requests, {}, {})});
  return true;
}

}  // namespace lineward::exchange
