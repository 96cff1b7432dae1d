// A world from its plan to its verdict.
#pragma once

#include <string>

#include "ledger.h"
#include "plan.h"

namespace lineward::sim {

struct Verdict {
  bool ok = true;
  std::string what;  // the first promise that did not hold
  std::string details;
  uint64_t hash = 0;  // of all that happened
  Time lasted = 0;
  uint64_t turns = 0;
  size_t calls = 0;
  std::string story;  // with `tell`: what happened, as a table
};

Verdict run(const Plan& plan, bool tell);
// The smallest plan found that fails in the same way, and how many worlds that took.
Plan shrink(Plan plan, const std::string& what, size_t& tried);

}  // namespace lineward::sim
