#include "proxy/client/stdio/stdio_writer.h"

#include <algorithm>

#include "foundation/json/json_splice.h"

namespace lineward::client {
namespace {

// Above this fraction (1/n) of the cap, servers are paused where possible.
constexpr uint64_t kHighWatermark = 4;

}  // namespace

void StdioWriter::write(std::string message, Kind kind) {
  if (stopped_) return;
  json::flatten_lines(message);
  message += '\n';
  written_ += message.size();
  pieces_.push_back({written_, kind == Kind::awaited ? 0 : message.size()});
  unasked_for_ += pieces_.back().unasked_for;
  streams_.write(std::move(message));
  settle();
  const uint64_t cap = config_.max_stream_backlog_bytes;
  if (unasked_for_ <= cap && streams_.backlog() <= cap) return;
  streams_.flush_now();
  settle();
  if (unasked_for_ > kBurst * cap) return too_slow_();
  if (streams_.backlog() > cap) watch_reader();
}

// Drops pieces that the kernel has taken. The message being written may be of any size and is not counted.
void StdioWriter::settle() {
  uint64_t sent = written_ - std::min<uint64_t>(written_, streams_.backlog());
  while (!pieces_.empty() && pieces_.front().end <= sent) {
    unasked_for_ -= pieces_.front().unasked_for;
    pieces_.pop_front();
  }
  if (pieces_.empty() || pieces_.front().unasked_for == 0) return;
  unasked_for_ -= std::exchange(pieces_.front().unasked_for, 0);
}

// All calls share this pipe, so a slow client gets more time than on one HTTP stream.
void StdioWriter::watch_reader() {
  if (stall_.running()) return;
  sent_ = written_ - streams_.backlog();
  stall_.start(config_.write_timeout, [this] {
    const bool behind = streams_.backlog() > config_.max_stream_backlog_bytes;
    if (stopped_ || (!behind && drained_.empty())) return;
    if (written_ - streams_.backlog() == sent_) return too_slow_();
    watch_reader();
  });
}

void StdioWriter::stop() {
  stopped_ = true;
  stall_.stop();
}

bool StdioWriter::above_high_watermark() {
  const uint64_t mark = config_.max_stream_backlog_bytes / kHighWatermark;
  if (streams_.backlog() <= mark) return false;
  streams_.flush_now();
  return streams_.backlog() > mark;
}

void StdioWriter::when_drained(uint64_t serial, std::function<void()> drained) {
  drained_[serial] = std::move(drained);
  watch_reader();
}

void StdioWriter::drained() {
  auto waiting = std::exchange(drained_, {});
  for (auto& [serial, call_back] : waiting)
    call_back();
}

}  // namespace lineward::client
