#include "proxy/upstream/layers/answer_check.h"

#include <utility>

#include "protocol/mcp/errors.h"
#include "proxy/upstream/shared/own_limits.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using std::chrono::milliseconds;

// A slow server does not delay the others' starts.
constexpr milliseconds kTurn{5000};

}  // namespace

AnswerCheck::AnswerCheck(net::Loop& loop, const config::Server& server, core::Upstream& inner, Plan plan,
                         core::UpstreamRequest request, Done done)
    : loop_(loop),
      server_(server),
      inner_(inner),
      plan_(std::move(plan)),
      method_(request.method),
      scope_(request.scope),
      request_(std::move(request)),
      done_(std::move(done)) {
  request_.tag = 0;
  held_.charge(request_.account());
  held_.set(request_.message.bytes().size());
  // A handshake opens its client's session.
  request_.of_gateway = method_ != mcp::Method::initialize;
}

AnswerCheck::~AnswerCheck() {
  lifetime_.end();
  cancel("nothing waits for it any more");
}

std::optional<core::Failure> AnswerCheck::begin() {
  limit_.start(server_.timeouts.startup + own_limit(server_, request_.message.method()), [this] {
    if (call_ && call_->live()) call_->cancel({"it took too long", mcp::EndReason::timeout_request});
    finish(Unexpected<core::Failure>{{mcp::EndReason::timeout_request, "did not answer in time"}});
  });
  auto call = inner_.start(std::move(request_), *this);
  if (!call) return call.error();
  call_ = std::move(*call);
  return std::nullopt;
}

void AnswerCheck::begin_in_turn(process::StartLine& line) {
  turn_.take(line, process::StartLine::Order::last, [this] {
    turn_timer_.start(kTurn, [this] { turn_.leave(); });
    begin_or_fail();
  });
}

void AnswerCheck::begin_or_fail() {
  if (auto failure = begin())
    loop_.defer(lifetime_, [this, why = std::move(*failure)] { finish(Unexpected<core::Failure>{why}); });
}

void AnswerCheck::begin_later(process::StartLine& line, milliseconds pause) {
  awaited_line_ = &line;
  pause_.start(pause, [this] { hurry(); });
}

void AnswerCheck::hurry() {
  pause_.stop();
  if (process::StartLine* line = std::exchange(awaited_line_, nullptr)) begin_in_turn(*line);
}

void AnswerCheck::begin_now() {
  pause_.stop();
  const bool waits = std::exchange(awaited_line_, nullptr) != nullptr || turn_.waits();
  if (!waits) return;
  turn_.leave();
  begin_or_fail();
}

void AnswerCheck::cancel(std::string_view why) {
  done_ = nullptr;
  awaited_line_ = nullptr;
  pause_.stop();
  limit_.stop();
  turn_timer_.stop();
  turn_.leave();
  if (call_ && call_->live()) call_->cancel(why);
}

// Its server runs.
void AnswerCheck::on_call_phase(core::CallPhase phase) {
  if (phase == core::CallPhase::written) turn_.leave();
}

void AnswerCheck::on_call_message(mcp::Message&& message) {
  switch (message.kind()) {
    case mcp::MessageKind::result:
    case mcp::MessageKind::error: return finish(std::move(message));
    case mcp::MessageKind::request:
      return call_->reply(mcp::error_message(message.raw(Field::id), mcp::kMethodNotFound,
                                             "the client of this request cannot be asked"));
    case mcp::MessageKind::notification: return;
  }
}

void AnswerCheck::on_call_failed(const core::Failure& failure) {
  finish(Unexpected<core::Failure>{failure});
}

void AnswerCheck::finish(Result<mcp::Message, core::Failure> answer) {
  limit_.stop();
  turn_timer_.stop();
  turn_.leave();
  if (Done done = std::exchange(done_, nullptr)) done(*this, std::move(answer));
}

}  // namespace lineward::upstream
