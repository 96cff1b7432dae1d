// The known era of a server, and how to read its answers to `server/discover` (behaviour.md 8), for every
// transport.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/mcp/message.h"
#include "protocol/mcp/revision.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/shared/process_end.h"

namespace lineward::upstream {

struct EraVerdict {
  bool known = false;
  mcp::Era era = mcp::Era::legacy;
  std::vector<std::string> versions;  // for a modern server: those that Lineward speaks too
  std::string server;                 // "name version", for display
  core::Tells tells;                  // for a modern server
  bool knows_no_discover = false;     // it refused `server/discover` as an unknown method: it is not modern
  ProcessEnd failure;                 // if not known: why; if weak: the exit it is based on

  // It is based only on the silent exit of a process; another process may contradict it.
  bool is_weak() const { return known && !failure.text.empty(); }
};

// The era set by the configuration; HTTP+SSE means legacy. Nullopt: the server is probed.
std::optional<EraVerdict> configured_verdict(const config::Server& server);

// Modern: a result with a version that Lineward speaks in supportedVersions, or −32022 with one in
// data.supported. Any other answer means legacy.
EraVerdict verdict_of_discover(const mcp::Message& answer);

// The list_changed notifications that its answer to server/discover declares.
core::Tells tells_of(const mcp::Message& discovered);

// Name and version of an Implementation object (raw JSON), for display.
std::string describe_implementation(std::string_view implementation);

}  // namespace lineward::upstream
