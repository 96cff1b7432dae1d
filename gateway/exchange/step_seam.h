// Where a simulated world (tests/sim) learns which events meet an exchange in which step: it defines the
// function, nobody else does, and then nothing is called.
#pragma once

#include <cstdint>

namespace lineward::exchange {

// In the order of tests/sim/transitions.txt.
enum class StepEvent : uint8_t {
  advance,
  phase,
  message,
  received,
  failure,
  routed,
  gone,
  told,
  deadline,
  sending,
  asked,
  answered,
  end
};

}  // namespace lineward::exchange

extern "C" __attribute__((weak)) void lineward_step_seen(unsigned step, unsigned event);
