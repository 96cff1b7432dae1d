// The few bytes that change when a message crosses Lineward between two sides of the same era: ids, progress
// tokens, subscription ids, and lists of versions. Everything else leaves as it came. Pure functions; the
// result is the message to send, without a line end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/message.h"
#include "mcp/revision.h"

namespace lineward::mcp {

// A client's request under the id that the server is to know. A progress token the client sent becomes that
// id too.
std::string request_for_upstream(const Message& request, int64_t id);

// A server's answer under the client's own id; and that of a `listen`: on its result the subscription id is
// the client's as well, also where the server left it out.
std::string response_for_client(const Message& response, std::string_view client_raw_id);
std::string listen_response_for_client(const Message& response, std::string_view client_raw_id);

// A server's progress under the client's own token.
std::string progress_for_client(const Message& progress, std::string_view client_raw_token);

// A message on a listen under the client's listen id, which is put in where the server left it out.
std::string subscription_for_client(const Message& message, std::string_view client_raw_id);

// The graceful end of a listen (2026-07-28 subscriptions, "Graceful Closure").
std::string listen_result(std::string_view client_raw_id);
// What follows it on stdio: the server has torn the subscription down (2026-07-28 cancellation).
std::string listen_cancelled(std::string_view client_raw_id);

// What a client that listens is told when its server was away: one change for each type the new
// acknowledgement grants.
std::vector<std::string> changes_after_loss(const Message& acknowledgement, std::string_view client_raw_id);

// `message` with its id replaced (a server's request on its way to a client, or the client's answer to it).
std::string with_id(const Message& message, std::string_view raw_id);
// What a server is answered whose client's answer is no message, as `why` says: an error under that id. Its
// question would wait for ever otherwise. Nothing where no id was read, or it was no answer.
std::optional<Message> in_place_of_answer(std::string_view raw_id, std::string_view why);
std::optional<Message> in_place_of_answer(const MessageFault& fault);
// notifications/cancelled with its requestId replaced.
std::string with_request_id(const Message& cancelled, std::string_view raw_id);

// The `_meta` members a modern server wants on every message (2026-07-28 basic, "Per-request protocol
// fields"), as members without braces. A bare message pins dual-era SDK servers to legacy.
std::string own_envelope();
// A modern notification with the envelope added where it has none.
std::string with_envelope(const Message& notification);

// notifications/cancelled for the id the server knows.
std::string cancel_notification(int64_t id, std::string_view reason, Era upstream_era);

// 2025-11-25 tasks: the parameters of `tasks/cancel` for the task that this answer has made; empty when it
// made none.
std::string cancel_of_task(const Message& answer);

// Lineward's own requests.
std::string discover_request(int64_t id);
// `lineward/probe` with these members of its params, JSON without braces; may be empty.
std::string probe_request(int64_t id, std::string_view members);
std::string initialize_request(int64_t id, std::string_view params);
// Parameters of it that declare these capabilities (raw JSON), and none.
std::string initialize_params(std::string_view capabilities, std::string_view revision = kNewestLegacy);
std::string bare_initialize_params();
inline constexpr std::string_view kInitialized = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

// The strings of a JSON array; others are skipped.
std::vector<std::string> string_array(std::string_view raw);
// Those of them that Lineward speaks, and of these the ones that such a client gets.
std::vector<std::string> spoken_versions(std::string_view raw_array);
std::vector<std::string> served_versions(std::vector<std::string> spoken, Wire wire);
// A DiscoverResult, or an error −32022, whose list of versions is cut to `versions`.
std::string with_versions(const Message& message, Field list, const std::vector<std::string>& versions);

// More messages than that are no batch of 2025-03-26, whoever writes it.
inline constexpr size_t kMaxInBatch = 256;

// Best effort on a line that is no valid message: the ids it claims at the top of its objects, as JSON text
// (several values on one line, or in one array; an id that stands twice; kMaxInBatch at most), and whether it
// looks like JSON-RPC at all (a "jsonrpc" before it breaks).
struct RecoveredIds {
  bool looks_like_message = false;
  bool is_answer = false;  // of what it claims at the top, one is a result or an error, and none a method
  std::vector<std::string> raw_ids;
};
RecoveredIds recover_ids(std::string_view broken_line);

// The elements of a batch, as text; empty when it is no well-formed array of objects. Of one that has more
// than `most` one more is given, and the rest is not looked at.
std::vector<std::string> batch_elements(std::string_view batch, size_t most = kMaxInBatch);
// The refusal of a batch with more, for a person.
std::string too_many_in_batch(size_t most = kMaxInBatch);

}  // namespace lineward::mcp
