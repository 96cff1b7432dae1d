// Lets the simulation (tests/sim) observe which events reach an exchange in which step. Only the simulation
// defines the function; otherwise nothing is called.
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
  client_left,
  cancel,
  deadline,
  sending,
  asked,
  answered,
  end
};

}  // namespace lineward::exchange

extern "C" __attribute__((weak)) void lineward_step_seen(unsigned step, unsigned event);
