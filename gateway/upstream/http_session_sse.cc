// The half of HttpSession that speaks HTTP+SSE (2024-11-05 transports, "HTTP with SSE").
#include <fmt/format.h>

#include "base/log.h"
#include "upstream/http_session.h"
#include "upstream/own_id.h"

namespace lineward::upstream {

using mcp::EndReason;
using mcp::Field;
using std::chrono::milliseconds;

// ---- the stream and its endpoint ----

void HttpSession::connect() {
  sse_ = true;
  state_ = State::connecting;
  stream_ = std::make_unique<HttpMessages>(pool_, HttpRequest{"GET", headers(HttpVerb::get), {}, {}, false},
                                           server_.limits.max_message_bytes, *this);
  stream_timer_.start(server_.timeouts.startup, [this] {
    if (stream_) stream_->close();
    loop_.retire(std::move(stream_));
    not_connected({EndReason::timeout_startup,
                   fmt::format("named no endpoint for HTTP+SSE within {} ms (timeouts.startup)",
                               server_.timeouts.startup.count()),
                   false});
  });
}

void HttpSession::on_other_event(HttpMessages&, const http::SseEvent& event) {
  if (!sse_ || event.event != "endpoint" || state_ != State::connecting) return;
  auto target = resolve_target(pool_.url(), event.data);
  if (target) return connected(std::move(*target));
  if (stream_) stream_->close();
  loop_.retire(std::move(stream_));
  not_connected(
      {EndReason::upstream_protocol, "named an endpoint that is not used: " + target.error().text, false});
}

void HttpSession::connected(std::string target) {
  stream_timer_.stop();
  endpoint_ = std::move(target);
  was_refused_.reset();
  state_ = State::fresh;
  owner_.on_session_speaks_sse();
  if (!own_params_.empty()) return send_initialize();
  owner_.on_session_free(*this);
}

void HttpSession::not_connected(const HttpFault& fault) {
  stream_timer_.stop();
  state_ = State::fresh;
  // What Streamable HTTP was refused with says more than that this does not work either.
  core::Failure failure{fault.reason, fmt::format("{} {}", server_.name, fault.text), fault.limit_ms};
  bool refused_us = fault.reason == EndReason::unauthorized || fault.reason == EndReason::forbidden;
  if (was_refused_ && !refused_us) failure = *was_refused_;
  owner_.on_session_failed(*this, failure);
}

void HttpSession::sse_stream_ended(const MessagesEnd& end) {
  if (state_ == State::connecting) {
    HttpFault fault = end.fault;
    if (end.kind == MessagesEnd::Kind::complete) {
      fault = {EndReason::upstream_protocol,
               end.is_stream ? "ended its event stream before it named an endpoint"
                             : "answered a GET for HTTP+SSE with no event stream",
               false};
    }
    if (end.status == 401 || end.status == 403) {
      stream_timer_.stop();
      state_ = State::fresh;
      return owner_.on_session_failed(*this, owner_.failure_of(end));
    }
    return not_connected(fault);
  }
  if (state_ == State::opening && !own_params_.empty()) {
    asked_.clear();
    return owner_.on_session_failed(
        *this, {EndReason::upstream_exited, server_.name + " closed its event stream during initialize"});
  }
  lost();
}

// ---- Lineward's own requests ----

void HttpSession::ask_over_sse(int64_t id, std::string body, milliseconds limit, Answered answered,
                               std::function<void()> tell_late) {
  Asked& asked = asked_[id];
  asked.answered = std::move(answered);
  asked.limit = std::make_unique<net::Timer>(loop_);
  asked.limit->start(limit, [this, id, limit, tell = std::move(tell_late)] {
    if (tell) tell();
    MessagesEnd late;
    late.kind = MessagesEnd::Kind::failed;
    late.fault = {EndReason::timeout_startup, fmt::format("did not answer within {} ms", limit.count()),
                  false};
    asked_over_sse(id, std::nullopt, late);
  });
  ErrandPlan plan;
  plan.request = request(std::move(body));
  plan.limit = limit;
  plan.done = lifetime_.guard([this, id](std::optional<mcp::Message>, const MessagesEnd& end) {
    if (end.kind != MessagesEnd::Kind::complete) asked_over_sse(id, std::nullopt, end);
  });
  errands_.run(std::move(plan));
}

void HttpSession::asked_over_sse(int64_t id, std::optional<mcp::Message> answer, const MessagesEnd& end) {
  auto found = asked_.find(id);
  if (found == asked_.end()) return;
  Answered answered = std::move(found->second.answered);
  loop_.defer([timer = std::shared_ptr<net::Timer>(std::move(found->second.limit))] { timer->stop(); });
  asked_.erase(found);
  answered(std::move(answer), end);
}

// Takes a response that answers one of ours.
bool HttpSession::own_answer(mcp::Message& message) {
  if (!sse_ || asked_.empty() || !message.has(Field::id)) return false;
  auto id = own_id(message.raw(Field::id));
  if (!id || asked_.count(*id) == 0) return false;
  MessagesEnd end;
  end.status = 200;
  end.is_stream = true;
  asked_over_sse(*id, std::move(message), end);
  return true;
}

}  // namespace lineward::upstream
