// HTTP/1 responses from a byte stream: a strict gate refuses ambiguous heads, llhttp parses the others.
// Responses are parsed one at a time; interim responses (1xx) are skipped, up to a limit (RFC 9110 15.2).
//
// Owned by one connection to a server and lives as long as it. No sockets, no clock, no callbacks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/result.h"
#include "protocol/http/header_list.h"

namespace lineward::http {

struct ResponseLimits {
  size_t head_bytes = 64 * 1024;
  size_t fields = 200;
  uint64_t body_bytes = 32ull << 20;  // of a body that is not a stream
  uint32_t interim = 16;
};

struct ResponseInfo {
  int status = 0;
  int minor_version = 1;
  HeaderList headers;
  bool keep_alive = false;  // the connection may be reused after this response
};

class ResponseParser {
 public:
  enum class Next { need_more, head, body, complete, failed };

  explicit ResponseParser(const ResponseLimits& limits);
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  // Prepares for the response to the next request.
  void begin();
  // Appends bytes from the wire.
  void append(std::string_view bytes);
  // The same without a copy: they must stay as they are until next() has returned `need_more`, `complete` or
  // `failed`.
  void borrow(std::string_view bytes);
  // The connection has ended: a response framed by that is complete now, any other is truncated.
  void finish();

  // Parses as far as possible. `head`: info() is valid. `body`: body() returns the new part. `complete`:
  // the whole response was returned. `failed`: fault() says why; it stays failed.
  Next next();
  const ResponseInfo& info() const;
  std::string_view body() const;  // valid until next() is called again
  // Removes the limit on the whole body: its reader limits each of its parts.
  void unlimited_body();
  const std::string& fault() const;
  // Failed because the body exceeds limits.body_bytes: valid HTTP, but too large.
  bool too_long() const;
  // Failed because the head exceeds limits.head_bytes.
  bool head_too_long() const;
  // Bytes arrived that belong to no response.
  bool trailing() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lineward::http
