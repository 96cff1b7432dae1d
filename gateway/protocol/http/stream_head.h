// The head of a request on an HTTP/2 stream, written as the HTTP/1.1 head with the same meaning (RFC 9113,
// 8.3.1). The text passes the same checks as every other head (protocol/http/head_gate.h).
//
// Owned by one stream. No sockets, no clock.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace lineward::http {

class StreamHead {
 public:
  // Fields in their order, names in lower case. If a head has more than `most` bytes, it is cut, and its text
  // is still larger than that: it is refused later.
  void add(std::string_view name, std::string_view value, size_t most);
  // Bytes of all fields given, as RFC 9113 counts them (6.5.2).
  size_t size() const { return size_; }

  bool is_head_request() const { return method_ == "HEAD"; }
  const std::string& path() const { return path_; }
  // The body has no length of its own, and is sent in chunks.
  bool is_chunked() const { return chunked_; }
  // The text, with the empty line. Fails if the fields do not make a request; the error is one sentence.
  Result<std::string> text(bool has_body);

 private:
  std::string method_, path_, authority_, host_, cookie_, fields_;
  std::string fault_;
  size_t size_ = 0;
  size_t kept_ = 0;  // bytes of the text, at least
  bool has_scheme_ = false, has_length_ = false, has_host_ = false, has_authority_ = false;
  bool chunked_ = false;
};

}  // namespace lineward::http
