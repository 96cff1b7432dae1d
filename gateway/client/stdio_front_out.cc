// The half of StdioFront that writes: lines on their way to a client that may read slowly.
#include <algorithm>

#include "base/json_splice.h"
#include "client/stdio_front.h"

namespace lineward::client {
namespace {

// From this part of the cap on, servers that can be are held back.
constexpr uint64_t kClogged = 4;

}  // namespace

void StdioFront::line(std::string message, bool awaited) {
  if (gone_) return;
  json::flatten_lines(message);
  message += '\n';
  written_ += message.size();
  pieces_.push_back({written_, awaited ? 0 : message.size()});
  unasked_for_ += pieces_.back().unasked_for;
  streams_->write(std::move(message));
  settle();
  const uint64_t cap = config_.max_stream_backlog_bytes;
  if (unasked_for_ <= cap && backlog() <= cap) return;
  streams_->flush_now();
  settle();
  if (unasked_for_ > kBurst * cap) return leave_soon(mcp::EndReason::client_too_slow);
  if (backlog() > cap) watch_reader();
}

// Forgets what the kernel has. The message being written may be of any size and is not counted.
void StdioFront::settle() {
  uint64_t sent = written_ - std::min<uint64_t>(written_, backlog());
  while (!pieces_.empty() && pieces_.front().end <= sent) {
    unasked_for_ -= pieces_.front().unasked_for;
    pieces_.pop_front();
  }
  if (pieces_.empty() || pieces_.front().unasked_for == 0) return;
  unasked_for_ -= std::exchange(pieces_.front().unasked_for, 0);
}

// All calls share this pipe, so a client that takes nothing gets more time than one HTTP stream.
void StdioFront::watch_reader() {
  if (stall_.running()) return;
  sent_ = written_ - backlog();
  stall_.start(config_.write_timeout, [this] {
    if (gone_ || (backlog() <= config_.max_stream_backlog_bytes && relieved_.empty())) return;
    if (written_ - backlog() == sent_) return leave_soon(mcp::EndReason::client_too_slow);
    watch_reader();
  });
}

bool StdioFront::clogged() {
  const uint64_t mark = config_.max_stream_backlog_bytes / kClogged;
  if (backlog() <= mark) return false;
  streams_->flush_now();
  return backlog() > mark;
}

void StdioFront::when_relieved(uint64_t serial, std::function<void()> relieved) {
  relieved_[serial] = std::move(relieved);
  watch_reader();
}

void StdioFront::on_drained() {
  auto relieved = std::exchange(relieved_, {});
  for (auto& [serial, call_back] : relieved)
    call_back();
  if (!gone_ && !input_ended_) streams_->start_reading();
}

}  // namespace lineward::client
