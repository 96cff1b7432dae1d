// The audit log's interface for the rest of the gateway: records are handed in from any thread, without
// waiting. There is one chain for the whole process (proxy/audit/audit_log.h). Without `audit:` in the
// configuration a record costs one null-pointer check.
//
// The kinds of records are defined here only, each with its name in the file.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "foundation/log/log.h"

namespace lineward::audit {

enum class Kind : uint8_t {
  call,     // a client's request that became a call, at its end
  refusal,  // a refusal before it became a call, or without one
  action,   // an operator's action or attempt
  reload,   // the configuration was reloaded
  // About the log itself:
  open,        // a process begins to write a file
  close,       // the last record of a file
  checkpoint,  // signs everything before it
  gap,         // a number of records was lost
  torn,        // the file ended within a record
  count_
};
std::string_view name(Kind kind);

// Whether there is an audit log.
bool active();
// Empty values are omitted; texts are redacted, then truncated. Keys are literals. Refusals, including calls
// refused before they reached a server, are rate-limited for each peer. Refusals beyond the rate are counted,
// and reported once a second in a record (`unrecorded`).
void record(Kind kind, std::initializer_list<log::Field> fields);
// A call's arguments as recorded, JSON text: redacted and truncated; empty if the configuration excludes
// them.
std::string recorded_arguments(std::string_view json);
// The reason why no call may begin now, or empty: the log cannot be written, and audit.onError is `refuse`.
std::string_view refusal();

// For /metrics.
struct Counts {
  uint64_t records = 0;  // accepted
  uint64_t lost = 0;     // dropped for lack of space
  bool writable = true;  // actions from now on will be recorded
  uint64_t counted = 0;  // refusals beyond their peer's rate, without their own record
};
Counts counts();

}  // namespace lineward::audit
