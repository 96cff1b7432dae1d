// The audit log as the rest of the gateway sees it: who has something to record hands it in, from any thread,
// and never waits. One chain for the whole process (audit/trail.h); without `audit:` in the configuration a
// record costs one look at a null pointer.
//
// What is a record is decided here and nowhere else: each kind with the name it has in the file.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "log/log.h"

namespace lineward::audit {

enum class Kind : uint8_t {
  call,     // a request of a client that became a call, at its end
  refusal,  // what was refused before it became one, or belongs to none
  action,   // what an operator did, or tried to
  reload,   // the configuration was read again
  // Of the log itself:
  open,        // a process begins to write a file
  close,       // the last record of a file
  checkpoint,  // with a signature over all that is before it
  gap,         // so many records were lost
  torn,        // the file ended in the middle of a record
  count_
};
std::string_view name(Kind kind);

// Is anything recorded?
bool active();
// Empty values are left out; texts are redacted, and cut where they are long. Keys are literals. What was
// refused, also as a call that reached no server, has a rate for each peer: what is beyond it is counted, and
// once a second a record says how many (`unrecorded`).
void record(Kind kind, std::initializer_list<log::Field> fields);
// The JSON text of a call's arguments as it is recorded: redacted and cut; empty where they are not wanted.
std::string recorded_arguments(std::string_view json);
// Why no call may begin now, or empty: the log cannot be written, and audit.onError is `refuse`.
std::string_view refusal();

// For /metrics.
struct Counts {
  uint64_t records = 0;  // taken
  uint64_t lost = 0;     // not taken, for want of room
  bool writable = true;  // what is done now will be on record
  uint64_t counted = 0;  // refusals beyond the rate of their peer, without a record of their own
};
Counts counts();

}  // namespace lineward::audit
