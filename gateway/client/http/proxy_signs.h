// What a connection shows of a proxy: that there is one, that there is none, and that several callers share
// it. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/header_list.h"
#include "http/request_parser.h"

namespace lineward::client {

// The request says that a proxy passed it (Via, Forwarded, X-Forwarded-*, X-Real-IP).
bool through_proxy(const http::HeaderList& headers);

// The client itself is at the other end: both ends are this machine's loopback, `Host` names this very
// listener, and nothing names a proxy. Most proxies of a machine listen on another port, and pass that in
// `Host` or name themselves. Of any other connection it is not known.
bool comes_directly(std::string_view peer, const http::RequestHead& head, uint16_t local_port);

// Proxies share connections among their clients without saying so. A connection counts as shared once two
// requests on it cannot be one caller's; it stays so.
class Sharing {
 public:
  // The head of each request of the connection.
  void saw(const http::RequestHead& head);
  // A session is opened on it: `by_client`, with an `initialize` of its own.
  void opens(bool by_client);
  // The client was told this name of the session that was opened last.
  void named(std::string_view session);
  bool shared() const { return !sign_.empty(); }
  // The first sign of it, for people, such as "another User-Agent"; empty: none. Lasts for ever.
  std::string_view sign() const { return sign_; }

 private:
  uint64_t seen_ = 0;                // the number of the head that was looked at last
  std::array<size_t, 3> callers_{};  // digests of what tells callers apart; 0: none yet
  size_t session_ = 0;               // a digest of the session's name; 0: none yet
  bool opened_ = false;
  std::string_view sign_;
};

}  // namespace lineward::client
