// HTTP/1 requests from a byte stream: the head gate (protocol/http/head_gate.h) refuses ambiguous heads,
// llhttp parses the others. Requests are parsed one at a time, in order: next() does not start a request
// before the previous one was taken.
//
// Owned by one client connection and lives as long as it. No sockets and no clock: the connection times it by
// its phase(). RFC 9112; limits answer 400, 408 (by the owner), 413, 414, 431, 501 and 505.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/result.h"
#include "protocol/http/header_list.h"

namespace lineward::http {

struct RequestLimits {
  size_t head_bytes = 32 * 1024;
  size_t fields = 100;
  size_t target_bytes = 8 * 1024;
  uint64_t body_bytes = 8 * 1024 * 1024;
};

struct RequestHead {
  std::string_view method;  // "POST", "GET", …
  std::string_view target;  // in origin form, whatever its original form, e.g. "/mcp?x=1"
  std::string_view path;    // target without query
  int minor_version = 1;    // HTTP/1.0 or HTTP/1.1
  HeaderList headers;
  bool keep_alive = true;  // requested by the client
  bool expect_continue = false;
  uint64_t body_bytes = 0;  // announced; UINT64_MAX: chunked
  // The number of the head on this connection. Requests that repeat a head byte by byte, except for their
  // length, have the same number. Facts derived from a head stay valid with it (protocol/http/head_memo.h).
  // 0: none yet.
  uint64_t number = 0;
};

class RequestParser {
 public:
  enum class Next { need_more, head, complete, failed };
  enum class Phase { idle, in_head, in_body, complete, failed };

  explicit RequestParser(const RequestLimits& limits);
  ~RequestParser();
  // Moves with its connection to another thread. The moved-from parser is like new.
  RequestParser(RequestParser&& other) noexcept;
  RequestParser& operator=(RequestParser&&) = delete;

  // Appends bytes from the wire; never calls back. buffered() is the number of unparsed bytes.
  void append(std::string_view bytes);
  size_t buffered() const;
  size_t held() const;  // buffered(), and the body so far

  // Parses as far as possible. `head`: head() is valid (reported once per request, before its body is read; a
  // body announced above the limit fails with 413 here). `complete`: the whole request was parsed. `failed`:
  // fault() says why; the parser stays failed. `need_more`: append more first.
  Next next();
  Phase phase() const;

  const RequestHead& head() const;  // from `head` until next_request()
  std::string take_body();          // after `complete`; the decoded body
  // Its code is the HTTP status of the answer, after which the connection closes. Its text is one plain
  // sentence that names the limit or the rule.
  const Error& fault() const;

  // Forgets the finished request and prepares for the next one. Pipelined bytes stay.
  void next_request();
  // For a connection that has been idle for a while: frees its memory. No effect within a request, or when no
  // further request may come.
  void rest();
  // How many parsers of the process hold memory: those that are not at rest. Any thread.
  static size_t in_use() { return states_.load(std::memory_order_relaxed); }

 private:
  struct State;
  static std::atomic<size_t> states_;
  RequestLimits limits_;
  std::unique_ptr<State> state_;  // from the first byte on: most connections of a flood never send one
  uint64_t heads_ = 0;            // heads parsed before it rested
};

}  // namespace lineward::http
