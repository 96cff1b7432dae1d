// Finds the end of a request head as its bytes arrive, and detects early that none will be accepted. Examples
// are a TLS client, a bare LF, an endless line. Reads every byte once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/http/request_parser.h"

namespace lineward::http {

class HeadScan {
 public:
  enum class Found { more, end, fault };

  explicit HeadScan(const RequestLimits& limits) : limits_(limits) {}

  // `bytes` starts with the request line's first byte at every call, and only grows between calls. The result
  // depends on the bytes alone, never on their split.
  Found scan(std::string_view bytes);
  // After `end`: the head's size with its empty line. After `fault`: why.
  size_t head_size() const { return at_; }
  const Error& fault() const { return fault_; }
  bool started() const { return at_ > 0; }
  void reset();

 private:
  Found refuse(int status, std::string text);
  Found check_first_line(std::string_view line);

  const RequestLimits& limits_;
  size_t at_ = 0;          // the next byte to read
  size_t line_start_ = 0;  // 0: still in the request line
  bool after_cr_ = false;
  Error fault_;
};

}  // namespace lineward::http
