// The steps that a call may make the fault server do (README.md lists them).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace faults {

struct CallContext {
  std::string raw_id;     // JSON text
  std::string raw_token;  // JSON text; empty when the call has none
  std::string nonce;
};

// The parts of the server that a step needs.
struct World {
  std::function<void(const CallContext&)> answer;
  std::function<void(int ms)> serve;  // read and handle input for that long; 0: what is there
};

// Runs the steps, words divided by spaces. Steps that write block until it is written.
void run_steps(std::string_view steps, const CallContext& call, const World& world);

void write_all(int fd, std::string_view bytes);
int64_t now_ms();

}  // namespace faults
