// Process signals as loop callbacks.
#pragma once

#include <functional>
#include <initializer_list>

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

// From here to the end of the process these do nothing, watched or not. For one that has come to its end:
// with its last watch a signal gets its default back, which would end the process with that signal's exit
// code. Our other threads take no signals; this one must not be asked for any more.
void ignore_signals(std::initializer_list<int> signals);

// What comes from here on waits until take_signals(), of which this thread's watches are told then.
void hold_signals(std::initializer_list<int> signals);
void take_signals(std::initializer_list<int> signals);

// Takes the exit of every child that has ended. For a process that waits for none of its children by itself.
void reap_children();

}  // namespace lineward::net
