#include "proxy/upstream/stdio/stdio_era_prober.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "foundation/base/backoff.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/core/identity.h"
#include "proxy/upstream/shared/own_id.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using std::chrono::milliseconds;

// A slow server does not delay the others' starts.
constexpr milliseconds kProbeTurn{5000};
constexpr milliseconds kDiscoverPatience{2000};
constexpr int64_t kDiscoverId = 1;
constexpr int64_t kInitializeId = 2;

}  // namespace

void StdioEraProber::ask(const core::UpstreamRequest* first, Done done) {
  done_ = std::move(done);
  about_caller_.clear();
  if (first != nullptr) about_caller_ = core::identity_variables(first->headers, server_.identity.env);
  awaited_ = first != nullptr;
  asked_ = true;
  // In the pause before the second probe the first verdict is valid.
  if (weak_ && awaited_) return decide(EraVerdict(*weak_));
  begin();
}

void StdioEraProber::begin() {
  if (is_busy() || stopping_) return;
  const milliseconds pause = health_.start_pause(not_before_);
  if (pause.count() > 0) {
    if (!pause_timer_.running()) pause_timer_.start(pause, [this] { begin(); });
    return;
  }
  if (awaited_) {
    turn_.leave();
  } else if (!turn_.is_held()) {
    const auto order = server_.required ? process::StartLine::Order::first : process::StartLine::Order::last;
    if (!turn_.waits()) turn_.take(spawner_.own_starts(), order, [this] { begin(); });
    return;
  }
  if (turn_.is_held()) turn_timer_.start(kProbeTurn, [this] { turn_.leave(); });
  health_.start_begun();
  initialize_first_ = weak_.has_value();
  refused_initialize_ = knows_initialize_ = probed_ = false;
  process_ = std::make_unique<StdioProcess>(loop_, spawner_, server_, *this);
  limit_.start(server_.timeouts.startup, [this] {
    failed({EndReason::timeout_startup,
            fmt::format("did not answer within {} ms of its start (timeouts.startup)",
                        server_.timeouts.startup.count()),
            process_->last_stderr()});
  });
  process_->start(about_caller_);
}

// ---- the probe process ----

void StdioEraProber::on_process_started() {
  if (probed_) return;
  if (initialize_first_) return ask_initialize();
  ask_discover();
  patience_.start(kDiscoverPatience, [this] { ask_initialize(); });
}

void StdioEraProber::ask_discover() {
  process_->write_line(mcp::discover_request(kDiscoverId));
}

void StdioEraProber::ask_initialize() {
  process_->write_line(mcp::initialize_request(kInitializeId, mcp::bare_initialize_params()));
}

void StdioEraProber::on_process_line(json::Text line) {
  auto message = mcp::Message::parse(std::move(line));
  if (!message || probed_) return;
  const bool refused = message->kind() == mcp::MessageKind::error;
  if (!refused && message->kind() != mcp::MessageKind::result) return;
  const std::optional<int64_t> id = message->has(Field::id) ? own_id(message->raw(Field::id)) : std::nullopt;
  if (id == kDiscoverId) return probed(verdict_of_discover(*message));
  if (id != kInitializeId) return;
  if (!refused) {
    EraVerdict verdict;
    verdict.known = true;
    verdict.versions = {message->text(Field::result_protocol_version)};
    if (message->has(Field::result_server_info))
      verdict.server = describe_implementation(message->raw(Field::result_server_info));
    probed(verdict);
  } else if (initialize_first_ && !std::exchange(refused_initialize_, true)) {
    // It runs, and may not be a legacy server.
    knows_initialize_ = mcp::error_code(*message) != mcp::kMethodNotFound;
    ask_discover();
  }
}

void StdioEraProber::on_process_down(const ProcessEnd& end) {
  failed(end);
}

void StdioEraProber::failed(ProcessEnd end) {
  EraVerdict verdict;
  const bool ours = end.reason == EndReason::cancelled_drain;
  if (knows_initialize_ && !ours) {
    verdict.known = true;  // it knows `initialize`, but not the modern request
  } else {
    // An exit means legacy: some servers exit on anything before `initialize`. A failed start, Lineward's own
    // stop, or an exit on `initialize` proves nothing.
    verdict.known = end.reason == EndReason::upstream_exited && !initialize_first_;
    verdict.failure = std::move(end);
  }
  probed(verdict);
}

void StdioEraProber::probed(const EraVerdict& verdict) {
  patience_.stop();
  limit_.stop();
  if (std::exchange(probed_, true)) return;
  StdioProcess* const probe = process_.get();  // retired, if the upstream stops now
  if (done_) {                                 // otherwise hurry() decided already
    if (!weak_ && verdict.is_weak() && !awaited_ && !health_.is_proven()) {
      weak_ = verdict;
    } else {
      decide(verdict);
    }
  }
  // Ends the probe process; its later reports are ignored.
  probe->stop({EndReason::cancelled_drain, "was only asked for its era", {}});
}

void StdioEraProber::on_process_gone() {
  loop_.retire(std::move(process_));
  if (weak_ && done_ && !stopping_) return begin();
  freed_();
}

// ---- the verdict ----

void StdioEraProber::hurry() {
  awaited_ = true;
  if (turn_.waits()) return begin();
  if (!weak_ || !done_) return;
  const EraVerdict weak = *weak_;
  decide(weak);
  stop_process();
}

void StdioEraProber::decide(const EraVerdict& verdict) {
  weak_.reset();
  turn_.leave();
  const Backoff::Range pauses{server_.restart.backoff, server_.restart.max_backoff};
  not_before_ = verdict.known ? milliseconds(0) : loop_.now() + Backoff::exact(pauses, failures_);
  failures_ = verdict.known ? 0 : failures_ + 1;
  core::Failure failure;
  if (!verdict.known) {
    failure = {verdict.failure.reason,
               fmt::format("{} {}", server_.name, start_failure_text(verdict.failure, server_))};
  }
  if (auto done = std::exchange(done_, nullptr)) done(verdict, failure);
}

milliseconds StdioEraProber::pause() const {
  return std::max(not_before_ - loop_.now(), milliseconds(0));
}

void StdioEraProber::stop_process() {
  if (is_busy()) process_->stop({EndReason::cancelled_drain, "was stopped", {}});
}

void StdioEraProber::stop() {
  stopping_ = true;
  turn_.leave();
  weak_.reset();
  stop_process();
}

}  // namespace lineward::upstream
