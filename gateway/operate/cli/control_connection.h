// An HTTP request to a gateway over its control socket (operate/admin/admin_server.h), with a streamed
// answer. Non-blocking: the user polls for wants(), calls advance(), and checks the result.
//
// Destroying it closes the connection.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "operate/fetch/http_exchange.h"

namespace lineward::cli {

class ControlConnection {
 public:
  // `body` empty: GET, else POST of JSON. `headers`: additional headers, each with its line end.
  ControlConnection(std::string socket, std::string path, std::string_view body = {},
                    std::string_view headers = {});

  const std::string& socket() const { return target_.url.unix_path; }
  // For poll(); its descriptor is negative if only time is awaited: call advance() again soon.
  pollfd wants() const { return exchange_.wants(); }
  // Continues as far as possible now.
  void advance();

  // 0 until the response head has arrived.
  int status() const { return exchange_.status(); }
  // The body received since the last call.
  std::string take_body() { return exchange_.take_body(); }
  // A sentence if the response failed or broke off; else empty.
  const std::string& fault() const { return fault_; }
  bool over() const { return exchange_.over() || !fault_.empty(); }
  // The rest of the body is endless.
  void expect_stream() { exchange_.expect_stream(); }

 private:
  void connect();

  const fetch::HttpTarget target_;
  const std::string request_;
  fetch::HttpExchange exchange_;
  std::string fault_;
};

// Polls `set` until `until` at most; false when the time is over. Signals end the wait early.
bool wait_for_any(pollfd* set, size_t count, std::chrono::steady_clock::time_point until);

}  // namespace lineward::cli
