// The few edits of a message that crosses Lineward between two sides of the same era: ids, progress tokens,
// subscription ids, and lists of versions. All other bytes are unchanged. Pure functions; they return the
// message to send, without a line end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/mcp/message.h"
#include "protocol/mcp/revision.h"

namespace lineward::mcp {

// A client's request with the id for the server. A progress token of the client is replaced by that id too.
std::string request_for_upstream(const Message& request, int64_t id);

// A server's answer with the client's own id. For a `listen` the result gets the client's subscription id as
// well, even if the server omitted it.
std::string response_for_client(Message&& response, std::string_view client_raw_id);
std::string listen_response_for_client(const Message& response, std::string_view client_raw_id);

// A server's progress with the client's own token.
std::string progress_for_client(const Message& progress, std::string_view client_raw_token);
std::string progress_for_client(Message&& progress, std::string_view client_raw_token);

// A message on a listen with the client's listen id, which is added if the server omitted it.
std::string subscription_for_client(const Message& message, std::string_view client_raw_id);

// The graceful end of a listen (2026-07-28 subscriptions, "Graceful Closure").
std::string listen_result(std::string_view client_raw_id);
// On stdio, the message after that result: the server has ended the subscription (2026-07-28 cancellation).
std::string listen_cancelled(std::string_view client_raw_id);

// Notifications for a client when its lost listen is open again: one change for each type that the new
// acknowledgement grants.
std::vector<std::string> changes_after_loss(const Message& acknowledgement, std::string_view client_raw_id);

// `message` with its id replaced (a server's request to a client, or the client's answer).
std::string with_id(const Message& message, std::string_view raw_id);
// An error for a server when the client's answer is invalid, as `why` explains: the server's question would
// wait forever otherwise. Empty if no id was read, or it was not an answer.
std::optional<Message> in_place_of_answer(std::string_view raw_id, std::string_view why);
std::optional<Message> in_place_of_answer(const MessageFault& fault);
// notifications/cancelled with its requestId replaced.
std::string with_request_id(const Message& cancelled, std::string_view raw_id);

// The `_meta` members that a modern server requires in every message (2026-07-28 basic, "Per-request protocol
// fields"), without braces. A message without them pins dual-era SDK servers to legacy.
std::string own_envelope();
// A modern notification with the envelope added if missing.
std::string with_envelope(const Message& notification);

// notifications/cancelled with the server's id.
std::string cancel_notification(int64_t id, std::string_view reason, Era upstream_era);

// 2025-11-25 tasks: the parameters of `tasks/cancel` for the task created by this answer; empty: none.
std::string cancel_of_task(const Message& answer);

// Lineward's own requests.
std::string discover_request(int64_t id);
// `lineward/probe` with these members of its params, JSON without braces; may be empty.
std::string probe_request(int64_t id, std::string_view members);
std::string initialize_request(int64_t id, std::string_view params);
// Its params with these capabilities (raw JSON); and with none.
std::string initialize_params(std::string_view capabilities, std::string_view revision = kNewestLegacy);
std::string bare_initialize_params();
inline constexpr std::string_view kInitialized = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

// The strings of a JSON array; others are skipped.
std::vector<std::string> string_array(std::string_view raw);
// The strings that name versions Lineward supports; and those of them offered to a client on this transport.
std::vector<std::string> spoken_versions(std::string_view raw_array);
std::vector<std::string> served_versions(std::vector<std::string> spoken, Wire wire);
// A DiscoverResult, or an error −32022, with its list of versions cut to `versions`.
std::string with_versions(const Message& message, Field list, const std::vector<std::string>& versions);

// The most messages in a batch of 2025-03-26, in either direction.
inline constexpr size_t kMaxInBatch = 256;

// Recovers ids from an invalid line, best effort: the ids at the top level of its objects, as JSON text
// (kMaxInBatch at most). Accepts several values on one line or in one array, and duplicate ids. Also detects
// whether it resembles JSON-RPC at all (a "jsonrpc" before the fault).
struct RecoveredIds {
  bool looks_like_message = false;
  bool is_answer = false;  // a top-level member is a result or an error, and none a method
  std::vector<std::string> raw_ids;
};
RecoveredIds recover_ids(std::string_view broken_line);

// The elements of a batch, as text; empty when it is not a well-formed array of objects. If a batch has more
// than `most` elements, `most` + 1 are returned, and the rest is not read.
std::vector<std::string> batch_elements(std::string_view batch, size_t most = kMaxInBatch);
// The text of the refusal of a larger batch.
std::string too_many_in_batch(size_t most = kMaxInBatch);

}  // namespace lineward::mcp
