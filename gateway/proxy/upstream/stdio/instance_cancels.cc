#include "proxy/upstream/stdio/instance_cancels.h"

#include <algorithm>
#include <utility>

#include "foundation/log/log.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::upstream {

using std::chrono::milliseconds;

namespace {

// Maximum bytes of a client's cancel reason that is forwarded.
constexpr size_t kMaxReason = 1024;
// How often a slow reader gets another grace.
constexpr int kMostLooks = 10;

}  // namespace

InstanceCancels::InstanceCancels(net::Loop& loop, const config::Server& server, InstanceCalls& calls,
                                 InstanceWire& wire)
    : loop_(loop),
      server_(server),
      stats_(metrics::upstream_stats(server.name)),
      calls_(calls),
      wire_(wire),
      write_later_(
          loop, [](void* self) { static_cast<InstanceCancels*>(self)->write_now(); }, this),
      timer_(loop) {}

void InstanceCancels::cancel(StdioCall& call, std::string_view why) {
  PendingCall* entry = calls_.find(call.id);
  if (entry == nullptr) return;
  entry->call = nullptr;
  entry->caller = std::make_unique<KeptCallerId>();
  entry->caller->keep(CallerId(call.request));
  // Its place in flight is free; only the id is remembered, to drop a late answer.
  calls_.free_place(*entry);
  entry->cancelled = true;
  entry->cancelled_at = loop_.now();
  entry->tag = call.request.tag;
  if (call.request.method != mcp::Method::initialize && server_.cancel != config::CancelMode::never) {
    cancels_.push_back({call.id, std::string(why.substr(0, kMaxReason)), call.open_questions.refuse()});
    write_later_.schedule();
  } else {
    refuse(call.open_questions.refuse());
  }
  remember(call.id);
}

void InstanceCancels::cancel_own(int64_t id) {
  if (server_.cancel != config::CancelMode::never)
    wire_.write(mcp::cancel_notification(id, "it took too long", wire_.era()));
  remember(id);
}

void InstanceCancels::remember(int64_t id) {
  const milliseconds due = loop_.now() + server_.timeouts.cancel_grace;
  remembered_.emplace(due, Remembered{id, wire_.stdin_state().taken, 0});
  look_at(due);
}

void InstanceCancels::look_at(milliseconds due) {
  if (timer_.running() && looks_at_ <= due) return;
  looks_at_ = due;
  timer_.start(std::max(due - loop_.now(), milliseconds(0)), [this] { sweep(); });
}

// A finished call is not cancelled: an answer that arrived in the same turn has been read by now.
void InstanceCancels::write_now() {
  std::vector<Cancel> cancels;
  cancels.swap(cancels_);
  for (Cancel& cancel : cancels) {
    if (PendingCall* entry = calls_.find(cancel.id)) {
      wire_.write(mcp::cancel_notification(cancel.id, cancel.why, wire_.era()));
      entry->told = metrics::CancelTold::notification;
      log::write(log::Level::debug, "call.cancel",
                 {{"upstream", server_.name}, {"upstream_id", cancel.id}, {"why", cancel.why}});
    }
    refuse(std::move(cancel.refusals));
  }
}

void InstanceCancels::refuse(std::vector<std::string> refusals) {
  for (std::string& refusal : refusals)
    wire_.write_small(std::move(refusal));
}

void InstanceCancels::sweep() {
  const milliseconds again =
      loop_.now() + std::max<milliseconds>(server_.timeouts.cancel_grace, milliseconds(1));
  while (!remembered_.empty() && remembered_.begin()->first <= loop_.now()) {
    Remembered one = remembered_.begin()->second;
    remembered_.erase(remembered_.begin());
    PendingCall* entry = calls_.find(one.id);
    if (entry == nullptr) continue;  // it was answered after all
    if (still_reads(one)) {
      remembered_.emplace(again, one);
      continue;
    }
    log::write(log::Level::debug, "call.cancel_ignored",
               {{"upstream", server_.name}, {"upstream_id", entry->id}});
    settle(*entry, metrics::CancelOutcome::ignored);
    entry->cancelled = false;
    // Clients' calls must not end for one of Lineward's own requests, nor for a listen, which leaves no work
    // running.
    if (server_.cancel == config::CancelMode::kill && !entry->own && !entry->listen) {
      ProcessEnd why{mcp::EndReason::upstream_exited, "was ended because it ignored a cancellation", {}};
      why.counts = false;
      return wire_.stop(why);
    }
    calls_.forget(*entry);
  }
  if (!remembered_.empty()) look_at(remembered_.begin()->first);
  wire_.tell_free();
}

bool InstanceCancels::still_reads(Remembered& one) const {
  const InstanceWire::StdinState state = wire_.stdin_state();
  if (state.owed == 0 || ++one.looks > kMostLooks) return false;
  return std::exchange(one.taken, state.taken) < state.taken;
}

void InstanceCancels::settle(const PendingCall& entry, metrics::CancelOutcome outcome) {
  if (!entry.cancelled) return;
  stats_.cancel_settled(entry.tag, {outcome, entry.told, loop_.now() - entry.cancelled_at});
}

// An error, an error result and the result of a listen mean that the server stopped the work.
void InstanceCancels::late_answer(const PendingCall& entry, const mcp::Message& message) {
  const bool stopped = entry.listen || message.kind() == mcp::MessageKind::error ||
                       message.raw(mcp::Field::result_is_error) == "true";
  ++stats_.late_responses;
  settle(entry, stopped ? metrics::CancelOutcome::stopped : metrics::CancelOutcome::raced);
  log::write(log::Level::debug, "upstream.late_response", {{"upstream", server_.name}});
}

void InstanceCancels::clear() {
  timer_.stop();
  remembered_.clear();
  cancels_.clear();
  write_later_.cancel();
}

}  // namespace lineward::upstream
