// A modern client in front of a legacy server: converts the client's requests to legacy revisions, and the
// server's answers to 2026-07-28 (behaviour.md 9). Pure functions over the result of `initialize`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "protocol/mcp/server_self.h"

namespace lineward::mcp {

// A legacy server's InitializeResult; the capabilities exclude the legacy core `tasks`, which modern clients
// do not know.
struct LegacyServer : ServerSelf {
  std::string revision;
};
// Whether an answer to `initialize` is the result that the schema demands: with a protocolVersion. A server
// that answers every method with the same result does not prove its era by that.
bool is_initialize_result(const Message& answer);

LegacyServer read_initialize_result(std::string_view result);
// The size of its texts.
inline size_t bytes_of(const LegacyServer& server) {
  return server.revision.size() + bytes_of(static_cast<const ServerSelf&>(server));
}

// Id and token as for every upstream; the modern `_meta` keys and the retry fields are removed.
std::string modern_request_for_legacy(const Message& request, int64_t id);

// Adds resultType, serverInfo and, for cacheable results, ttlMs 0 and cacheScope private; −32002 becomes
// −32602. The id is unchanged.
json::Text legacy_answer_for_modern(const Message& answer, Method method, const LegacyServer& server);

// The answer to server/discover, made from `initialize`.
std::string discover_answer(const LegacyServer& server);

// Lineward's own answer to requests that a legacy server cannot serve, with id 0. These are server/discover,
// and the tasks extension, which is refused: it differs from the core tasks of 2025-11-25 despite equal
// method names. Empty for all other methods.
std::string answer_in_its_place(Method method, const LegacyServer& server);

// Notifications for a session's client when another process or session of `server` has taken over. They are a
// warning, unless the client's log level is higher, and a change of every list that the server announces
// changes of. `level_params`: those of its logging/setLevel, or empty.
std::vector<std::string> notices_of_lost_state(const LegacyServer& server, std::string_view name,
                                               std::string_view level_params);
// The list changes alone.
std::vector<std::string> notices_of_changed_lists(const LegacyServer& server);

// The client capability that a server's question needs; empty for other methods.
struct NeededCapability {
  std::string name;    // "elicitation"
  std::string object;  // {"elicitation":{}}
};
std::optional<NeededCapability> capability_for(const Message& question);
// −32021 with the missing capability.
std::string missing_capability(std::string_view raw_id, const NeededCapability& needed);

// Logging levels in ascending order; empty for an unknown name.
std::optional<int> log_level(std::string_view name);

}  // namespace lineward::mcp
