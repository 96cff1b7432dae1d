// The head of a response on an HTTP/2 stream, written as the HTTP/1.1 head with the same meaning (RFC 9113,
// 8.3.2). A body without a length ends with the connection. The text passes the same checks as every other
// head (protocol/http/response_gate.h).
//
// Owned by one stream. No sockets, no clock.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace lineward::http {

class StreamAnswer {
 public:
  // Fields in their order, names in lower case. If a head has more than `most` bytes, it is cut, and its text
  // is still larger than that: it is refused later.
  void add(std::string_view name, std::string_view value, size_t most);
  // Bytes of all fields given, as RFC 9113 counts them (6.5.2).
  size_t size() const { return size_; }
  bool is_interim() const { return status_.size() == 3 && status_[0] == '1'; }
  // The text, with the empty line. Fails if the fields make no response; the error is one sentence.
  Result<std::string> text() const;

 private:
  std::string status_, fields_;
  std::string fault_;
  size_t size_ = 0;
};

}  // namespace lineward::http
