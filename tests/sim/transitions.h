// Which events met an exchange in which step, in all worlds of this process
// (gateway/proxy/exchange/state_observer.h).
#pragma once

#include <string>

namespace lineward::sim {

// All pairs, as lines of tests/sim/transitions.txt: those that were not met have no reason yet.
std::string transitions();
// What that file says and did not happen, or happened and is said to be impossible; empty: all is as it says.
std::string transition_faults(const std::string& file);

}  // namespace lineward::sim
