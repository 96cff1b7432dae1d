// An HTTP request to a gateway over its control socket (operate/admin/admin_server.h), with a streamed
// answer. Non-blocking: the user polls for wants(), calls advance(), and checks the result.
//
// Destroying it closes the connection.
#pragma once

#include <poll.h>

#include <chrono>
#include <string>
#include <string_view>

#include "protocol/http/response_parser.h"

namespace lineward::cli {

class ControlConnection {
 public:
  // `body` empty: GET, else POST of JSON. `headers`: additional headers, each with its line end.
  ControlConnection(std::string socket, std::string_view path, std::string_view body = {},
                    std::string_view headers = {});
  ~ControlConnection();
  ControlConnection(const ControlConnection&) = delete;
  ControlConnection& operator=(const ControlConnection&) = delete;

  // For poll(); its descriptor is negative if only time is awaited: call advance() again soon.
  pollfd wants() const;
  // Continues as far as possible now.
  void advance();

  // 0 until the response head has arrived.
  int status() const { return status_; }
  // The body received since the last call.
  std::string take_body() { return std::move(body_); }
  // The response is complete.
  bool complete() const { return complete_; }
  // A sentence if the response failed or broke off; else empty.
  const std::string& fault() const { return fault_; }
  bool over() const { return complete_ || !fault_.empty(); }
  // The rest of the body is endless.
  void expect_stream() { parser_.unlimited_body(); }

 private:
  void connect();
  void send();
  void receive();
  void parse();
  void fail(std::string text);

  const std::string socket_;
  std::string to_send_;
  int fd_ = -1;
  http::ResponseParser parser_;
  int status_ = 0;
  std::string body_;
  bool complete_ = false;
  std::string fault_;
};

// Polls `set` until `until` at most; false when the time is over. Signals end the wait early.
bool wait_for_any(pollfd* set, size_t count, std::chrono::steady_clock::time_point until);

}  // namespace lineward::cli
