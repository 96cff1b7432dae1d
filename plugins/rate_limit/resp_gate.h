// Checks Redis replies before the library parses them: a few bytes of a length or count could make it
// allocate any amount of memory. Accepts the small replies that Lineward requests. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lineward::plugins {

class RespGate {
 public:
  static constexpr size_t kMostBytes = 16 * 1024;  // of one reply
  static constexpr int64_t kMostElements = 16;     // of one array
  static constexpr size_t kDeepest = 4;            // arrays within arrays

  // False: invalid RESP, or over a limit. It stays false afterwards.
  bool takes(std::string_view bytes);

 private:
  bool take_line();
  bool value_over();

  std::string line_;                      // received part of the line
  size_t to_skip_ = 0;                    // rest of a text of known length
  size_t bytes_ = 0;                      // of this reply
  std::array<int64_t, kDeepest> left_{};  // remaining elements of each open array
  size_t depth_ = 0;
  bool good_ = true;
};

}  // namespace lineward::plugins
