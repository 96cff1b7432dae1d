// Process signals as loop callbacks.
#pragma once

#include <functional>
#include <initializer_list>

#include "foundation/net/handle.h"
#include "foundation/net/loop.h"

namespace lineward::net {

class SignalWatch {
 public:
  SignalWatch(Loop& loop, int signal, std::function<void()> arrived);

 private:
  Handle<uv_signal_t> handle_;
  std::function<void()> arrived_;
};

// Disables these signals, watched or not, until the process ends; for a process that is exiting. When its
// last watch ends, a signal gets its default action back, which would end the process with that signal's exit
// code. The other threads block signals; only this thread must stop receiving them.
void ignore_signals(std::initializer_list<int> signals);

// Holds signals until take_signals(), which delivers them to this thread's watches.
void hold_signals(std::initializer_list<int> signals);
void take_signals(std::initializer_list<int> signals);

// Reaps every child that has exited. For a process that waits for no particular child.
void reap_children();

}  // namespace lineward::net
