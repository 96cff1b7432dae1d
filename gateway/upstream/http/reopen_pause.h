// When a session in the place of one that was lost may be opened: after pauses that grow (the server's
// `restart`), until those who listen have to be told that it is over.
//
// Owned by a SessionGroup.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "config/config.h"
#include "net/loop.h"

namespace lineward::upstream {

class ReopenPause {
 public:
  // For the first loss after a session that started properly.
  enum class First : uint8_t { at_once, after_a_pause };

  ReopenPause(net::Loop& loop, const config::Server& server) : loop_(loop), server_(server), wake_(loop) {}
  ReopenPause(const ReopenPause&) = delete;
  ReopenPause& operator=(const ReopenPause&) = delete;

  // A session was opened.
  void opened() { opened_at_ = loop_.now(); }
  // It was lost, or did not even stand. False when too many were in a row.
  bool lost(First first);
  // A session is lost. `useful`: its server had answered in it. True: neither had it in the one before.
  bool is_useless_again(bool useful) {
    useless_ = useful ? 0 : useless_ + 1;
    return useless_ > 1;
  }
  // None may be opened yet; `over` is called when it may.
  bool must_wait(std::function<void()> over);

 private:
  net::Loop& loop_;
  const config::Server& server_;
  std::chrono::milliseconds opened_at_{0};
  std::chrono::milliseconds not_before_{0};
  uint32_t losses_ = 0;   // in a row
  uint32_t useless_ = 0;  // likewise, before anything was answered in the session
  net::Timer wake_;
};

}  // namespace lineward::upstream
