// Detects from a connection's requests whether there is a proxy, and whether several callers share it. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/http/header_list.h"
#include "protocol/http/request_parser.h"

namespace lineward::client {

// The request shows that a proxy passed it (Via, Forwarded, X-Forwarded-*, X-Real-IP).
bool through_proxy(const http::HeaderList& headers);
// Is a header of that name such a sign?
bool is_proxy_sign(std::string_view name);

// The peer is the client itself: both ends are this machine's loopback, `Host` names this very listener, and
// no header names a proxy. Most local proxies listen on another port, and pass that in `Host` or name
// themselves. False also means unknown.
bool comes_directly(std::string_view peer, const http::RequestHead& head, uint16_t local_port);

// Proxies share connections among their clients without announcing it. A connection counts as shared once two
// of its requests cannot be one caller's; it stays so.
class Sharing {
 public:
  Sharing();
  // Must be called with the head of each request of the connection.
  void saw(const http::RequestHead& head);
  // A proxy has told its client's address in front of it (listen.proxyProtocol).
  void by_proxy() { by_proxy_ = true; }
  bool is_by_proxy() const { return by_proxy_; }
  // A session is opened on it; `by_client`: by the client's own `initialize`.
  void opens(bool by_client);
  // The client was given this name of the session that was opened last.
  void named(std::string_view session);
  bool shared() const { return !sign_.empty(); }
  // The first sign of it, for people, such as "another User-Agent"; empty: none. A literal.
  std::string_view sign() const { return sign_; }
  // The connection's, wherever in this process its requests are answered.
  uint64_t number() const { return number_; }

 private:
  uint64_t number_;
  uint64_t seen_ = 0;                // the number of the last head seen
  std::array<size_t, 3> callers_{};  // digests of the caller's distinguishing headers; 0: none yet
  size_t session_ = 0;               // a digest of the session's name; 0: none yet
  bool opened_ = false;
  bool by_proxy_ = false;
  std::string_view sign_;
};

}  // namespace lineward::client
