// HTTP/1 requests out of a byte stream: the head gate (http/head_gate.h) refuses what is ambiguous, llhttp
// parses what is left. One request at a time, in order: next() does not start a request before the one before
// was taken.
//
// Owned by one client connection and lives as long as it. Knows no sockets and no clock: the connection times
// it by the phase() it reports. RFC 9112; limits answer 400, 408 (by the owner), 413, 414, 431, 501 and 505.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/header_list.h"

namespace lineward::http {

struct RequestLimits {
  size_t head_bytes = 32 * 1024;
  size_t fields = 100;
  size_t target_bytes = 8 * 1024;
  uint64_t body_bytes = 8 * 1024 * 1024;
};

struct RequestHead {
  std::string_view method;  // "POST", "GET", …
  std::string_view target;  // in origin form, whichever it came in, e.g. "/mcp?x=1"
  std::string_view path;    // target without query
  int minor_version = 1;    // HTTP/1.0 or HTTP/1.1
  HeaderList headers;
  bool keep_alive = true;  // what the request asks for
  bool expect_continue = false;
  uint64_t body_bytes = 0;  // as announced; UINT64_MAX: it comes in chunks
  // Which of the connection's heads this is. Requests that repeat a head byte by byte, but for their length,
  // have the same number: what else follows from a head holds as long as it (http/head_memo.h). 0: none yet.
  uint64_t number = 0;
};

// Why a request is refused. The connection answers with `status` and closes.
struct RequestFault {
  int status = 400;
  std::string text;  // one plain sentence that names the limit or the rule
};

class RequestParser {
 public:
  enum class Next { need_more, head, complete, failed };
  enum class Phase { idle, in_head, in_body, complete, failed };

  explicit RequestParser(const RequestLimits& limits);
  ~RequestParser();
  // With its connection, to another thread. What was moved from is as new.
  RequestParser(RequestParser&& other) noexcept;
  RequestParser& operator=(RequestParser&&) = delete;

  // Takes bytes from the wire; never calls back. buffered() tells how much is waiting unparsed.
  void append(std::string_view bytes);
  size_t buffered() const;
  size_t held() const;  // that, and the body as far as it is there

  // Goes on as far as it can. `head`: head() is valid (reported once per request, before its body is read; a
  // body that announces more than the limit fails with 413 right here). `complete`: the whole request is
  // there. `failed`: fault() says why; the parser stays failed. `need_more`: append more first.
  Next next();
  Phase phase() const;

  const RequestHead& head() const;  // from `head` until next_request()
  std::string take_body();          // after `complete`; the decoded body
  const RequestFault& fault() const;

  // Forgets the finished request and makes ready for the next one. Pipelined bytes stay.
  void next_request();

 private:
  struct State;
  RequestLimits limits_;
  std::unique_ptr<State> state_;  // from the first byte on: most connections of a flood never send one
};

}  // namespace lineward::http
