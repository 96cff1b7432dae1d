// A TCP connection of a client peer, with just enough HTTP/1.1 to read what a gateway answers: heads, bodies
// (length, chunked, until close) and SSE. Blocking with deadlines; everything is thrown as WireError.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sys/types.h>

struct ssl_ctx_st;
struct ssl_st;

namespace lineward::wire {

class Http2Translation;

struct WireError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ResponseHead {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case; repeated ones joined by ", "
};

struct SseItem {
  bool comment = false;
  std::string type, data, id, text;  // text: the comment, or all raw lines
  bool has_data = false;
};

class HttpConnection {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  // Called while waiting (throws to stop) and for every byte read.
  struct Hooks {
    std::function<void()> idle;
    std::function<void(char direction, std::string_view)> record;
    std::string first = {};  // bytes that come before all others, TLS too
    bool http2 = false;      // what is sent and read is put into streams and back
  };

  // TLS without verification of the gateway's certificate. `pem`: the client's own, with its key; may be
  // empty.
  struct Tls {
    std::string pem;
  };
  // `from`: the address of this machine that it comes from; empty: whichever the system takes.
  HttpConnection(const std::string& address, const std::string& from, const std::optional<Tls>& tls,
                 Hooks hooks);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // With `step` in pieces of that size, each read by the gateway before the next.
  void send(std::string_view bytes, size_t step, Deadline deadline);
  // Over HTTP/2 with TLS: resets the streams that are open, and the connection stays. Else: false, and
  // nothing was done.
  bool leave_streams(Deadline deadline);
  void close_fin();
  void close_rst();
  void shutdown_write();  // TLS: close_notify, and no FIN
  void vanish();          // see vanish.h
  bool closed() const { return fd_ < 0; }

  std::string read_exactly(size_t count, Deadline deadline);
  void expect_end(Deadline deadline, bool any);  // the peer closes; unless `any`, no byte before
  std::string anything(Deadline until);          // what came before `until`; "" when nothing did

  ResponseHead read_head(Deadline deadline);
  std::string read_body(Deadline deadline);             // the rest of it
  std::optional<SseItem> read_item(Deadline deadline);  // nothing: the body ended
  void no_body() { body_ = Body::none; }

 private:
  enum class Body { none, length, chunked, until_close };

  void begin_tls(const Tls& tls);
  // Once; as send() and recv() with MSG_DONTWAIT: -1 and EAGAIN when the socket is not ready.
  ssize_t write_some(std::string_view bytes);
  ssize_t read_some(char* to, size_t size);
  ssize_t tls_result(int result);
  void write_all(std::string_view bytes, size_t step, Deadline deadline);
  void write_frames(size_t step, Deadline deadline);
  void wait_until_read(Deadline deadline);
  bool fill(Deadline deadline);                          // reads once; false at the end
  bool take_line(std::string& line, Deadline deadline);  // from in_, without CRLF
  bool more_body(Deadline deadline);  // moves some bytes to decoded_; false when the body is over
  bool body_line(std::string& line, Deadline deadline);

  int fd_ = -1;
  ssl_ctx_st* tls_context_ = nullptr;
  ssl_st* tls_ = nullptr;
  std::unique_ptr<Http2Translation> http2_;
  Hooks hooks_;
  std::string in_, decoded_;
  bool end_ = false, reset_ = false;
  Body body_ = Body::none;
  size_t left_ = 0;  // of the length or the chunk
  bool in_chunk_ = false;
};

}  // namespace lineward::wire
