#include "proxy/upstream/stdio/stdio_era_prober.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/config.h"
#include "foundation/base/backoff.h"

namespace lineward::upstream {

using std::chrono::milliseconds;

namespace {

// A slow server does not delay the others' starts.
constexpr milliseconds kProbeTurn{5000};

}  // namespace

StdioEraProber::StdioEraProber(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
                               StdioHealth& health, StdioEraProberCallbacks& owner)
    : loop_(loop),
      spawner_(spawner),
      server_(server),
      health_(health),
      owner_(owner),
      pause_timer_(loop),
      turn_timer_(loop) {}

void StdioEraProber::ask(const core::UpstreamRequest* first, Done done) {
  done_ = std::move(done);
  awaited_ = first != nullptr;
  asked_ = true;
  // In the pause before the second probe the first verdict is valid.
  if (weak_ && awaited_) return decide(EraVerdict(*weak_));
  begin();
}

void StdioEraProber::begin() {
  if (probe_ || stopping_) return;
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
  probe_ = std::make_unique<EraProbe>(
      loop_, spawner_, server_, weak_ ? EraProbe::First::initialize : EraProbe::First::discover,
      [this](const EraVerdict& verdict) { probed(verdict); }, [this] { gone(); });
}

void StdioEraProber::probed(const EraVerdict& verdict) {
  if (!done_) return;  // hurry() decided already
  const bool first = !weak_;
  if (first && verdict.is_weak() && !awaited_ && !health_.is_proven()) {
    weak_ = verdict;
    return;
  }
  decide(verdict);
}

void StdioEraProber::gone() {
  loop_.retire(std::move(probe_));
  if (weak_ && done_ && !stopping_) return begin();
  owner_.on_prober_free();
}

void StdioEraProber::hurry() {
  awaited_ = true;
  if (turn_.waits()) return begin();
  if (!weak_ || !done_) return;
  const EraVerdict weak = *weak_;
  decide(weak);
  if (probe_) probe_->stop();
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

void StdioEraProber::stop() {
  stopping_ = true;
  turn_.leave();
  weak_.reset();
  if (probe_) probe_->stop();
}

}  // namespace lineward::upstream
