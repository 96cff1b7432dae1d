// Maps the end of an HTTP request without an answer to a failure for the caller (behaviour.md 11).
//
// Owned by an HttpUpstream. Depends only on the server and on whether the credentials are the gateway's or
// the client's; stateless otherwise.
#pragma once

#include "config/config.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/http/http_messages.h"

namespace lineward::upstream {

class HttpFailures {
 public:
  // The owner of the credentials sent to the server: only the owner can fix a refusal.
  enum class Credentials : uint8_t { of_gateway, of_clients };

  explicit HttpFailures(const config::Server& server) : server_(server) {}
  void set_credentials(Credentials whose) { credentials_ = whose; }
  bool are_of_clients() const { return credentials_ == Credentials::of_clients; }

  core::Failure of(const MessagesEnd& end) const;

 private:
  const config::Server& server_;
  Credentials credentials_ = Credentials::of_gateway;
};

}  // namespace lineward::upstream
