// One HTTP request to a gateway over its control socket (admin/admin_server.h), and its answer as it comes.
// Never blocks: its user waits with poll() for what wants() says, calls advance(), and looks.
//
// Owned by whoever asks; destroying it hangs up.
#pragma once

#include <poll.h>

#include <chrono>
#include <string>
#include <string_view>

#include "http/response_parser.h"

namespace lineward::cli {

class ControlConnection {
 public:
  // `body` empty: GET, else POST of JSON. `headers`: more of them, each with its line end.
  ControlConnection(std::string socket, std::string_view path, std::string_view body = {},
                    std::string_view headers = {});
  ~ControlConnection();
  ControlConnection(const ControlConnection&) = delete;
  ControlConnection& operator=(const ControlConnection&) = delete;

  // For poll(); its descriptor is negative where there is nothing to wait for but time: advance() again soon.
  pollfd wants() const;
  // Goes on as far as that is possible now.
  void advance();

  // 0 until the head of the answer is there.
  int status() const { return status_; }
  // What came of the body since the last time.
  std::string take_body() { return std::move(body_); }
  // The answer is whole.
  bool complete() const { return complete_; }
  // One sentence when there will be no answer, or no more of it; else empty.
  const std::string& fault() const { return fault_; }
  bool over() const { return complete_ || !fault_.empty(); }
  // The rest of the body has no end.
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

// Waits for one of `set`, and until `until` at most; false when the time is over. Signals end the wait early.
bool wait_for_any(pollfd* set, size_t count, std::chrono::steady_clock::time_point until);

}  // namespace lineward::cli
