// How a process ended, or why it could not be started, and how that is put into words.
#pragma once

#include <string>

#include "mcp/end_reason.h"

namespace lineward::config {
struct Server;
}
namespace lineward::net {
struct SpawnFailure;
}

namespace lineward::upstream {

struct ProcessEnd {
  mcp::EndReason reason = mcp::EndReason::upstream_exited;
  std::string text;         // "exited with code 1"
  std::string last_stderr;  // for the log only
  std::string detail;       // likewise: what a client need not know, such as the PATH that was searched
  int64_t limit_ms = -1;    // the limit that was broken, where there was one; HTTP servers only
  bool counts = true;       // says something about the server's health
  bool knows_no_initialize = false;  // it refused that as a method that it does not know: legacy it is not
};

// Why a command could not be started: the errno by its name, and what to do about it. What a client need not
// know (PATH, directories) is in `detail`.
ProcessEnd describe_failure(const net::SpawnFailure& failure, const config::Server& server);

// What a client is told of a process that ended before it had answered anything: `end.text` and, unless the
// server is configured otherwise, its last line on stderr without the values of its `env`.
std::string start_failure_text(const ProcessEnd& end, const config::Server& server);

}  // namespace lineward::upstream
