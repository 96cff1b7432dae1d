// Which events met an exchange in which step, in all worlds of this process
// (gateway/proxy/exchange/state_observer.h).
#pragma once

#include <string>

namespace lineward::sim {

// All pairs, as lines of tests/sim/transitions.txt: those that were not met have no reason yet.
std::string transitions();
// Transitions of that file that did not happen, and impossible ones that did; empty: none.
std::string transition_faults(const std::string& file);

}  // namespace lineward::sim
