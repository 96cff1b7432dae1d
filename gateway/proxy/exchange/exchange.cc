#include "proxy/exchange/exchange.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/aggregate.h"
#include "config/call_timeouts.h"
#include "foundation/base/check.h"
#include "foundation/base/string_pool.h"
#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "foundation/log/redaction.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "protocol/mcp/targets.h"
#include "proxy/aggregate/lists.h"
#include "proxy/core/tool_view.h"
#include "proxy/exchange/state_observer.h"
#include "proxy/metrics/limits.h"

namespace lineward::exchange {
namespace {

using core::CallPhase;
using mcp::EndReason;
using mcp::Field;
using mcp::Method;

template <class Step>
void seen(Step step, StepEvent event) {
  if (lineward_step_seen != nullptr)
    lineward_step_seen(static_cast<unsigned>(step), static_cast<unsigned>(event));
}

}  // namespace

// Lineward's own errors are HTTP 200, except those that clients must see as an HTTP status (behaviour.md 2).
// A 429 ends the session of clients that treat any error status as a lost connection.
int refusal_status(EndReason reason, const core::ClientRequest& from, config::LegacyStatus legacy) {
  const bool in_session = from.era == mcp::Era::legacy && from.method != Method::initialize;
  if (reason == EndReason::rate_limited && in_session && legacy == config::LegacyStatus::rpc) return 200;
  return mcp::is_refusal_of_client(reason) ? mcp::row(reason).code : 200;
}

Exchange::Exchange(net::Loop& loop, ExchangeCallbacks& owner, core::ExchangeId id, std::string call_id,
                   core::IncomingMessage&& arrival, std::unique_ptr<core::ReplyStream> reply)
    : loop_(loop),
      owner_(owner),
      id_(id),
      from_(core::admitted(std::move(arrival.from), arrival.message, std::move(call_id))),
      message_(std::move(arrival.message)),
      headers_(std::move(arrival.headers)),
      mirrors_itself_(arrival.sends_param_headers),
      reply_(std::move(reply)),
      clock_(loop, from_->method, [this](const CallClock::Due& due) { deadline(due); }),
      tag_((static_cast<uint64_t>(id.generation) << 32) | id.index),
      record_(from_->method, message_, loop.read_at()) {
  request_bytes_.charge(from_->account);
  request_bytes_.set(from_->bytes_in);
}

Exchange::~Exchange() = default;

// The life of an exchange, top to bottom. Each event that resumes it sets step_ and calls this.
void Exchange::advance(Admission* admission) {
  for (;;) {
    seen(step_, StepEvent::advance);
    switch (step_) {
      case Step::admitted:
        lease_ = std::move(admission->lease);
        server_ = lease_ ? &lease_->config : nullptr;
        renamed_ = admission->renamed;
        if (server_ != nullptr) choose_limits();
        // Also for a server out of service: its refusals are counted under its name.
        record_.count_for(metrics::upstream_stats(server_name()));
        attach(admission->plugins);  // they must see every end
        if (admission->refusal) return on_call_failed(*admission->refusal);
        if (std::string large = mcp::size_fault(from_->method, message_); !large.empty())
          return refuse(EndReason::invalid_request, mcp::kInvalidRequest, large);
        // Before policies judge by a name.
        if (std::string wrong = mcp::target_fault(from_->method, message_); !wrong.empty())
          return fail(EndReason::invalid_request, std::move(wrong));
        step_ = hooks_ && lease_ ? Step::plugins : Step::route;
        break;
      case Step::plugins:
        if (!pass_request()) return;
        step_ = Step::route;
        break;
      case Step::route: {
        if (!lease_) return fail(EndReason::upstream_unreachable, core::not_in_service(from_->upstream).text);
        if (lease_->retiring) {  // only reached through a session
          return fail(EndReason::cancelled_drain,
                      fmt::format("this session ended with a reload of {}; initialize again", server_->name),
                      {.status = 404});
        }
        if (message_.has(Field::params_request_state) && is_retry()) return continue_parked();
        core::UpstreamRequest request;
        request.message = std::move(message_);
        request.method = from_->method;
        request.client_era = from_->era;
        request.scope = {from_->session, from_->principal, from_->affinity};
        request.http_status_visible = from_->http_status_visible;
        request.headers = std::move(headers_);
        request.sends_param_headers = mirrors_itself_;
        request.tag = tag();
        request.from = from_;
        request.bytes_in = from_->bytes_in;
        step_ = Step::await_upstream;
        if (from_->method == Method::initialize && !owner_.session_opening(*this)) {
          session_told_ = true;  // the session has another owner
          return refuse(EndReason::invalid_request, mcp::kInvalidRequest,
                        "this session is initialized already");
        }
        auto call = lease_.upstream().start(std::move(request), *this);
        if (!call) return on_call_failed(call.error());
        call_ = std::move(*call);
        clock_.mark(CallStep::queued);
        return clock_.rearm();  // a limit runs even if the upstream never reports a phase
      }
      case Step::await_upstream:
      case Step::ending:
      case Step::ended: return;
    }
  }
}

// ---- from upstream ----

void Exchange::on_call_phase(CallPhase phase) {
  seen(step_, StepEvent::phase);
  if (ended() || acknowledged_ || !clock_.enter(phase))
    return;  // a listen that is reopened counts as open throughout
  if (phase == CallPhase::written) record_.written(clock_.queued_for(), clock_.in_first_turn());
  owner_.moved(*this, CallMoment::phase);
}

void Exchange::on_call_message(mcp::Message&& message) {
  seen(step_, StepEvent::message);
  if (ended()) return;
  if (!hooks_) return received(std::move(message));
  const bool last = message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error;
  hooks_->queue.take(std::move(message));
  if (last && !ended()) clock_.server_is_done();
}

void Exchange::received(mcp::Message&& message) {
  seen(step_, StepEvent::received);
  if (message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error) {
    return final_message(std::move(message));
  }
  if (is_listen()) return listen_message(std::move(message));
  if (from_->era == mcp::Era::modern && mcp::method_of(message.method()) == Method::cancelled) {
    if (questions_) questions_->round.withdraw(message);
    return;
  }
  if (message.kind() == mcp::MessageKind::request) return add_question(message);
  forward_message(std::move(message));
}

void Exchange::forward_message(mcp::Message&& message) {
  if (mcp::method_of(message.method()) == Method::progress) {
    record_.progressed(message);
    clock_.progressed();
    owner_.moved(*this, CallMoment::progress);
    if (!from_->raw_token.empty() && message.has(Field::params_progress_token))
      reply_->send(mcp::progress_for_client(std::move(message), from_->raw_token));
  } else {
    clock_.mark(CallStep::told);
    reply_->send(std::move(message).take_bytes());
  }
  pause_upstream();
}

// Back-pressure: a client that reads slowly pauses its server's stream, where possible, instead of filling
// memory. The request clock stops meanwhile: the server is not the slow side.
void Exchange::pause_upstream() {
  if (ended() || clock_.is_held() || !call_ || !call_->live() || !reply_->above_high_watermark() ||
      !call_->pause())
    return;
  clock_.hold();
  reply_->when_drained([this] {
    if (ended() || !clock_.release()) return;
    if (call_ && !(hooks_ && hooks_->queue.is_holding())) call_->resume();
  });
}

void Exchange::listen_message(mcp::Message&& message) {
  Method method = mcp::method_of(message.method());
  if (method == Method::subscriptions_acknowledged) {
    if (acknowledged_) return listen_again(message);
    acknowledged_ = true;
    clock_.mark(CallStep::acknowledged);
    owner_.moved(*this, CallMoment::phase);
    clock_.stop();  // a listen has no limit, also while it is reopened
  }
  if (method == Method::cancelled) {
    // The server closed the stream without a result. The result sent to the client marks an orderly end.
    return end(EndReason::ok, 0, "the server ended it", Answer{mcp::listen_result(from_->raw_id)});
  }
  if (!acknowledged_) return;  // no notification may precede the acknowledgement
  record_.listen_told(method);
  clock_.mark(CallStep::told);
  owner_.moved(*this, CallMoment::progress);
  reply_->send(mcp::subscription_for_client(message, from_->raw_id));
  pause_upstream();
}

// The server's process was replaced and has acknowledged the listen again. The client already has its
// acknowledgement; everything that may have changed meanwhile is reported as changed.
void Exchange::listen_again(const mcp::Message& acknowledgement) {
  for (const std::string& notification : mcp::changes_after_loss(acknowledgement, from_->raw_id)) {
    if (!ended()) reply_->send(notification);
  }
}

void Exchange::final_message(mcp::Message&& message) {
  const bool well = message.kind() == mcp::MessageKind::result;
  const bool its_own = call_ && call_->call_facts().is_from_server;
  server_answer_ = !well ? ServerAnswer::error : its_own ? ServerAnswer::result : ServerAnswer::in_its_place;
  clock_.mark(CallStep::answer);
  int status = mcp::response_status(from_->era, message);
  int code = 0;
  EndReason reason = EndReason::ok;
  if (message.kind() == mcp::MessageKind::error) {
    reason = EndReason::rpc_error;
    code = mcp::error_code(message);
    if (code == mcp::kUrlElicitationRequired && url_elicitation(message)) return;
  } else if (message.raw(Field::result_is_error) == "true") {
    reason = EndReason::tool_error;
  } else if (message.text(Field::result_type) == "input_required") {
    reason = EndReason::input_required;
    if (hooks_) hooks_->request_state = message.text(Field::result_request_state);
  }
  if (from_->method == Method::tools_list || from_->method == Method::prompts_list)
    record_.learn_names(from_->method, message);
  if (is_view_of_tools()) core::show_tools(*server_, message);
  if (from_->era == mcp::Era::legacy && message.has(Field::result_task))
    owner_.task_started(*this, message.raw(Field::id), from_->raw_token);
  if (from_->method == Method::initialize) {
    session_told_ = message.kind() == mcp::MessageKind::result;
    if (session_told_) owner_.session_opened(*this, &message);
  }
  if (from_->method == Method::server_discover && message.has(Field::result_supported_versions)) {
    auto cut = mcp::Message::parse(mcp::with_versions(
        message, Field::result_supported_versions,
        mcp::served_versions(mcp::spoken_versions(message.raw(Field::result_supported_versions)),
                             from_->wire)));
    if (cut) message = std::move(*cut);
  } else if (code == mcp::kUnsupportedVersion && message.has(Field::error_data_supported)) {
    auto cut = mcp::Message::parse(mcp::with_versions(
        message, Field::error_data_supported,
        mcp::served_versions(mcp::spoken_versions(message.raw(Field::error_data_supported)), from_->wire)));
    if (cut) message = std::move(*cut);
  }
  Answer answer{is_listen() ? mcp::listen_response_for_client(message, from_->raw_id)
                            : mcp::response_for_client(std::move(message), from_->raw_id),
                status};
  StringPool::give(std::move(message).take_bytes());
  end(reason, code, {}, std::move(answer));
}

bool Exchange::is_view_of_tools() const {
  return from_->method == Method::tools_list && server_ != nullptr && !server_->tools.is_empty() &&
         !config::is_aggregate(from_->upstream);
}

void Exchange::on_call_failed(const core::Failure& failure) {
  seen(step_, StepEvent::failure);
  if (ended()) return;
  if (hooks_ && hooks_->queue.holds_back(failure)) return clock_.server_is_done();
  failed(failure);
}

void Exchange::failed(const core::Failure& given) {
  core::Failure failure = given;
  if (hooks_) hooks_->chain.failure_text(failure.text);
  if (!failure.policy.empty()) record_.judged(failure.policy);
  if (is_listen() && acknowledged_) {  // final: its result marks an orderly end
    return end(failure.reason, 0, {}, Answer{mcp::listen_result(from_->raw_id)});
  }
  reply_->add_headers(failure.headers);
  retry_after_ms_ = failure.retry_after_ms;
  if (failure.code != 0) return refuse(failure.reason, failure.code, failure.text, failure.http_status);
  const bool of_start = failure.limit_ms < 0 && failure.reason == EndReason::timeout_startup;
  // A 429 sent by the server itself stays a 429.
  const auto legacy = failure.server_status == 429 ? config::LegacyStatus::http : owner_.legacy_status();
  const int status = refusal_status(failure.reason, *from_, legacy);
  fail(failure.reason, failure.text,
       {.limit_ms = of_start ? clock_.limits().startup.count() : failure.limit_ms,
        .status = failure.session_over ? 404 : status,
        .untaken = failure.server_status == 401 || failure.server_status == 429});
}

// ---- from the client and from operators ----

void Exchange::client_left(EndReason why) {
  seen(step_, StepEvent::client_left);
  if (ended()) return;
  end(why, 0, why == EndReason::client_too_slow ? "the client reads too slowly" : "the client went away",
      Nobody{});
}

void Exchange::cancel(EndReason reason, std::string_view why) {
  seen(step_, StepEvent::cancel);
  if (ended()) return;
  if (reason == EndReason::cancelled_client) {
    if (from_->method == Method::initialize) return;  // never cancelled by a message
    return end(reason, 0, why, NoAnswer{});
  }
  if (is_listen() && acknowledged_ && reason == EndReason::cancelled_drain) {
    // The orderly end of a subscription is its result.
    return end(reason, 0, why, Answer{mcp::listen_result(from_->raw_id)});
  }
  fail(reason, std::string(why));
}

// Cancels of open requests are still sent while the exchange is ending.
bool Exchange::send(std::string message) {
  seen(step_, StepEvent::sending);
  if (step_ == Step::ended || !reply_->can_send()) return false;
  reply_->send(std::move(message));
  pause_upstream();
  return !reply_->lost();
}

bool Exchange::ask(std::string message) {
  if (ended() || !send(std::move(message)) || ended()) return false;
  asked();
  return true;
}

void Exchange::asked() {
  seen(step_, StepEvent::asked);
  if (!ended()) clock_.asked();
}

void Exchange::answered() {
  seen(step_, StepEvent::answered);
  if (!ended()) clock_.answered();
}

// ---- limits ----

void Exchange::choose_limits() {
  const std::string& target = routed_ ? routed_->target : from_->target;
  bool of_tool = from_->method == Method::tools_call;
  config::Timeouts limits = config::timeouts_for(*server_, from_->method_name,
                                                 of_tool ? std::string_view(target) : std::string_view());
  bool merged = config::is_aggregate(server_->name) &&
                (from_->method == Method::server_discover || from_->method == Method::initialize ||
                 aggregate::list_of(from_->method) != nullptr);
  if (merged) {
    // Each part has its server's limits and the client's timeout; a late part must not end the whole.
    limits.request = limits.max_duration = std::max(limits.max_duration, CallClock::kMaxPart);
  } else if (from_->wait) {
    // The timeout requested by the client. timeouts.maxDuration still applies, and is named if it ends the
    // call.
    limits.request = *from_->wait;
  }
  clock_.use_limits(limits, *server_);
}

// An aggregate has routed the call: the member's limits and name apply from here on.
void Exchange::on_call_routed(const core::RoutedPtr& to) {
  seen(step_, StepEvent::routed);
  if (ended() || (routed_ && routed_->server == to->server)) return;
  use_routed(to);
  choose_limits();
  clock_.rearm();
}

void Exchange::on_call_repeated() {
  if (ended()) return;
  record_.repeated();
  clock_.mark(CallStep::repeated);
}

void Exchange::use_routed(const core::RoutedPtr& to) {
  routed_ = to;
  clock_.mark(CallStep::routed);
  server_ = to->server;
  record_.count_for(metrics::routed_stats(server_->name));
}

void Exchange::deadline(const CallClock::Due& due) {
  seen(step_, StepEvent::deadline);
  if (ended()) return;
  // As in on_call_message, for a plugin of the member.
  if (due.reason == EndReason::timeout_request && !is_listen() && call_ && call_->call_facts().has_answer)
    return clock_.server_is_done();
  std::string method = log::Excerpt(from_->method_name, 100).string();
  std::string text;
  switch (due.reason) {
    case EndReason::timeout_queue:
      if (step_ == Step::plugins) {
        text = fmt::format("plugin {} did not decide on {} within {} ms (lineward {})",
                           hooks_->chain.waits_for(), method, due.limit.count(), due.option);
        break;
      }
      text = fmt::format("no free place for {} {} within {} ms (lineward {})", server_name(), method,
                         due.limit.count(), due.option);
      break;
    case EndReason::queue_full:
      if (due.phase == core::CallPhase::no_share) {
        metrics::limit_reached(metrics::Limit::max_principal_percent);
        text = fmt::format(
            "this caller uses its share of {} ({} of instances: {}, listen.maxPrincipalPercent): none of "
            "these "
            "processes became free within {} ms (lineward {})",
            server_->name, Account::share_of(server_->instances), server_->instances, due.limit.count(),
            due.option);
      } else {
        metrics::limit_reached(metrics::Limit::instances);
        text = fmt::format(
            "{} runs as many processes as it may (instances: {}), and none of them was free within {} ms "
            "(lineward {})",
            server_->name, server_->instances, due.limit.count(), due.option);
      }
      retry_after_ms_ = std::max<int64_t>(due.limit.count(), 1000);
      reply_->add_headers({{"Retry-After", std::to_string((retry_after_ms_ + 999) / 1000)}});
      break;
    case EndReason::timeout_startup:
      text = fmt::format("{} was not ready within {} ms (lineward {})", server_name(), due.limit.count(),
                         due.option);
      break;
    default:
      if (hook_holds_message()) {
        text = fmt::format("plugin {} did not decide on what {} said within {} ms (lineward {})",
                           hooks_->chain.waits_for(), server_name(), due.limit.count(), due.option);
        break;
      }
      text = fmt::format("{} did not answer {}{}{} within {} ms (lineward {})", server_name(), method,
                         from_->target.empty() ? "" : " ", from_->target, due.limit.count(), due.option);
      break;
  }
  if (due.option == "timeouts.acknowledge") metrics::limit_reached(metrics::Limit::acknowledge);
  fail(due.reason, text, {.limit_ms = due.limit.count()});
}

// ---- the end ----

mcp::GatewayError Exchange::error_of(EndReason reason) const {
  mcp::GatewayError error;
  error.reason = reason;
  error.upstream = server_name();
  error.route = route();
  error.call_id = from_->call_id;
  // Merged requests (lists, listens) count as written before any member has them. They have no side effects,
  // so a retry is safe.
  error.sent = clock_.was_written() && !config::is_aggregate(server_name());
  return error;
}

void Exchange::fail(EndReason reason, std::string text, FailedAs as) {
  bool lost_retry = reason == EndReason::invalid_request && call_ &&
                    call_->request_message().has(Field::params_request_state);
  if (lost_retry) return refuse_retry("lost", text);
  mcp::GatewayError error = error_of(reason);
  error.text = redaction::apply(text);
  error.limit_ms = as.limit_ms;
  error.elapsed_ms = clock_.elapsed().count();
  error.retry_after_ms = retry_after_ms_;
  if (as.untaken) error.sent = false;
  record_.failed(error.text);
  if (reason == EndReason::invalid_request) {
    return end(
        reason, mcp::kInvalidParams, error.text,
        Answer{mcp::error_message(from_->raw_id, mcp::kInvalidParams, error.text, mcp::gateway_data(error))});
  }
  end(reason, mcp::row(reason).code, error.text, Answer{mcp::gateway_error(from_->raw_id, error), as.status});
}

// With the code set by a policy, instead of that of the reason.
void Exchange::refuse(EndReason reason, int code, const std::string& said, int status) {
  std::string text = redaction::apply(said);
  if (renamed_ && server_ != nullptr) text = core::with_shown_name(server_->tools, std::move(text));
  mcp::GatewayError error = error_of(reason);
  record_.failed(text);
  if (status == 0) status = code == mcp::kInvalidRequest ? 400 : 200;  // in both eras, for every method
  end(reason, code, text,
      Answer{mcp::error_message(from_->raw_id, code, text, mcp::gateway_data(error)), status});
}

void Exchange::end(EndReason reason, int code, std::string_view why, Goodbye goodbye) {
  seen(step_, StepEvent::end);
  LW_DEBUG_CHECK(!ended());
  if (ended()) return;
  step_ = Step::ending;
  clock_.stop();
  if (questions_) questions_->settle.stop();
  if (call_ && call_->live()) {
    clock_.mark(CallStep::cancelling);
    owner_.on_cancel(*this, metrics::initiator_of(reason));
    call_->cancel({why.empty() ? "the exchange ended" : why, reason});
  }
  owner_.ending(*this);
  if (from_->method == Method::initialize && !session_told_) {
    reply_->refuse_session();
    owner_.session_opened(*this, nullptr);
  }
  if (auto* answer = std::get_if<Answer>(&goodbye)) {
    status_ = answer->status;
    reply_->finish(std::move(answer->text), answer->status);
  } else if (std::holds_alternative<NoAnswer>(goodbye)) {
    reply_->finish_empty();
  }
  // A failed write that was not reported yet, and no longer will be.
  if (auto lost = reply_->lost()) {
    reason = *lost;
    code = 0;
  }
  step_ = Step::ended;
  clock_.mark(CallStep::ended);
  count_end(reason, code);
  if (hooks_) end_hooks(reason, code);
  write_end(reason, code);
  audit_end(reason, code);
  owner_.ended(*this, reason, code);
  owner_.retire(*this);
}

}  // namespace lineward::exchange
