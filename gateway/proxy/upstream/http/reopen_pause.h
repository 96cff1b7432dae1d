// When a replacement for a lost session may be opened: after growing pauses (the server's `restart`), until
// open listens must be ended.
//
// Owned by a SessionGroup.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "config/config.h"
#include "foundation/net/loop.h"

namespace lineward::upstream {

class ReopenPause {
 public:
  // For the first loss after a session that worked properly.
  enum class First : uint8_t { at_once, after_a_pause };

  ReopenPause(net::Loop& loop, const config::Server& server) : loop_(loop), server_(server), wake_(loop) {}
  ReopenPause(const ReopenPause&) = delete;
  ReopenPause& operator=(const ReopenPause&) = delete;

  // A session was opened.
  void opened() { opened_at_ = loop_.now(); }
  // A session was lost, or never opened. False: too many in a row.
  bool lost(First first);
  // A session is lost. `useful`: its server had answered in it. True: neither this one nor the one before was
  // useful.
  bool is_useless_again(bool useful) {
    useless_ = useful ? 0 : useless_ + 1;
    return useless_ > 1;
  }
  // True: none may be opened yet; `over` is called when one may.
  bool must_wait(std::function<void()> over);

 private:
  net::Loop& loop_;
  const config::Server& server_;
  std::chrono::milliseconds opened_at_{0};
  std::chrono::milliseconds not_before_{0};
  uint32_t losses_ = 0;   // in a row
  uint32_t useless_ = 0;  // in a row, before any answer in the session
  net::Timer wake_;
};

}  // namespace lineward::upstream
