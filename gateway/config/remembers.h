// Whether Lineward remembers a server's answers for its next life (docs/quick-starts.md).
#pragma once

#include "config/config.h"
#include "config/identity_words.h"

namespace lineward::config {

// A server that learns the identity of callers may have other lists for each. With a process for each call no
// answer comes sooner from memory than once.
inline bool remembers(const Server& server) {
  const bool wanted =
      server.remember.lists == RememberLists::on ||
      (server.remember.lists == RememberLists::automatic && server.start == ServerStart::on_use);
  const bool may = server.url.empty() && server.isolation != Isolation::call;
  return wanted && may && !tells_callers(server);
}

}  // namespace lineward::config
