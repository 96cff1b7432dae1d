#include "proxy/upstream/layers/probe_call.h"

#include <fmt/format.h>

#include <utility>

#include "foundation/base/random_id.h"
#include "foundation/json/json_scan.h"

namespace lineward::upstream {
namespace {

using State = ProbeOutcome::State;

// Stamps of one process compare with each other, and with no other's.
const std::string& process_name() {
  static const std::string kName = random_id();
  return kName;
}

std::chrono::nanoseconds now() {
  return std::chrono::nanoseconds(net::Loop::nanoseconds());
}

int64_t micros(std::chrono::nanoseconds time) {
  return time.count() / 1000;
}

std::string_view word_of(State state) {
  switch (state) {
    case State::running: return "running";
    case State::completed: return "completed";
    case State::left: return "left";
    case State::ended: return "ended";
  }
  return "";
}

}  // namespace

ProbeCall::ProbeCall(net::Loop& loop, core::UpstreamRequest&& request, core::CallCallbacks& owner,
                     mcp::ProbeRequest probe, ProbeBook& book, ProbeBook::Caller caller)
    : request_(std::move(request)),
      owner_(&owner),
      probe_(std::move(probe)),
      book_(book),
      caller_(std::move(caller)),
      timer_(loop) {
  loop.defer(lifetime_, [this] { begin(); });
}

ProbeCall::~ProbeCall() {
  if (live_) over(State::ended, mcp::EndReason::internal);
}

void ProbeCall::over(State state, mcp::EndReason reason) {
  live_ = false;
  timer_.stop();
  if (is_stream()) book_.end(caller_, probe_.nonce, state, reason, now());
}

void ProbeCall::cancel(core::CancelCause why) {
  if (!live_) return;
  over(why.reason == mcp::EndReason::cancelled_client ? State::left : State::ended, why.reason);
}

void ProbeCall::begin() {
  if (!live_) return;
  const auto watch = lifetime_.watch();
  owner_->on_call_phase(core::CallPhase::written);
  if (!watch.gone() && live_) step();
}

void ProbeCall::step() {
  if (sent_ < probe_.events) {
    ++sent_;
    auto event = mcp::Message::parse(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":0,"progress":{},)"
        R"("total":{},"_meta":{{{}:{{"at":{}}}}}}}}})",
        sent_, probe_.events, json::quote(mcp::kProbeMeta), micros(now())));
    const auto watch = lifetime_.watch();
    owner_->on_call_message(std::move(event).value());
    if (watch.gone() || !live_) return;
    if (sent_ < probe_.events) return timer_.start(probe_.every, [this] { step(); });
  }
  if (probe_.silent.count() > 0 && !std::exchange(was_silent_, true))
    return timer_.start(probe_.silent, [this] { step(); });
  finish();
}

void ProbeCall::finish() {
  auto answer = mcp::Message::parse(
      fmt::format(R"({{"jsonrpc":"2.0","id":0,"result":{{"resultType":"complete",{}}}}})", result()));
  over(State::completed, mcp::EndReason::ok);
  owner_->on_call_message(std::move(answer).value());
}

std::string ProbeCall::result() const {
  std::string out =
      fmt::format(R"("gateway":"{}","at":{},"bytes":{})", process_name(), micros(now()), request_.bytes_in);
  if (!probe_.asks_outcome) return out;
  const auto outcome = book_.find(caller_.principal, probe_.nonce, now());
  if (!outcome) return out + R"(,"outcome":{"state":"unknown"})";
  return out + fmt::format(R"(,"outcome":{{"state":"{}","reason":"{}","began":{},"ended":{},"arrivals":{}}})",
                           word_of(outcome->state), mcp::name(outcome->reason), micros(outcome->began),
                           micros(outcome->ended), outcome->arrivals);
}

}  // namespace lineward::upstream
