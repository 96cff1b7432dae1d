#include "proxy/plugin/hook_queue.h"

#include <fmt/format.h>

#include <utility>

namespace lineward::plugin {
namespace {

using mcp::Field;
using mcp::MessageKind;

// Limits of the queue while a plugin waits. From kHoldBack on the server is not read, if possible.
constexpr size_t kMaxWaiting = 1024;
constexpr size_t kMaxWaitingBytes = 8 << 20;
constexpr size_t kHoldBack = 16;

bool is_final(MessageKind kind) {
  return kind == MessageKind::result || kind == MessageKind::error;
}

}  // namespace

void HookQueue::take(mcp::Message message) {
  waiting_bytes_ += message.bytes().size();
  waiting_.push_back(std::move(message));
  if (waiting_.size() > kMaxWaiting || (waiting_.size() > 1 && waiting_bytes_ > kMaxWaitingBytes)) {
    return owner_.broke(fmt::format("lets more than {} messages or {} MiB of the server wait", kMaxWaiting,
                                    kMaxWaitingBytes >> 20));
  }
  if (waiting_.size() >= kHoldBack && !std::exchange(holding_, true)) owner_.pause_server();
  if (waiting_.size() == 1) return pump();
  held_.set(waiting_bytes_ + first_bytes_);
}

bool HookQueue::has_last() const {
  if (waiting_.empty()) return false;
  // A message that a plugin is changing may be incomplete.
  const MessageKind last = waiting_.size() == 1 && begun_ ? expected_kind_ : waiting_.back().kind();
  return failure_ || is_final(last);
}

bool HookQueue::holds_back(const core::Failure& failure) {
  if (waiting_.empty()) return false;
  failure_ = failure;
  return true;
}

void HookQueue::release() {
  if (waiting_.size() < kHoldBack && std::exchange(holding_, false)) owner_.resume_server();
}

void HookQueue::pump() {
  while (!waiting_.empty()) {
    mcp::Message& message = waiting_.front();
    if (!std::exchange(begun_, true)) {
      expected_id_ = message.raw(Field::id);
      expected_kind_ = message.kind();
      waiting_bytes_ -= message.bytes().size();
    }
    Verdict verdict = chain_.upstream_message(view_, message);
    if (owner_.over()) return;
    if (verdict == Verdict::wait) {
      first_bytes_ = message.bytes().size();
      return held_.set(waiting_bytes_ + first_bytes_);
    }
    first_bytes_ = 0;
    held_.set(waiting_bytes_);
    begun_ = false;
    bool final = is_final(expected_kind_);
    mcp::Message passed = std::move(message);
    waiting_.pop_front();
    release();
    if (verdict == Verdict::answered) {
      if (owner_.decided()) return;
      if (final) return owner_.broke("took the server's answer and gave none");
      chain_.note(HookChain::Did::drop);
      continue;
    }
    bool same = is_final(passed.kind()) == final && passed.raw(Field::id) == expected_id_ &&
                (final || passed.kind() == expected_kind_);
    if (!same) return owner_.broke("changed a message's id or kind");
    owner_.passed(std::move(passed));
    if (owner_.over()) return;
  }
  if (failure_) owner_.passed(*std::exchange(failure_, std::nullopt));
}

}  // namespace lineward::plugin
