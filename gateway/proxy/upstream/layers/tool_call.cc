#include "proxy/upstream/layers/tool_call.h"

#include <algorithm>

#include "config/retry_words.h"
#include "foundation/base/backoff.h"
#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "proxy/core/tool_view.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/layers/tool_upstream.h"

namespace lineward::upstream {
namespace {

using core::CallPhase;
using mcp::EndReason;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// A list younger than this is not fetched again only because a call does not match it.
constexpr milliseconds kFresh{1000};
constexpr milliseconds kLongestPause{10000};

bool is_param_header(const std::string& name) {
  constexpr std::string_view kPrefix = "mcp-param-";
  return name.size() > kPrefix.size() &&
         std::equal(kPrefix.begin(), kPrefix.end(), name.begin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
}

}  // namespace

ToolCall::ToolCall(ToolUpstream& upstream, core::UpstreamRequest request, core::CallCallbacks& owner,
                   HeaderRole role)
    : PassingCall(std::move(request), &owner),
      tools_(upstream),
      role_(role),
      view_(upstream.view_key(request_)),
      timer_(upstream.loop()) {
  if (request_.method == Method::tools_call) tool_ = request_.message.text(Field::params_name);
  if (request_.method == Method::completion_complete && upstream.has_view())
    tool_ = core::tool_named_by(request_.method, request_.message);
  if (request_.method == Method::tools_list) changes_ = upstream.book().changes();
  keeps_message_ = upstream.server().retry.attempts > 1 || role == HeaderRole::make;
}

ToolCall::~ToolCall() {
  lifetime_.end();
  if (live()) cancel_alive(tools_.name());
}

// ---- to the server ----

std::optional<core::Failure> ToolCall::begin() {
  if (is_judged()) {
    const bool is_known = tools_.judge(view_, tool_) != ToolUpstream::Judged::unknown;
    if (!is_known && tools_.may_learn_to_judge(view_)) return learn();
    if (auto failure = judged()) return failure;
  }
  // A legacy server does not know these properties.
  bool asks = tools_.inner().era() != mcp::Era::legacy;
  bool wants_facts = request_.method == Method::tools_call && role_ != HeaderRole::none && asks;
  if (!wants_facts || tools_.book().view(view_).known || !tools_.may_learn(view_)) return go();
  return learn();
}

std::optional<core::Failure> ToolCall::learn() {
  auto failure = tools_.learn(*this);
  listing_ = !failure;
  return failure;
}

bool ToolCall::is_judged() const {
  const bool names_tool = request_.method == Method::tools_call || !tool_.empty();
  return names_tool && !begun_ && tools_.has_view();
}

std::optional<core::Failure> ToolCall::judged() const {
  switch (tools_.judge(view_, tool_)) {
    case ToolUpstream::Judged::shown: return std::nullopt;
    case ToolUpstream::Judged::hidden: return core::unknown_tool(tool_);
    case ToolUpstream::Judged::left_out:
    case ToolUpstream::Judged::unknown: break;
  }
  return tools_.unjudged(view_, tool_);
}

void ToolCall::listing_phase(CallPhase phase) {
  tell(core::waits_in_line(phase) ? phase : CallPhase::starting);
}

void ToolCall::learned(bool listed) {
  if (!live()) return;
  listing_ = false;
  place_.reset();
  if (auto failure = std::exchange(failure_, std::nullopt)) {
    const ToolFacts* known = facts();
    if (!listed || known == nullptr || !known->repeatable || !tools_.may_repeat()) return fail(*failure);
    count_repeat(*failure);
    return go_later(tools_.server().retry.backoff);
  }
  if (auto refusal = std::exchange(refusal_, std::nullopt)) {
    // The same headers would be refused again.
    const ToolFacts* known = facts();
    if (!listed || known == nullptr || known->params.empty()) return answer(std::move(*refusal));
  }
  if (is_judged()) {
    // The list may have changed while it was read.
    const bool is_known = tools_.judge(view_, tool_) != ToolUpstream::Judged::unknown;
    if (!is_known && listed && tools_.may_learn_to_judge(view_) && !std::exchange(judged_again_, true)) {
      if (auto failure = learn()) fail(*failure);
      return;
    }
    if (auto failure = judged()) return fail(*failure);
  }
  if (auto failure = go()) fail(*failure);
}

void ToolCall::unreached(const core::Failure& failure) {
  if (!live()) return;
  listing_ = false;
  place_.reset();
  if (auto first = std::exchange(failure_, std::nullopt)) return fail(*first);
  ++attempts_;
  on_call_failed(failure);
}

const ToolFacts* ToolCall::facts() const {
  return tools_.book().view(view_).find(tool_);
}

std::string ToolCall::header_fault() const {
  const ToolFacts* known = facts();
  if (known == nullptr || known->params.empty()) return {};
  const std::string_view arguments = request_.message.raw(Field::params_arguments);
  return role_ == HeaderRole::make ? mcp::argument_fault(known->params, arguments)
                                   : mcp::param_header_fault(known->params, arguments, request_.headers);
}

// Its only callback reports a repeated attempt.
std::optional<core::Failure> ToolCall::go() {
  const bool judges = role_ == HeaderRole::make || (role_ == HeaderRole::check && !begun_);
  if (judges && request_.method == Method::tools_call) {
    if (std::string fault = header_fault(); !fault.empty()) {
      bool old = tools_.loop().now() - tools_.book().view(view_).listed_at > kFresh;
      if (old && tools_.may_learn(view_) && !std::exchange(relisted_, true))
        return learn();  // the tool may have changed
      auto refusal =
          mcp::Message::parse(mcp::error_message("0", mcp::kHeaderMismatch, "Header mismatch: " + fault));
      tools_.loop().defer(lifetime_,
                          [this, message = std::move(*refusal)]() mutable { answer(std::move(message)); });
      return std::nullopt;
    }
  }
  if (role_ == HeaderRole::make && request_.method == Method::tools_call) {
    core::HeaderFields headers = request_.headers;
    std::erase_if(headers, [](const auto& header) { return is_param_header(header.first); });
    if (const ToolFacts* known = facts()) {
      for (auto& header :
           mcp::make_param_headers(known->params, request_.message.raw(Field::params_arguments)))
        headers.push_back(std::move(header));
    }
    request_.headers = std::move(headers);
  }
  // Only with a legacy server may the headers stay unknown.
  const bool only_legacy = asks_modern_only() && !begun_anew_ && tools_.inner().era() == mcp::Era::legacy;
  ++attempts_;
  begun_ = true;
  written_ = false;
  // The message is copied only if it may be sent again.
  core::UpstreamRequest request;
  if (keeps_message_) {
    request = request_;
    held_.charge(request_.account());
    held_.set(request_.message.bytes().size());
  } else if (only_legacy) {
    mcp::Message message = std::move(request_.message);
    request = request_;
    request.message = std::move(message);
  } else {
    request = std::move(request_);
    request_.method = request.method;
  }
  if (only_legacy) request.only_era = mcp::Era::legacy;
  auto call = tools_.inner().start(std::move(request), *this);
  if (!call) return call.error();
  inner_ = std::move(*call);
  tell_attempt(attempts_);
  return std::nullopt;
}

void ToolCall::tell_attempt(uint32_t attempt) {
  if (attempt <= attempts_told_) return;
  attempts_told_ = attempt;
  owner_->on_call_repeated();
}

void ToolCall::go_later(milliseconds after) {
  timer_.start(Backoff::exact({after, kLongestPause}, attempts_ - 1), [this] {
    if (!begun_) tell_attempt(attempts_ + 1);
    if (auto failure = begun_ ? go() : begin()) fail(*failure);
  });
}

bool ToolCall::asks_modern_only() const {
  return role_ != HeaderRole::none && request_.method == Method::tools_call && !begun_ &&
         !tools_.has_view() && !tools_.book().view(view_).known;
}

void ToolCall::begin_anew() {
  if (!keeps_message_) request_.message = inner_->request_message();
  retire_inner();
  begun_ = false;
  begun_anew_ = true;
  --attempts_;
  if (auto failure = begin()) fail(*failure);
}

// ---- from the server ----

// The exchange's clock never returns to a phase before the first `written`. A listen does: its clients are
// notified that the server is away.
void ToolCall::tell(CallPhase phase) {
  const bool listens = request_.method == Method::subscriptions_listen;
  if (!live() || told_ == phase || (told_ == CallPhase::written && !listens)) return;
  told_ = phase;
  owner_->on_call_phase(phase);
}

void ToolCall::on_call_phase(CallPhase phase) {
  written_ = written_ || phase == CallPhase::written;
  tell(phase);
}

void ToolCall::on_call_message(mcp::Message&& message) {
  bool last = message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error;
  if (!last) {
    heard_ = true;
    if (mcp::method_of(message.method()) == Method::tools_list_changed) tools_.book().changed();
    if (inner_ && !inner_->live()) return answer(std::move(message));  // a listen may end with a notification
    if (live()) owner_->on_call_message(std::move(message));
    return;
  }
  if (refused_headers(message)) return;
  // A list of the server's last life judges no call.
  const bool is_servers = !inner_ || inner_->call_facts().is_from_server;
  if (is_servers && request_.method == Method::tools_list && message.kind() == mcp::MessageKind::result) {
    ToolView& view = tools_.book().view(view_);
    ViewReading for_view{changes_, tools_.loop().now()};
    if (tools_.book().read(view, message, tools_.has_view() ? &for_view : nullptr) &&
        role_ == HeaderRole::make) {
      auto cut = mcp::Message::parse(ToolCatalog::without_invalid(view, message));
      if (cut) message = std::move(*cut);
    }
  }
  answer(std::move(message));
}

// The server's definition of the tool differs from the stored one: the list is fetched again, once.
bool ToolCall::refused_headers(const mcp::Message& message) {
  bool mismatch = role_ == HeaderRole::make && request_.method == Method::tools_call &&
                  message.kind() == mcp::MessageKind::error &&
                  mcp::error_code(message) == mcp::kHeaderMismatch;
  if (!mismatch || heard_ || !tools_.may_learn(view_) || std::exchange(relisted_, true)) return false;
  if (learn()) return false;  // too many calls wait: the refusal stands
  log::write(log::Level::info, "tool.headers_refused",
             {{"upstream", tools_.name()}, {"tool", log::Excerpt(tool_, 128)}});
  retire_inner();
  refusal_ = message;
  return true;
}

void ToolCall::on_call_failed(const core::Failure& failure) {
  if (failure.of_other_era) return begin_anew();
  if (!repeats(failure)) fail(failure);
}

// behaviour.md 11: repeats only when not one byte was sent, or the tool declares it safe and the
// configuration opts in.
bool ToolCall::repeats(const core::Failure& failure) {
  const config::Retry& retry = tools_.server().retry;
  auto opted = [&](std::string_view what) {
    if (retry.on.empty()) return what == "connect";
    return std::find(retry.on.begin(), retry.on.end(), what) != retry.on.end();
  };
  if (attempts_ >= retry.attempts || heard_ || failure.session_over || !keeps_message_) return false;
  bool unreachable = failure.reason == EndReason::upstream_unreachable;
  // `initialize` is reported as written only with its answer.
  const bool opens = request_.method == Method::initialize;
  const bool maybe_sent = opens ? !failure.nothing_sent : written_;
  const bool is_handshake = opens || request_.method == Method::server_discover;
  const bool may_be_twice = is_handshake && failure.server_status == 0 && opted(config::kRetryHandshake);
  if (!maybe_sent || may_be_twice) {
    if (!unreachable && failure.reason != EndReason::timeout_connect) return false;
    if (!(may_be_twice || opted("connect")) || !tools_.may_repeat()) return false;
    retire_inner();
    count_repeat(failure);
    go_later(retry.backoff);
    return true;
  }
  bool busy = failure.server_status >= 502 && failure.server_status <= 504;
  bool lost = failure.server_status == 0 && (unreachable || failure.reason == EndReason::upstream_exited);
  if (!(busy && opted("unavailable")) && !(lost && opted("reset"))) return false;
  if (request_.method != Method::tools_call) return false;
  retire_inner();
  if (!tools_.book().view(view_).known && tools_.may_learn(view_)) {
    if (learn()) return false;
    failure_ = failure;
    return true;
  }
  const ToolFacts* known = facts();
  if (known == nullptr || !known->repeatable || !tools_.may_repeat()) return false;
  count_repeat(failure);
  go_later(retry.backoff);
  return true;
}

void ToolCall::count_repeat(const core::Failure& failure) {
  auto on = !written_                      ? metrics::RetryOn::connect
            : failure.server_status >= 502 ? metrics::RetryOn::unavailable
                                           : metrics::RetryOn::reset;
  ++metrics::upstream_stats(tools_.server().name).retries[static_cast<size_t>(on)];
}

// ---- end ----

void ToolCall::answer(mcp::Message message) {
  if (core::CallCallbacks* owner = take_owner()) owner->on_call_message(std::move(message));
}

void ToolCall::fail(const core::Failure& failure) {
  if (core::CallCallbacks* owner = take_owner()) owner->on_call_failed(failure);
}

void ToolCall::retire_inner() {
  tools_.loop().retire(std::move(inner_));
}

void ToolCall::cancel(core::CancelCause why) {
  if (!live()) return;
  owner_ = nullptr;
  timer_.stop();
  if (listing_) tools_.forget(*this);
  listing_ = false;
  place_.reset();
  if (cancel_inner(why)) return;
  metrics::upstream_stats(tools_.server().name)
      .cancel_settled(request_.tag, {});  // between two attempts, or before the first
}

}  // namespace lineward::upstream
