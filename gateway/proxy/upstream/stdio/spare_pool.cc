#include "proxy/upstream/stdio/spare_pool.h"

#include <algorithm>

#include "foundation/log/log.h"

namespace lineward::upstream {

namespace {

// Spares started in one turn of this server in the start line, and the length of that turn: a spare's start
// has no end that could be observed.
constexpr size_t kInATurn = 4;
constexpr std::chrono::milliseconds kSpareTurn{500};

}  // namespace

std::unique_ptr<StdioInstance> SparePool::take() {
  if (spares_.empty()) return nullptr;
  std::unique_ptr<StdioInstance> taken = std::move(spares_.front());
  spares_.erase(spares_.begin());
  owner_.schedule_pump();  // starts the next spare
  return taken;
}

void SparePool::fill(size_t room) {
  if (retired_) return;
  while (spares_.size() < server_.pool.prewarm && room > 0) {
    auto pause = owner_.health().start_pause({});
    if (pause.count() > 0) {
      if (!retry_.running()) retry_.start(pause, [this] { owner_.schedule_pump(); });
      return;
    }
    if (!turn_.is_held()) {
      started_ = 0;
      turn_.take(spawner_.own_starts(), process::StartLine::Order::last, [this] {
        turn_timer_.start(kSpareTurn, [this] {
          turn_.leave();
          owner_.schedule_pump();
        });
        owner_.schedule_pump();
      });
      if (!turn_.is_held()) return;
    }
    if (started_++ >= kInATurn) return;
    InstancePlan plan;
    plan.spare = true;
    spares_.push_back(std::make_unique<StdioInstance>(loop_, spawner_, server_, *this, owner_.in_flight(),
                                                      "spare", std::move(plan)));
    owner_.health().start_begun();
    spares_.back()->start();
    --room;
  }
}

void SparePool::retire() {
  retired_ = true;
  retry_.stop();
  turn_timer_.stop();
  turn_.leave();
  // stop() removes each spare from the list at once.
  while (!spares_.empty())
    spares_.back()->stop({mcp::EndReason::cancelled_drain, "is not needed any more", {}});
}

void SparePool::list(std::vector<core::UpstreamStatus::Process>& out) const {
  for (const auto& spare : spares_) {
    spare->list(out);
  }
}

void SparePool::on_instance_expired(StdioInstance& instance, std::string_view why) {
  instance.stop({mcp::EndReason::cancelled_drain, std::string(why), {}});
}

void SparePool::on_instance_down(StdioInstance& instance, const ProcessEnd& end, std::vector<StdioCall*>) {
  auto found =
      std::find_if(spares_.begin(), spares_.end(), [&](const auto& one) { return one.get() == &instance; });
  if (found == spares_.end()) return;
  owner_.take_leaving(std::move(*found));
  spares_.erase(found);
  if (end.reason != mcp::EndReason::cancelled_drain) {
    log::write(log::Level::warn, "upstream.down",
               {{"upstream", server_.name},
                {"pid", static_cast<int64_t>(instance.pid())},
                {"why", end.text},
                {"stderr", end.last_stderr},
                {"detail", end.detail}});
    owner_.health().died(instance.record(), end);
  }
  owner_.schedule_pump();
}

}  // namespace lineward::upstream
