#include "proxy/upstream/shared/shared_slots.h"

#include <algorithm>
#include <utility>

namespace lineward::upstream {
namespace {

// Waking another worker costs as much as some short calls.
constexpr std::chrono::milliseconds kLong{2};

}  // namespace

bool SharedSlots::try_take(uint32_t most) {
  if (most_.load(std::memory_order_relaxed) != most) most_.store(most);
  uint32_t taken = taken_.load();
  while (taken < most) {
    if (taken_.compare_exchange_weak(taken, taken + 1)) return true;
  }
  return false;
}

// A worker that gives a place back looks for waiting workers after it has counted down. A worker that begins
// to wait looks for room after it has joined the line. So one of the two sees the other.
bool SharedSlots::wait(const std::shared_ptr<Line>& line, uint32_t most) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!std::exchange(line->waits, true)) {
    line->since = std::chrono::steady_clock::now();
    queue_.push_back(line);
    ++waiting_;
  }
  if (taken_.load() >= most) return false;
  std::erase(queue_, line);
  line->waits = false;
  --waiting_;
  return true;
}

void SharedSlots::leave(const std::shared_ptr<Line>& line) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!std::exchange(line->waits, false)) return;
  std::erase(queue_, line);
  --waiting_;
}

bool SharedSlots::keeps(const std::shared_ptr<Line>& line) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!line->waits) return false;
  const Line& first = *queue_.front();
  if (&first != line.get() && std::chrono::steady_clock::now() - first.since > kLong) return false;
  line->waits = false;
  std::erase(queue_, line);
  --waiting_;
  return true;
}

std::shared_ptr<SharedSlots::Line> SharedSlots::next() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (queue_.empty()) return nullptr;
  std::shared_ptr<Line> line = std::move(queue_.front());
  queue_.pop_front();
  line->waits = false;
  --waiting_;
  return line;
}

bool SharedSlots::hand_over(const std::shared_ptr<SharedSlots>& slots) {
  while (const std::shared_ptr<Line> line = slots->next()) {
    auto arrives = [slots, line] {
      if (line->part != nullptr) return line->part->on_granted();
      give(slots);
    };
    if (line->mailbox->post(std::move(arrives))) return true;
  }
  return false;
}

void SharedSlots::give(const std::shared_ptr<SharedSlots>& slots) {
  do {
    if (!slots->is_over() && slots->waiting_.load() > 0 && hand_over(slots)) return;
    --slots->taken_;
    // A part that has begun to wait meanwhile may not have seen this place. If another part has taken the
    // place since, that part will hand it over.
  } while (slots->waiting_.load() > 0 && slots->try_take(slots->most_.load()));
}

SharedSlots::Part::Part(std::shared_ptr<SharedSlots> slots, std::shared_ptr<net::Mailbox> mailbox,
                        std::function<void()> granted)
    : slots_(std::move(slots)),
      line_(std::make_shared<Line>(std::move(mailbox), this)),
      granted_(std::move(granted)) {}

SharedSlots::Part::~Part() {
  stop_waiting();
  line_->part = nullptr;
}

bool SharedSlots::Part::take(uint32_t most) {
  if (handed_over_ > 0) {
    --handed_over_;
    return true;
  }
  while (!slots_->try_take(most)) {
    if (slots_->wait(line_, most)) continue;
    may_wait_ = true;
    return false;
  }
  return true;
}

void SharedSlots::Part::give() {
  if (may_wait_ && !slots_->is_over() && slots_->keeps(line_)) return on_granted();
  SharedSlots::give(slots_);
}

void SharedSlots::Part::stop_waiting() {
  if (std::exchange(may_wait_, false)) slots_->leave(line_);
  for (; handed_over_ > 0; --handed_over_)
    SharedSlots::give(slots_);
}

void SharedSlots::Part::on_granted() {
  ++handed_over_;
  granted_();
}

}  // namespace lineward::upstream
