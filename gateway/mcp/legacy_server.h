// A modern client in front of a legacy server: the client's requests as the old revisions want them, the
// server's answers as 2026-07-28 wants them (behaviour.md 9). Pure functions over what `initialize` told.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/message.h"
#include "mcp/methods.h"
#include "mcp/server_self.h"

namespace lineward::mcp {

// What a legacy server said of itself in its InitializeResult; the capabilities are without the old core
// `tasks`, which modern clients do not know.
struct LegacyServer : ServerSelf {
  std::string revision;
};
// Whether an answer to `initialize` is the result that the schema demands: with a protocolVersion. A server
// that answers every method alike does not speak the era.
bool is_initialize_result(const Message& answer);

LegacyServer read_initialize_result(std::string_view result);
// What its texts take.
inline size_t bytes_of(const LegacyServer& server) {
  return server.revision.size() + bytes_of(static_cast<const ServerSelf&>(server));
}

// Id and token as with every upstream; the modern `_meta` keys and the retry fields are cut.
std::string modern_request_for_legacy(const Message& request, int64_t id);

// resultType, serverInfo and, where results may be cached, ttlMs 0 and cacheScope private are added; −32002
// becomes −32602. The id stays as it is.
json::Text legacy_answer_for_modern(const Message& answer, Method method, const LegacyServer& server);

// The answer to server/discover, made from `initialize`.
std::string discover_answer(const LegacyServer& server);

// What a modern request gets that the server is not asked, under id 0: server/discover, and the refusal of
// the tasks extension, which is not the core tasks of 2025-11-25 though its methods have their names. Empty
// for all others.
std::string answer_in_its_place(Method method, const LegacyServer& server);

// What a session's client is told when another process of `server`, or another session with it, took over: a
// warning, unless the client wants to hear of errors only (`level_params`: those of its logging/setLevel, or
// empty), and that every list may have changed which the server tells changes of.
std::vector<std::string> notices_of_lost_state(const LegacyServer& server, std::string_view name,
                                               std::string_view level_params);
// The last of these alone.
std::vector<std::string> notices_of_changed_lists(const LegacyServer& server);

// The client capability that a server's question needs; nothing for methods that are no questions.
struct NeededCapability {
  std::string name;    // "elicitation"
  std::string object;  // {"elicitation":{}}
};
std::optional<NeededCapability> capability_for(const Message& question);
// −32021 with what was missing.
std::string missing_capability(std::string_view raw_id, const NeededCapability& needed);

// Logging levels in their order; nothing for an unknown word.
std::optional<int> log_level(std::string_view name);

}  // namespace lineward::mcp
