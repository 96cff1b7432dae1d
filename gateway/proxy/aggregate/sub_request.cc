#include "proxy/aggregate/sub_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/call_timeouts.h"
#include "foundation/log/excerpt.h"
#include "protocol/mcp/errors.h"
#include "proxy/metrics/limits.h"
#include "proxy/upstream/http_client/http_headers.h"

namespace lineward::aggregate {

using core::CallPhase;
using mcp::EndReason;
using mcp::Field;
using std::chrono::milliseconds;

SubRequest::~SubRequest() {
  lifetime_.end();
  cancel("no client waits for it any more");
}

void SubRequest::ask(core::UpstreamRequest request, milliseconds limit, Done done, OnMessage on_message) {
  done_ = std::move(done);
  on_message_ = std::move(on_message);
  request.headers = member_->headers_for_it(request.headers);
  lease_ = member_->sessions.enter(member_, request.scope);
  method_ = request.message.method();
  own_ = config::timeouts_for(member_->server, method_);
  if (request.wait()) own_.request = std::min(*request.wait(), own_.max_duration);
  most_ = limit;
  phase_ = CallPhase::queued;
  begun_at_ = phase_since_ = loop_.now();
  auto fail = [this](core::Failure why) {
    loop_.defer(lifetime_, [this, failure = std::move(why)] { finish(Unexpected<core::Failure>{failure}); });
  };
  if (auto refusal = member_->too_large(request.bytes_in, request.on_stdio()))
    return fail(std::move(*refusal));
  auto call = member_->upstream.start(std::move(request), *this);
  if (!call) return fail(std::move(call.error()));
  call_ = std::move(*call);
  set_clock();
}

// ---- time limits ----

void SubRequest::on_call_phase(CallPhase phase) {
  if (phase == phase_) return;
  const milliseconds now = loop_.now();
  if (core::waits_in_line(phase_)) queued_for_ += now - phase_since_;
  if (phase_ == CallPhase::starting) starting_for_ += now - phase_since_;
  if (phase == CallPhase::written && !has_been_sent()) sent_at_ = now;
  phase_ = phase;
  phase_since_ = last_progress_ = now;
  set_clock();
}

void SubRequest::hold_others_up() {
  if (!std::exchange(alone_, std::nullopt)) return;
  set_clock();
}

// A small version of an exchange's clock (proxy/exchange/call_clock.h): the first limit to expire applies.
void SubRequest::set_clock() {
  if (!call_ || !call_->live()) return;
  struct Limit {
    milliseconds at, limit;
    EndReason reason;
    std::string_view option;
  };
  std::optional<Limit> chosen;
  auto also = [&](milliseconds since, milliseconds limit, EndReason reason, std::string_view option) {
    if (!chosen || since + limit < chosen->at) chosen = {since + limit, limit, reason, option};
  };
  if (!alone_ || has_been_sent()) {
    also(alone_ ? sent_at_ : begun_at_, alone_.value_or(most_), EndReason::timeout_request,
         "aggregate.partTimeout");
  }
  // The time in phases before `written` accumulates, however often they alternate.
  switch (phase_) {
    case CallPhase::queued:
      also(phase_since_ - queued_for_, member_->server.limits.queue_timeout, EndReason::timeout_queue,
           "limits.queueTimeout");
      break;
    case CallPhase::at_capacity:
    case CallPhase::no_share:
      also(phase_since_ - queued_for_, member_->server.limits.queue_timeout, EndReason::queue_full,
           "limits.queueTimeout");
      break;
    case CallPhase::starting:
      also(phase_since_ - starting_for_, own_.startup, EndReason::timeout_startup, "timeouts.startup");
      break;
    case CallPhase::written:
      also(phase_since_, own_.max_duration, EndReason::timeout_max_duration, "timeouts.maxDuration");
      if (!answered_) also(last_progress_, own_.request, EndReason::timeout_request, "timeouts.request");
      break;
  }
  limit_.start(std::max(chosen->at - loop_.now(), milliseconds(0)),
               [this, first = *chosen] { late(first.reason, first.limit, first.option); });
}

void SubRequest::late(EndReason reason, milliseconds limit, std::string_view option) {
  // The answer arrived in time; while a plugin judges it, only the longer limits apply.
  if (option == "timeouts.request" && call_ && call_->call_facts().has_answer) {
    answered_ = true;
    return set_clock();
  }
  if (call_ && call_->live()) call_->cancel({"its part did not come in time", reason});
  if (option == "aggregate.partTimeout") metrics::limit_reached(metrics::Limit::part_timeout);
  const bool of_share = phase_ == CallPhase::no_share;
  if (reason == EndReason::queue_full)
    metrics::limit_reached(of_share ? metrics::Limit::max_principal_percent : metrics::Limit::instances);
  std::string_view what =
      reason == EndReason::timeout_queue ? "had no free place for"
      : reason == EndReason::queue_full
          ? (of_share ? "had no process beyond this caller's share (listen.maxPrincipalPercent) for"
                      : "had no free process (instances) for")
      : reason == EndReason::timeout_startup ? "was not ready for"
                                             : "did not answer";
  finish(Unexpected<core::Failure>{{reason,
                                    fmt::format("{} {} {} within {} ms (lineward {})", member_->name, what,
                                                log::Excerpt(method_, 100).string(), limit.count(), option),
                                    limit.count()}});
}

void SubRequest::cancel(core::CancelCause why) {
  done_ = nullptr;
  limit_.stop();
  if (call_ && call_->live()) call_->cancel(why);
}

void SubRequest::on_call_message(mcp::Message&& message) {
  switch (message.kind()) {
    case mcp::MessageKind::result:
    case mcp::MessageKind::error: return finish(std::move(message));
    case mcp::MessageKind::request:
      if (call_)
        call_->reply(
            mcp::error_message(message.raw(Field::id), mcp::kMethodNotFound, "this client cannot be asked"));
      return;
    case mcp::MessageKind::notification:
      if (own_.progress_resets && mcp::method_of(message.method()) == mcp::Method::progress) {
        last_progress_ = loop_.now();
        set_clock();
      }
      if (on_message_) on_message_(std::move(message));
      return;
  }
}

void SubRequest::on_call_failed(const core::Failure& failure) {
  finish(Unexpected<core::Failure>{failure});
}

// The answering call is on the stack.
void SubRequest::finish(Result<mcp::Message, core::Failure> answer) {
  limit_.stop();
  loop_.retire(std::move(call_));
  if (Done done = std::exchange(done_, nullptr)) done(std::move(answer));
}

core::UpstreamRequest own_request(const core::UpstreamRequest& like, mcp::Method method,
                                  std::string_view members) {
  std::string meta;
  auto add = [&](std::string_view key, std::string_view raw) {
    if (!raw.empty()) meta += fmt::format("{}\"{}\":{}", meta.empty() ? "" : ",", key, raw);
  };
  add("io.modelcontextprotocol/protocolVersion", like.message.raw(Field::meta_protocol_version));
  add("io.modelcontextprotocol/clientInfo", like.message.raw(Field::meta_client_info));
  add("io.modelcontextprotocol/clientCapabilities", like.message.raw(Field::meta_client_capabilities));
  core::UpstreamRequest request;
  auto message = mcp::Message::parse(
      fmt::format(R"({{"jsonrpc":"2.0","id":0,"method":"{}","params":{{{}{}"_meta":{{{}}}}}}})",
                  mcp::row(method)->name, members, members.empty() ? "" : ",", meta));
  if (message) request.message = std::move(*message);
  request.method = method;
  request.client_era = mcp::Era::modern;
  request.scope = like.scope;
  request.of_gateway = true;
  request.headers = upstream::headers_of_client(like.headers);
  return request;
}

}  // namespace lineward::aggregate
