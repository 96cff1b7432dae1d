// The part of an exchange in which a legacy server asks a modern client: questions become the input requests
// of a result, the call is parked, and the client's retry goes on with it (behaviour.md 9).
#include <fmt/format.h>

#include "base/json_member.h"
#include "config/aggregate.h"
#include "core/request_size.h"
#include "exchange/asking.h"
#include "exchange/exchange.h"
#include "exchange/park_table.h"
#include "mcp/client_capabilities.h"
#include "mcp/errors.h"
#include "mcp/legacy_server.h"

namespace lineward::exchange {

using mcp::EndReason;
using mcp::Field;

namespace {

// An object whose values are objects.
bool is_input_responses(std::string_view raw) {
  bool objects = true;
  bool object = json::for_each_member(
      raw, [&](const std::string&, std::string_view value) { objects = objects && value.front() == '{'; });
  return object && objects;
}

}  // namespace

// What the client did not declare it cannot answer: it is told what was missing.
void Exchange::question(const mcp::Message& message) {
  auto needed = mcp::capability_for(message);
  bool modern = from_->era == mcp::Era::modern && may_be_asked();
  if (modern && mcp::declares(from_->capabilities, message)) {
    if (!asking_) asking_ = std::make_unique<Asking>(loop_);
    if (asking_->round.add(message)) return settle();
    return call_->reply(
        mcp::error_message(message.raw(Field::id), mcp::kInternalError,
                           fmt::format("{} questions of this call are open", kMostOpenQuestions)));
  }
  call_->reply(
      mcp::error_message(message.raw(Field::id), mcp::kMethodNotFound, "this client cannot be asked"));
  if (!needed || !modern || ended()) return;
  end(EndReason::rpc_error, mcp::kMissingClientCapability, "the client lacks the capability " + needed->name,
      Answer{mcp::missing_capability(from_->raw_id, *needed), 400});
}

// Independent questions come together: they are waited for a moment, and go to the client as one result.
void Exchange::settle() {
  if (!asking_->settle.running()) asking_->settle.start(clock_.limits().settle, [this] { park(); });
}

void Exchange::park() {
  if (ended() || asking_->round.empty()) return;              // taken back meanwhile
  if (auto lost = reply_->lost()) return client_gone(*lost);  // it would never come back with an answer
  if (asking_->rounds >= kMostRounds) {
    return fail(EndReason::upstream_protocol,
                fmt::format("{} asked in more than {} rounds", server_name(), kMostRounds));
  }
  ParkedCall parked;
  parked.call = std::move(call_);
  parked.questions = std::move(asking_->round);
  parked.rounds = asking_->rounds + 1;
  parked.spent = clock_.spent();
  parked.from = from_;
  parked.tag = tag_;
  parked.lease = lease_;
  parked.routed = routed_;
  parked.stats = &stats();
  ParkTable& table = home_.park_table();
  if (auto refusal = table.refuses(*server_, parked)) {
    call_ = std::move(parked.call);
    return fail(refusal->reason, refusal->text);
  }
  auto requests = parked.questions.requests();
  std::string info = parked.call->server_info();
  std::string state = table.park(std::move(parked), *server_, clock_.limits().park);
  end(EndReason::input_required, 0, {},
      Answer{mcp::input_required_answer(from_->raw_id, requests, state, info)});
}

// A client's retry. A modern server has made its own state; while the era is not known, the upstream refuses
// what turns out to be a retry.
bool Exchange::is_retry(const core::Upstream& upstream) const {
  const mcp::Message& message = message_;
  if (from_->era != mcp::Era::modern || !may_be_asked() || !message.has(Field::params_request_state))
    return false;
  // A new form of the server, after a reload, need not be of the same era, nor of a known one yet.
  return upstream.era() == mcp::Era::legacy ||
         home_.park_table().made(message.text(Field::params_request_state), from_->principal, from_->upstream,
                                 message);
}

void Exchange::resume() {
  mcp::Message retry = std::move(message_);
  if (retry.has(Field::params_input_responses) &&
      !is_input_responses(retry.raw(Field::params_input_responses)))
    return refuse_retry("malformed", "inputResponses is not an object of results");
  if (retry_too_large(retry)) return;
  auto taken = home_.park_table().take(retry.text(Field::params_request_state), from_->principal,
                                       from_->upstream, retry);
  if (!taken) {
    const std::string& server = taken.error().server;
    if (!server.empty() && server != from_->upstream) {
      lost_with_ = server;
      record_.count_for(core::upstream_stats(server));
    }
    return refuse_retry(name(taken.error().fault), taken.error().text);
  }
  step_ = Step::await_upstream;
  if (taken->routed) {
    use_routed(taken->routed);
    use_limits();
  }
  if (taken->answer) return on_call_message(std::move(*taken->answer));
  lease_ =
      std::move(taken->lease);  // a reload may have brought a new form meanwhile: the call is with the old
  if (!routed_) server_ = &lease_->config;
  call_ = std::move(taken->call);
  tag_ = taken->tag;
  call_->hand_over(*this, core::Handover::in_flight);
  clock_.use(clock_.limits(), *server_);
  clock_.go_on(taken->spent);
  asking_ = std::make_unique<Asking>(loop_);
  asking_->rounds = taken->rounds;
  asking_->round = std::move(taken->questions);
  asking_->round.answer(retry.raw(Field::params_input_responses), *call_);
  if (ended()) return;
  call_->retried(std::move(retry));
  // What is still open, and what was asked meanwhile, goes into the next round.
  if (!asking_->round.empty()) settle();
  clock_.set();
}

// At a server's own path the front has looked at that. Its call waits on for a smaller one.
bool Exchange::retry_too_large(const mcp::Message& retry) {
  if (!config::is_aggregate(from_->upstream)) return false;
  core::RoutedPtr to = home_.park_table().routed(retry.text(Field::params_request_state), from_->principal,
                                                 from_->upstream, retry);
  auto refusal = to && !from_->on_stdio ? core::too_large(*to->server, from_->bytes_in) : std::nullopt;
  if (!refusal) return false;
  use_routed(to);
  failed(*refusal);
  return true;
}

void Exchange::refuse_retry(std::string_view reason, std::string_view text) {
  mcp::GatewayError error = error_of(EndReason::invalid_request);
  std::string data = fmt::format(R"({{"reason":"{}",{})", reason, mcp::gateway_data(error).substr(1));
  end(EndReason::invalid_request, mcp::kInvalidParams, text,
      Answer{mcp::error_message(from_->raw_id, mcp::kInvalidParams, text, data)});
}

// An old server's error −32042 lists what the user must do first; the client does it and calls again.
bool Exchange::url_elicitation(const mcp::Message& error) {
  bool legacy = lease_.upstream().era() == mcp::Era::legacy || (call_ && call_->of_legacy_server());
  bool translated = from_->era == mcp::Era::modern && may_be_asked() && legacy;
  auto requests = translated ? mcp::url_elicitations(error) : std::vector<mcp::InputQuestion>();
  if (requests.empty()) return false;
  auto elicitation = json::member(from_->capabilities, "elicitation");
  if (!elicitation || !json::member(*elicitation, "url")) {
    end(EndReason::rpc_error, mcp::kMissingClientCapability, {},
        Answer{mcp::missing_capability(from_->raw_id, {"elicitation", R"({"elicitation":{"url":{}}})"}),
               400});
    return true;
  }
  end(EndReason::input_required, 0, {}, Answer{mcp::input_required_answer(from_->raw_id, requests, {}, {})});
  return true;
}

}  // namespace lineward::exchange
