// What is known of the era that a server speaks, and how its answers to `server/discover` are read
// (behaviour.md 8). Whoever asks it, over whatever transport, judges the answer here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/upstream.h"
#include "mcp/message.h"
#include "mcp/revision.h"
#include "upstream/shared/process_end.h"

namespace lineward::upstream {

struct EraVerdict {
  bool known = false;
  mcp::Era era = mcp::Era::legacy;
  std::vector<std::string> versions;  // of a modern one: that both it and Lineward speak
  std::string server;                 // "name version", for people
  core::Tells tells;                  // of a modern one
  bool knows_no_discover = false;     // it refused that as a method that it does not know: modern it is not
  ProcessEnd failure;                 // when not known: why; when it is weak: of what it was taken

  // It rests on the silent exit of a process alone, which another process may contradict.
  bool is_weak() const { return known && !failure.text.empty(); }
};

// The era that the configuration fixes, so that nobody has to ask; HTTP+SSE ended with the legacy revisions.
// Nothing: the server is asked.
std::optional<EraVerdict> configured_verdict(const config::Server& server);

// Modern is a result whose supportedVersions names a modern version that Lineward speaks, and −32022 whose
// data.supported does. Any other answer is legacy.
EraVerdict verdict_of_discover(const mcp::Message& answer);

// Of which lists its answer to server/discover says that it tells of changes.
core::Tells tells_of(const mcp::Message& discovered);

// An Implementation object, raw JSON: name and version are what people want to see.
std::string describe_implementation(std::string_view implementation);

}  // namespace lineward::upstream
