// HTTP/1 responses out of a byte stream: a strict gate refuses heads that could be read in two ways, llhttp
// parses what is left. One response at a time; interim responses (1xx) are skipped, up to a limit (RFC
// 9110 15.2).
//
// Owned by one connection to a server and lives as long as it. Knows no sockets and no clock, and never calls
// back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/header_list.h"

namespace lineward::http {

struct ResponseLimits {
  size_t head_bytes = 64 * 1024;
  size_t fields = 200;
  uint64_t body_bytes = 32ull << 20;  // of a body that is no stream
  uint32_t interim = 16;
};

struct ResponseInfo {
  int status = 0;
  int minor_version = 1;
  HeaderList headers;
  bool keep_alive = false;  // the connection may be used again after this response
};

class ResponseParser {
 public:
  enum class Next { need_more, head, body, complete, failed };

  explicit ResponseParser(const ResponseLimits& limits);
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  // Makes ready for the response to the next request.
  void begin();
  // Takes bytes from the wire.
  void append(std::string_view bytes);
  // The connection has ended: what is complete only by that is complete now, the rest is truncated.
  void finish();

  // Goes on as far as it can. `head`: info() is valid. `body`: take_body() gives what came since. `complete`:
  // the whole response was given out. `failed`: fault() says why; it stays failed.
  Next next();
  const ResponseInfo& info() const;
  std::string take_body();
  // From here on the body has no limit as a whole: its reader has one for each of its parts.
  void unlimited_body();
  const std::string& fault() const;
  // It failed because the body has more than limits.body_bytes: valid HTTP, but too much.
  bool too_long() const;
  // It failed because the head has more than limits.head_bytes.
  bool head_too_long() const;
  // Something came that belongs to no response.
  bool trailing() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lineward::http
