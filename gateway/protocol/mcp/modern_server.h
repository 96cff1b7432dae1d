// A legacy client in front of a modern server: converts the client's requests to 2026-07-28, and the server's
// answers to legacy revisions (behaviour.md 10). The mirror of protocol/mcp/legacy_server.h; pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base/counted_string.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "protocol/mcp/revision.h"
#include "protocol/mcp/server_self.h"

namespace lineward::mcp {

// A modern server's DiscoverResult; the capabilities exclude the tasks extension, which is not translated.
struct ModernServer : ServerSelf {};
// Empty when the result contains no modern version that Lineward supports.
std::optional<ModernServer> read_discover_result(const Message& answer);
// A legacy client's `initialize` params; every request made for it carries them.
struct LegacyClient {
  std::string revision;      // negotiated
  std::string info;          // Implementation, raw JSON
  std::string capabilities;  // raw JSON, without `tasks`
  std::string log_level = "info";
  bool set_level = false;  // by the client itself
};
LegacyClient read_initialize_params(const Message& initialize, Wire wire = Wire::http);
inline size_t bytes_of(const LegacyClient& client) {
  return client.revision.size() + client.info.size() + client.capabilities.size();
}

// The answer to `initialize`, with id 0.
std::string initialize_answer(const ModernServer& server, const LegacyClient& client);

// The additions of a retry: the answers to the server's questions, and the server's unchanged state.
struct InputRetry {
  std::vector<std::pair<std::string, std::string>> responses;  // key, raw JSON
  std::string state;                                           // raw JSON; empty: the server gave none
};
// A legacy client's request or notification with the full `_meta` envelope of 2026-07-28. Id and progress
// token are unchanged. Lists carry a log level only if the client has set one: without it callers can share
// them. Fields that a legacy client must not send (retry fields, task) are removed.
std::string legacy_message_for_modern(const Message& message, const LegacyClient& client,
                                      const InputRetry* retry = nullptr);
// server/discover and subscriptions/listen on behalf of that client, with id 0. `filter` is raw JSON.
std::string discover_for_client(const LegacyClient& client);
std::string listen_for_client(const LegacyClient& client, std::string_view filter);

// A server's InputRequiredResult.
struct InputRequest {
  std::string key;
  std::string method;
  std::string params;  // raw JSON; empty when absent
};
struct InputRequired {
  std::vector<InputRequest> requests;
  std::string state;  // raw JSON; empty: none
  std::string fault;  // why it cannot be served; empty: it can be
};
bool is_input_required(const Message& answer);
// False for a resultType unknown to this client (2026-07-28 basic, "ResultType"): only declared extensions
// may add types, and tasks are not translated.
bool is_known_result(const Message& answer, const LegacyClient& client);
InputRequired read_input_required(const Message& answer, size_t most_requests);

// An input request as a legacy server's request. `elicitation_id` is for URL mode.
std::string question_for_legacy(const InputRequest& request, int64_t id, std::string_view revision,
                                std::string_view elicitation_id);
bool is_url_elicitation(const InputRequest& request);

// Tools with a wrapped output schema (protocol/mcp/output_schema.h): their results are wrapped likewise.
using WrappedTools = CountedStringSet;
inline constexpr size_t kMaxWrappedTools = 10000;

// A server's answer converted for a legacy client; `tool` is the name in a tools/call. Results are open
// objects in the legacy schemas, so `resultType`, `ttlMs` and `cacheScope` stay. The id is unchanged. Empty:
// no conversion is needed.
std::optional<json::Text> modern_answer_for_legacy(const Message& answer, Method method,
                                                   const std::string& tool, WrappedTools& wrapped);

// A notification of a listen without its subscription id.
std::string listen_notification_for_legacy(const Message& notification);

}  // namespace lineward::mcp
