// Time that stands still until it is told to go: in a target that links virtual_clock.cc, every reader of the
// monotonic clock, libuv included, sees this one. The wall clock stays real.
#pragma once

#include <chrono>

namespace lineward::fuzz {

void advance_clock(std::chrono::milliseconds by);

}  // namespace lineward::fuzz
