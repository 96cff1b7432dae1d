// How a process ended, or why it could not be started, and the text for it.
#pragma once

#include <string>

#include "foundation/base/result.h"
#include "protocol/mcp/end_reason.h"

namespace lineward::config {
struct Server;
}
namespace lineward::upstream {

struct ProcessEnd {
  mcp::EndReason reason = mcp::EndReason::upstream_exited;
  std::string text;                  // "exited with code 1"
  std::string last_stderr;           // for the log only
  std::string detail;                // likewise: details not for clients, such as the searched PATH
  int64_t limit_ms = -1;             // the exceeded limit, if any; HTTP servers only
  bool counts = true;                // affects the server's health
  bool knows_no_initialize = false;  // it refused `initialize` as an unknown method: it is not legacy
};

// Why a command could not be started: the errno by its name, and how to fix it. Details not for clients
// (PATH, directories) are in `detail`.
ProcessEnd describe_failure(const Error& failure, const config::Server& server);

// The text for clients when a process ended before its first answer: `end.text` and, unless configured
// otherwise, its last line on stderr without the values of its `env`.
std::string start_failure_text(const ProcessEnd& end, const config::Server& server);

}  // namespace lineward::upstream
