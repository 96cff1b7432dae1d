// Receives call events while an observer is connected (operate/admin/call_event_publisher.h). Each worker has
// its own. Without one a call costs one null check.
#pragma once

#include <cstdint>

#include "proxy/metrics/stats.h"

namespace lineward::exchange {

class Exchange;
struct EndedCall;

// Events of a call in flight.
enum class CallMoment : uint8_t {
  begin,     // it has started
  phase,     // it waits for something else now, or its server has it
  progress,  // its server has sent a notification
  cancel     // it is being cancelled
};

// Called on the worker's thread, in the middle of its work: implementations only read, and call nothing.
class CallWatcher {
 public:
  virtual ~CallWatcher() = default;
  virtual void told(CallMoment moment, Exchange& exchange) = 0;
  virtual void ended(const EndedCall& call) = 0;
  // The outcome of a cancel is known; `call` contains it.
  virtual void settled(const EndedCall& call) = 0;
};

}  // namespace lineward::exchange
