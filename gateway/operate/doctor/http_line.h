// The doctor's connection to an HTTP server: through its proxy, with TLS, for one request. Blocking until the
// given time at most.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "foundation/base/result.h"
#include "foundation/net/tls.h"
#include "foundation/process/spawn_wire.h"
#include "proxy/upstream/http_client/http_proxy.h"
#include "proxy/upstream/http_client/http_url.h"

namespace lineward::doctor {

// The result of one step.
struct Step {
  std::string fault;  // empty: success
  std::string check;
  std::string fix;
};

class HttpLine {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  // `url` must outlive this object.
  HttpLine(const upstream::HttpUrl& url, time_point until) : url_(url), until_(until) {}

  Step connect(const config::Server& server, const std::optional<upstream::HttpProxy>& proxy);
  // Gets the answer's head, and its body until `enough` returns true: an event stream has no end.
  using Enough = bool (*)(std::string_view body);
  Step exchange(const std::string& request, std::string& answer, Enough enough);

  // For an answer in parts, each with its time. False: not all of the request was taken; an answer may be
  // there all the same.
  bool write(const std::string& request);
  // Appends the bytes that arrive until then to `answer`. `nothing`: the connection is open, and the time is
  // over.
  enum class Came : uint8_t { bytes, end, nothing };
  Came read(std::string& answer, time_point until);

 private:
  Step connect_unix();
  Step connect_tcp(const std::string& host, uint16_t port, bool is_proxy);
  Step tunnel(const config::Server& server, const upstream::HttpProxy& proxy);
  Step handshake(const config::Server& server);
  bool wait(short what);
  // False at the end of the stream, on an error, and when the time is over.
  bool send_all(std::string_view bytes);
  bool receive(std::string& bytes);
  bool is_late() const { return std::chrono::steady_clock::now() >= until_; }

  const upstream::HttpUrl& url_;
  time_point until_;
  process::spawning::OwnedFd socket_;
  std::unique_ptr<net::TlsEngine> tls_;
};

// A server's address, and the proxy to it.
struct HttpTarget {
  upstream::HttpUrl url;
  std::optional<upstream::HttpProxy> proxy;
  // The request target: a proxy without TLS gets the absolute URL (RFC 9112, section 3.2.2).
  std::string request_target() const {
    return proxy && !url.tls ? "http://" + url.host_header + url.target : url.target;
  }
};
Result<HttpTarget, Step> target_of(const config::Server& server);

struct Asked {
  Step step;
  int status = 0;
  std::string answer;
};
// Sends one request on its own connection.
Asked ask_once(const config::Server& server, const HttpTarget& target, const std::string& request,
               HttpLine::Enough enough, HttpLine::time_point until);

// A header of such an answer, or empty; `name` in lower case.
std::string header_of(const std::string& answer, std::string_view name);

}  // namespace lineward::doctor
