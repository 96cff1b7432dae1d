// Hears what happens to calls while somebody looks (admin/call_teller.h). Of each worker its own; where there
// is none a call costs one look at a null pointer.
#pragma once

#include <cstdint>

#include "metrics/stats.h"

namespace lineward::exchange {

class Exchange;
struct EndedCall;

// What is told of a call that goes on.
enum class CallMoment : uint8_t {
  begin,     // it is under way
  phase,     // it waits for something else now, or its server has it
  progress,  // its server has told something
  cancel     // it is being given up
};

// On the worker's thread, from the middle of its work: looks, and calls nothing.
class CallWatcher {
 public:
  virtual ~CallWatcher() = default;
  virtual void told(CallMoment moment, Exchange& exchange) = 0;
  virtual void ended(const EndedCall& call) = 0;
  // What became of a cancel; `call` has it.
  virtual void settled(const EndedCall& call) = 0;
};

}  // namespace lineward::exchange
