// What goes between the two halves of a server that lives on another worker: RemoteCallTable, where its calls
// are made, and RemoteCallServer, where it lives. Everything in it is moved or copied: nothing is shared but
// this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/held_bytes.h"
#include "core/upstream.h"
#include "net/mailbox.h"

namespace lineward::upstream {

// Somebody on another thread, who may be gone. Locked on its own thread alone, so that it dies there too.
template <class T>
struct RemoteHandle {
  std::shared_ptr<net::Mailbox> mailbox;
  std::weak_ptr<T> who;

  // `work` gets a T&, on its thread, unless it is gone by then. False when its thread takes no more messages.
  template <class F>
  bool tell(F&& work) const {
    return mailbox && mailbox->post([to = who, what = std::forward<F>(work)]() mutable {
      if (auto one = to.lock()) what(*one);
    });
  }
};

// How the server is, as far as it is told.
struct RemoteState {
  std::optional<mcp::Era> era;
  std::optional<std::vector<std::string>> versions;
  core::UpstreamStatus status;
};

inline RemoteState state_of(const core::Upstream& upstream) {
  return {upstream.era(), upstream.versions(), upstream.status()};
}

// A message of the server, and what is known of the call and the server by then.
struct RemoteMessage {
  mcp::Message message;
  std::optional<mcp::Era> era;
  bool last = false;
  bool can_pause = false;
  bool of_legacy_server = false;
  bool has_session = true;
  bool is_servers_word = true;      // of the last one
  std::string server_info;          // with questions and answers
  std::unique_ptr<HeldBytes> held;  // its bytes, from where it was posted to where it is taken
};

}  // namespace lineward::upstream
