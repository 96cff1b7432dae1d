#include "protocol/http/frame_gate.h"

#include <catch2/catch.hpp>
#include <string>

namespace lineward::http {
namespace {

using std::chrono::milliseconds;
using Fault = FrameGate::Fault;

enum Type : unsigned char { kData, kHeaders, kPriority, kRstStream, kSettings, kPing = 6, kContinuation = 9 };

std::string frame(Type type, unsigned char flags, size_t length) {
  std::string out{static_cast<char>(length >> 16),
                  static_cast<char>(length >> 8),
                  static_cast<char>(length),
                  static_cast<char>(type),
                  static_cast<char>(flags),
                  0,
                  0,
                  0,
                  1};
  return out + std::string(length, 'x');
}

std::optional<Fault> feed_times(FrameGate& gate, const std::string& frames, int times,
                                milliseconds now = milliseconds(1)) {
  for (int i = 0; i < times; ++i) {
    if (const auto fault = gate.feed(frames, now)) return fault;
  }
  return std::nullopt;
}

TEST_CASE("frame gate: requests and bodies pass, in pieces of any size") {
  const std::string request = frame(kHeaders, 0x4, 50) + frame(kData, 0, 20000) + frame(kData, 0x1, 0);
  for (const size_t size : {1, 2, 8, 9, 10, 4096}) {
    FrameGate gate(32 * 1024);
    std::string all;
    for (int i = 0; i < 50; ++i)
      all += request;
    for (size_t at = 0; at < all.size(); at += size)
      REQUIRE(!gate.feed(std::string_view(all).substr(at, size), milliseconds(1)));
    CHECK_FALSE(gate.in_head());
  }
}

TEST_CASE("frame gate: streams may be reset, but not without end") {
  const std::string reset = frame(kHeaders, 0x5, 20) + frame(kRstStream, 0, 4);
  FrameGate gate(32 * 1024);
  CHECK(feed_times(gate, reset, 500) == std::nullopt);
  CHECK(feed_times(gate, reset, 1) == Fault::resets);
  CHECK(feed_times(gate, frame(kHeaders, 0x5, 1), 1) == Fault::resets);  // a fault stays

  FrameGate slow(32 * 1024);
  for (int second = 0; second < 60; ++second)
    REQUIRE(feed_times(slow, reset, 100, milliseconds(1000 * (second + 1))) == std::nullopt);

  FrameGate answers(32 * 1024);
  for (int i = 0; i < 5000; ++i) {
    answers.answered();
    REQUIRE(feed_times(answers, reset, 1) == std::nullopt);
  }
}

TEST_CASE("frame gate: control frames have an allowance that grows with time and with data sent") {
  for (const Type type : {kPriority, kPing, Type{8}, Type{200}, kData}) {
    FrameGate gate(32 * 1024);
    CHECK(feed_times(gate, frame(type, 0, type == kData ? 0 : 8), 2000) == std::nullopt);
    CHECK(feed_times(gate, frame(type, 0, type == kData ? 0 : 8), 1) == Fault::control_frames);
  }
  FrameGate settings(32 * 1024);
  CHECK(feed_times(settings, frame(kSettings, 0, 6), 200) == std::nullopt);
  CHECK(feed_times(settings, frame(kSettings, 0, 6), 1) == Fault::control_frames);

  FrameGate reader(32 * 1024);
  for (int i = 0; i < 20000; ++i) {
    reader.sent_data();
    REQUIRE(feed_times(reader, frame(Type{8}, 0, 4), 2) == std::nullopt);  // WINDOW_UPDATE, of both
  }
}

TEST_CASE("frame gate: a head has a size and a number of frames") {
  FrameGate large(32 * 1024);
  CHECK(feed_times(large, frame(kHeaders, 0, 16 * 1024), 1) == std::nullopt);
  CHECK(large.in_head());
  CHECK(feed_times(large, frame(kContinuation, 0, 16 * 1024), 1) == std::nullopt);
  CHECK(feed_times(large, frame(kContinuation, 0x4, 1), 1) == Fault::head);

  FrameGate empty(32 * 1024);
  CHECK(feed_times(empty, frame(kHeaders, 0, 1), 1) == std::nullopt);
  CHECK(feed_times(empty, frame(kContinuation, 0, 0), 15) == std::nullopt);
  CHECK(feed_times(empty, frame(kContinuation, 0, 0), 1) == Fault::head);
}

}  // namespace
}  // namespace lineward::http
