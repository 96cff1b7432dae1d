#include "proxy/upstream/stdio/ping_barrier.h"

#include <utility>

namespace lineward::upstream {
namespace {

constexpr std::chrono::milliseconds kPingPatience{1000};

}  // namespace

void PingBarrier::settle_first(std::function<void()> settled) {
  auto over = [this, settled = std::move(settled)] {
    timer_.stop();
    settled();
  };
  timer_.start(kPingPatience, over);
  requests_.send("ping", "{}", [over](const mcp::Message&) { over(); });
}

bool PingBarrier::acquire_turn(bool is_ready) {
  if (!answers_ || !calls_.is_unsettled()) return true;
  if (asking_ || !is_ready) return false;
  asking_ = true;
  timer_.start(kPingPatience, [this] {
    answers_ = asking_ = false;
    wire_.tell_free();
  });
  requests_.send("ping", "{}", [this](const mcp::Message&) {
    if (!std::exchange(asking_, false)) return;
    calls_.settled();
    timer_.stop();
  });
  return false;
}

void PingBarrier::stop() {
  timer_.stop();
  asking_ = false;
}

}  // namespace lineward::upstream
