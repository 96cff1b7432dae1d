// The data exchanged between the two halves of a server on another worker: RemoteCallTable, which makes its
// calls, and RemoteCallServer, next to the server. Everything is moved or copied: only this handle is shared.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "foundation/base/memory_charge.h"
#include "foundation/net/mailbox.h"
#include "proxy/core/upstream.h"

namespace lineward::cluster {

// An object on another thread, which may be destroyed. Locked on its own thread only, so that it is destroyed
// there too.
template <class T>
struct RemoteHandle {
  std::shared_ptr<net::Mailbox> mailbox;
  std::weak_ptr<T> who;

  // `work` gets a T&, on its thread, unless the object is gone by then. False when its thread takes no more
  // messages.
  template <class F>
  bool tell(F&& work) const {
    return mailbox && mailbox->post([to = who, what = std::forward<F>(work)]() mutable {
      if (auto one = to.lock()) what(*one);
    });
  }
};

// The server's state, as last reported.
struct RemoteState {
  std::optional<mcp::Era> era;
  core::UpstreamStatus status;
};

inline RemoteState state_of(const core::Upstream& upstream) {
  return {upstream.era(), upstream.status()};
}

// A message of the server, with the state of the call and the server at that time.
struct RemoteMessage {
  mcp::Message message;
  std::optional<mcp::Era> era;
  bool last = false;
  bool can_pause = false;
  bool of_legacy_server = false;
  bool has_session = true;
  bool is_from_server = true;          // of the last message
  std::string server_info;             // with questions and answers
  std::unique_ptr<MemoryCharge> held;  // its bytes, from posting to taking
};

}  // namespace lineward::cluster
