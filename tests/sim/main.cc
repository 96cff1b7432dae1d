// sim [--seed N] [--seconds N] [--worlds N] [--from N] [--small] [--seeds FILE] [--tell] [--briefly]: worlds
// one after the other. The first that fails is made smaller and told; briefly: it is named.
#include <fmt/format.h>
#include <time.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <string>

#include "foundation/log/log.h"
#include "huge_pages.h"
#include "run.h"
#include "transitions.h"

namespace {

using namespace lineward::sim;

double seconds() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) / 1e9;
}

// Which seed is under way when the process ends by a fault.
volatile uint64_t current = 0;
void last_words(int signal) {
  char text[128];
  const int size = std::snprintf(text, sizeof text, "\nseed %llu ended the process by signal %d\n",
                                 static_cast<unsigned long long>(current), signal);
  if (write(1, text, static_cast<size_t>(size)) < 0) _exit(2);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

int explain(uint64_t seed, bool small) {
  Plan plan = draw_plan(seed);
  Verdict verdict = run(plan, false);
  if (!verdict.ok && small) {
    size_t tried = 0;
    plan = shrink(plan, verdict.what, tried);
    fmt::print("made smaller in {} worlds\n", tried);
  }
  verdict = run(plan, true);
  fmt::print("{}{}", describe(plan), verdict.story);
  if (!verdict.ok) fmt::print("seed {} FAILED: {} ({})\n", seed, verdict.what, verdict.details);
  return verdict.ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  move_code_to_huge_pages();
  double limit = 10;
  uint64_t worlds = UINT64_MAX, from = 0;
  bool one = false, tell = false, twice = false, keep_going = false, from_given = false, small = false;
  bool briefly = false;
  uint64_t seed = 0;
  std::string seeds, transitions_file;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    auto value = [&] { return i + 1 < argc ? argv[++i] : "0"; };
    if (name == "--seed") {
      seed = std::strtoull(value(), nullptr, 10);
      one = true;
    } else if (name == "--seconds")
      limit = std::atof(value());
    else if (name == "--worlds") {
      worlds = std::strtoull(value(), nullptr, 10);
      limit = 1e9;
    } else if (name == "--from") {
      from = std::strtoull(value(), nullptr, 10);
      from_given = true;
    } else if (name == "--seeds")
      seeds = value();
    else if (name == "--transitions")
      transitions_file = value();
    else if (name == "--tell")
      tell = true;
    else if (name == "--bytes")
      World::tells_bytes = tell = true;
    else if (name == "--twice")
      twice = true;
    else if (name == "--small")
      small = true;
    else if (name == "--briefly")
      briefly = true;
    else if (name == "--keep-going")
      keep_going = true;
    else {
      fmt::print("what is {}?\n", name);
      return 64;
    }
  }
  // The gateway's messages for people; sanitizers report in another way.
  stderr = std::fopen("/dev/null", "w");
  ::clearenv();
  ::setenv("SIM", "1", 1);  // the gateway walks through what there is
  lineward::log::configure(lineward::log::Format::logfmt, lineward::log::Level::info, false);
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE})
    std::signal(signal, last_words);
  current = seed;
  if (one && twice) {
    // The point at which two runs of one seed differ.
    World::tells_bytes = true;
    const Plan plan = draw_plan(seed);
    for (int i = 0; i < 20; ++i) {
      const std::string first = run(plan, true).story, second = run(plan, true).story;
      size_t at = 0;
      while (at < first.size() && at < second.size() && first[at] == second[at])
        ++at;
      if (at == first.size() && at == second.size()) continue;
      at = at > 600 ? at - 600 : 0;
      fmt::print("{}\n----\n{}\n", first.substr(at, 1200), second.substr(at, 1200));
      return 1;
    }
    return 0;
  }
  if (one && tell) {
    const Plan plan = draw_plan(seed);
    const Verdict verdict = run(plan, true);
    fmt::print("{}{}", describe(plan), verdict.story);
    if (!verdict.ok) fmt::print("seed {} FAILED: {} ({})\n", seed, verdict.what, verdict.details);
    return verdict.ok ? 0 : 1;
  }
  if (one) return explain(seed, true);
  size_t failed = 0, done = 0, calls = 0;
  double simulated = 0;
  uint64_t turns = 0;
  const double begun = seconds();
  auto look = [&](uint64_t which) {
    current = which;
    const Plan plan = draw_plan(which);
    const Verdict verdict = run(plan, false);
    ++done;
    calls += verdict.calls;
    turns += verdict.turns;
    simulated += static_cast<double>(verdict.lasted) / kSecond;
    if (verdict.ok && twice && run(plan, false).hash != verdict.hash) {
      fmt::print("seed {} FAILED: the same seed made another world\n", which);
      ++failed;
    }
    if (verdict.ok) return true;
    ++failed;
    fmt::print("seed {} FAILED: {} ({})\n", which, verdict.what, verdict.details);
    std::fflush(stdout);
    if (!keep_going && !briefly) explain(which, true);
    return keep_going;
  };
  if (!seeds.empty()) {
    std::ifstream file(seeds);
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      if (!look(std::strtoull(line.c_str(), nullptr, 10))) break;
    }
  } else {
    if (!from_given) from = (static_cast<uint64_t>(std::random_device()()) << 16) % 1000000007;
    for (uint64_t which = from; done < worlds && seconds() - begun < limit; ++which) {
      if ((!small || is_small(which)) && !look(which)) break;
    }
  }
  if (!transitions_file.empty()) {
    const std::string faults = transition_faults(transitions_file);
    if (!faults.empty()) fmt::print("{}{}", transitions(), faults);
    failed += faults.empty() ? 0 : 1;
  }
  const double took = seconds() - begun;
  const double busy = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  fmt::print(
      "{} worlds from seed {}, {} calls, {} failed; {:.0f} worlds and {:.0f} simulated seconds per second of "
      "processor time, {} turns in {:.0f} s\n",
      done, from, calls, failed, static_cast<double>(done) / busy, simulated / busy, turns, took);
  return failed == 0 ? 0 : 1;
}
