#include "transitions.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>

namespace lineward::sim {
namespace {

constexpr std::array<const char*, 6> kSteps = {"admitted",       "plugins", "route",
                                               "await_upstream", "ending",  "ended"};
constexpr std::array<const char*, 13> kEvents = {"advance", "phase",       "message", "received", "failure",
                                                 "routed",  "client_left", "cancel",  "deadline", "sending",
                                                 "asked",   "answered",    "end"};

// Only ever fewer.
constexpr size_t kMostUnmet = 0;

std::array<std::array<uint64_t, kEvents.size()>, kSteps.size()> met{};

}  // namespace

std::string transitions() {
  std::string text;
  for (size_t step = 0; step < kSteps.size(); ++step) {
    for (size_t event = 0; event < kEvents.size(); ++event)
      text += fmt::format("{} {} {}\n", kSteps[step], kEvents[event], met[step][event]);
  }
  return text;
}

std::string transition_faults(const std::string& file) {
  std::ifstream in(file);
  std::set<std::string> said;
  std::string faults;
  size_t unmet = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string step, event, what;
    words >> step >> event >> what;
    if (!what.empty() && what.back() == ':') what.pop_back();
    if (step.empty() || step[0] == '#') continue;
    said.insert(step + " " + event);
    uint64_t times = 0;
    for (size_t s = 0; s < kSteps.size(); ++s) {
      for (size_t e = 0; e < kEvents.size(); ++e) {
        if (step == kSteps[s] && event == kEvents[e]) times = met[s][e];
      }
    }
    if (what == "reached" && times == 0)
      faults += fmt::format("{} {} is not reached any more\n", step, event);
    if (what == "unmet" && ++unmet > kMostUnmet)
      faults += fmt::format("{} {} is unmet, one more than {}\n", step, event, kMostUnmet);
    if (what == "unmet" && times > 0)
      faults += fmt::format("{} {} is reached: {} has to say so\n", step, event, file);
    if (what != "reached" && what != "impossible" && what != "unmet")
      faults += fmt::format("{} {} is '{}', which is nothing\n", step, event, what);
    if (what == "impossible" && times > 0)
      faults += fmt::format("{} {} is said to be impossible, and was met\n", step, event);
  }
  if (said.size() != kSteps.size() * kEvents.size())
    faults += fmt::format("{} names {} pairs of {}\n", file, said.size(), kSteps.size() * kEvents.size());
  return faults;
}

}  // namespace lineward::sim

extern "C" void lineward_step_seen(unsigned step, unsigned event);
void lineward_step_seen(unsigned step, unsigned event) {
  ++lineward::sim::met.at(step).at(event);
}
