// What a Redis sends, looked at before a library builds anything of it: a length or a count is a promise of a
// few bytes that costs as much memory as it says. Knows the replies that Lineward asks for, which are small.
// Pure.
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

  // False: this is no RESP, or more than a reply may be. Then it stays false.
  bool takes(std::string_view bytes);

 private:
  bool take_line();
  bool value_over();

  std::string line_;                      // what is there of it
  size_t to_skip_ = 0;                    // of a text whose length was told
  size_t bytes_ = 0;                      // of this reply
  std::array<int64_t, kDeepest> left_{};  // elements that are still to come, of each array that is open
  size_t depth_ = 0;
  bool good_ = true;
};

}  // namespace lineward::plugins
