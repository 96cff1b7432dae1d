// A command's HTTP/1.1 request on its own connection, to a host or a Unix socket, through a proxy, with TLS.
// Only connect() blocks, until its time: several can be polled together.
//
// Destroying it closes the connection.
#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "foundation/base/result.h"
#include "foundation/net/tls.h"
#include "foundation/process/spawn_wire.h"
#include "protocol/http/response_parser.h"
#include "proxy/upstream/http_client/http_proxy.h"
#include "proxy/upstream/http_client/http_url.h"

namespace lineward::fetch {

using Time = std::chrono::steady_clock::time_point;

// The result of one step.
struct Step {
  std::string fault;  // empty: success
  std::string check;
  std::string fix;
  int error = 0;  // errno of a failed connect()
};

// An address, and the way to it.
struct HttpTarget {
  upstream::HttpUrl url;
  std::optional<upstream::HttpProxy> proxy;
  net::TlsOptions tls;
  std::vector<std::string> secrets;  // errors never contain them

  // A request with these header lines, and Content-Length if it has a body.
  std::string request(std::string_view method, std::string_view headers, std::string_view body = {}) const;
};
Result<HttpTarget, Step> target_of(const config::Server& server);
HttpTarget unix_target(std::string socket, std::string path);

class HttpExchange {
 public:
  // `max_body`: bytes of a body that is not a stream.
  explicit HttpExchange(uint64_t max_body = 1 << 20) : parser_({.body_bytes = max_body}) { parser_.begin(); }

  // Connects, and queues the request. If the queue of a Unix socket is full, it does not wait (EAGAIN).
  Step connect(const HttpTarget& target, std::string request, Time until);
  bool is_connected() const { return socket_.open(); }
  // For poll().
  pollfd wants() const;
  // Sends and receives as far as possible now.
  void advance();
  // Waits for the next event, then advances; false: the time was over.
  bool advance_until(Time until);

  // 0 until the response head has arrived, which is then in info().
  int status() const { return status_; }
  const http::ResponseInfo& info() const { return parser_.info(); }
  // The body received since the last call.
  std::string take_body() { return std::exchange(body_, {}); }
  // The rest of the body is endless.
  void expect_stream() { parser_.unlimited_body(); }
  uint64_t received() const { return received_; }  // bytes
  // The whole response has arrived.
  bool complete() const { return complete_; }
  // It is complete, broken off, too long or invalid.
  bool over() const { return over_; }
  bool too_long() const { return parser_.too_long(); }
  // Closes the connection; the head stays.
  void close() { socket_.reset(); }

 private:
  Step connect_tcp(const std::string& host, uint16_t port, bool is_proxy, Time until);
  Step tunnel(const HttpTarget& target, Time until);
  Step handshake(const HttpTarget& target, Time until);
  bool wait(short what, Time until) const;
  // The blocking steps of connect(); false at the end of the stream, on an error, and when the time is over.
  bool send_all(std::string_view bytes, Time until);
  bool receive(std::string& bytes, Time until);
  void parse();

  process::spawning::OwnedFd socket_;
  std::unique_ptr<net::TlsEngine> tls_;
  std::string to_send_;
  http::ResponseParser parser_;
  int status_ = 0;
  std::string body_;
  uint64_t received_ = 0;
  bool complete_ = false;
  bool over_ = false;
};

// The whole response to one request.
struct Answer {
  Step step;  // the fault, if there is no response
  int status = 0;
  std::string body;                        // 1 MiB at most; cut where it broke off
  std::unique_ptr<HttpExchange> exchange;  // closed; it owns the head
  // Empty if there is no such header.
  std::string header(std::string_view name) const;
};
// Reads until `enough` returns true for the body: an event stream has no end. Null: reads to the end.
using Enough = bool (*)(std::string_view body);
Answer fetch(const HttpTarget& target, std::string request, Enough enough, Time until);

}  // namespace lineward::fetch
