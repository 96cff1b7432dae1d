// Reads the frames of an HTTP/2 connection before the HTTP/2 library does. Bounds the work that a client can
// cause for a few bytes, by streams that are reset at once, control frames and endless heads (RFC
// 9113, 10.5). The limits do not depend on the version of the library.
//
// Owned by one connection. No sockets and no clock; reads the headers of frames only.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lineward::http {

// An allowance that grows with time, and with what the other side is owed.
class Allowance {
 public:
  Allowance(uint64_t burst, uint64_t per_second) : burst_(burst), per_second_(per_second), left_(burst) {}
  void grant(uint64_t more, uint64_t most) { granted_ = granted_ + more < most ? granted_ + more : most; }
  // False: there is not so much left.
  bool take(uint64_t cost, std::chrono::milliseconds now);

 private:
  const uint64_t burst_, per_second_;
  uint64_t left_;
  uint64_t granted_ = 0;
  std::optional<std::chrono::milliseconds> filled_at_;
};

class FrameGate {
 public:
  // head: a compressed one, or one in too many frames. The library behind the gate finds the last three;
  // fields: a head that is decompressed.
  enum class Fault : uint8_t { resets, control_frames, head, fields, push, protocol };

  // `head_bytes`: of a compressed head, with all its frames.
  explicit FrameGate(size_t head_bytes) : head_bytes_(head_bytes) {}

  // Bytes behind the client's preface, in order. A fault stays; `now` is monotonic.
  std::optional<Fault> feed(std::string_view bytes, std::chrono::milliseconds now);
  // A head has begun, and its last frame did not come yet.
  bool in_head() const { return in_head_ || (frame_at_ > 0 && frame_at_ < kHeader); }

  // A frame of data was sent to the client, which may acknowledge it.
  void sent_data() { control_.grant(3, kMostGranted); }
  // A stream was answered to its end: another one may be reset.
  void answered() { resets_.grant(1, kMostGranted); }

 private:
  static constexpr size_t kHeader = 9;
  static constexpr uint64_t kMostGranted = 100000;
  bool begin_frame(std::chrono::milliseconds now);
  bool head_frame(size_t length, bool last);

  const size_t head_bytes_;
  std::array<unsigned char, kHeader> frame_{};
  size_t frame_at_ = 0;  // bytes of frame_ that are known
  size_t payload_ = 0;   // bytes of the frame that did not come yet
  bool in_head_ = false;
  size_t head_frames_ = 0, head_size_ = 0;
  Allowance resets_{500, 100};
  Allowance control_{2000, 200};
  std::optional<Fault> fault_;
};

}  // namespace lineward::http
