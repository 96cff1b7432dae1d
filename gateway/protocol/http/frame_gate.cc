#include "protocol/http/frame_gate.h"

#include <algorithm>

namespace lineward::http {
namespace {

// RFC 9113, section 6.
enum Type : unsigned char {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kRstStream = 3,
  kSettings = 4,
  kPing = 6,
  kContinuation = 9
};
constexpr unsigned char kEndStream = 0x1, kEndHeaders = 0x4;
// Frames of one head. At the smallest size that a sender may be held to, 16 KiB, a head has three of them.
constexpr size_t kHeadFrames = 16;
// SETTINGS are acknowledged, and may change every stream.
constexpr uint64_t kSettingsCost = 10;

}  // namespace

bool Allowance::take(uint64_t cost, std::chrono::milliseconds now) {
  const auto waited = now - filled_at_.value_or(now);
  const uint64_t more = static_cast<uint64_t>(waited.count()) * per_second_ / 1000;
  if (more > 0 || !filled_at_) {
    left_ = std::min(burst_, left_ + more);
    filled_at_ = now;
  }
  const uint64_t from_grant = std::min(granted_, cost);
  if (left_ < cost - from_grant) return false;
  granted_ -= from_grant;
  left_ -= cost - from_grant;
  return true;
}

std::optional<FrameGate::Fault> FrameGate::feed(std::string_view bytes, std::chrono::milliseconds now) {
  while (!fault_ && !bytes.empty()) {
    if (payload_ > 0) {
      const size_t part = std::min(payload_, bytes.size());
      payload_ -= part;
      bytes.remove_prefix(part);
      continue;
    }
    const size_t part = std::min(kHeader - frame_at_, bytes.size());
    std::copy_n(bytes.begin(), part, frame_.begin() + static_cast<std::ptrdiff_t>(frame_at_));
    frame_at_ += part;
    bytes.remove_prefix(part);
    if (frame_at_ < kHeader) break;
    frame_at_ = 0;
    payload_ = static_cast<size_t>(frame_[0]) << 16 | static_cast<size_t>(frame_[1]) << 8 | frame_[2];
    begin_frame(now);
  }
  return fault_;
}

bool FrameGate::head_frame(size_t length, bool last) {
  head_size_ += length;
  if (++head_frames_ > kHeadFrames || head_size_ > head_bytes_) return false;
  in_head_ = !last;
  if (last) head_frames_ = head_size_ = 0;
  return true;
}

bool FrameGate::begin_frame(std::chrono::milliseconds now) {
  const unsigned char type = frame_[3], flags = frame_[4];
  const auto refuse = [this](Fault fault) {
    fault_ = fault;
    return false;
  };
  switch (type) {
    case kHeaders:
    case kContinuation: return head_frame(payload_, (flags & kEndHeaders) != 0) || refuse(Fault::head);
    case kData:
      if (payload_ > 0 || (flags & kEndStream) != 0) return true;
      break;
    case kRstStream: return resets_.take(1, now) || refuse(Fault::resets);
    default: break;
  }
  return control_.take(type == kSettings ? kSettingsCost : 1, now) || refuse(Fault::control_frames);
}

}  // namespace lineward::http
