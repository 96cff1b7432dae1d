// Process signals as loop callbacks.
#pragma once

#include <functional>

#include "net/handle.h"
#include "net/loop.h"

namespace lineward::net {

class SignalWatch {
 public:
  SignalWatch(Loop& loop, int signal, std::function<void()> arrived);

 private:
  Handle<uv_signal_t> handle_;
  std::function<void()> arrived_;
};

// Takes the exit of every child that has ended. For a process that waits for none of its children by itself.
void reap_children();

}  // namespace lineward::net
