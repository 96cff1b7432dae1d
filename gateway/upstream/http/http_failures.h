// What the end of an HTTP request without an answer means for who waits for it (behaviour.md 11).
//
// Owned by an HttpUpstream. Depends on the server and on whose credentials go up to it, and on nothing that
// happened before.
#pragma once

#include "config/config.h"
#include "core/upstream.h"
#include "upstream/http/http_messages.h"

namespace lineward::upstream {

class HttpFailures {
 public:
  // Whose credentials the server sees, and so who can do something about those that it refuses.
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
