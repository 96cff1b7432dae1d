// JSON-RPC errors that Lineward itself makes. Its own reasons use positive HTTP-shaped codes (the
// specification keeps −32768…−32000 for itself) with the details in data["io.lineward/gateway"]; see
// behaviour.md 2 and docs/errors.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/end_reason.h"
#include "mcp/message.h"
#include "mcp/revision.h"

namespace lineward::mcp {

inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kLegacyResourceNotFound = -32002;  // until 2025-11-25; now kInvalidParams
inline constexpr int kUrlElicitationRequired = -32042;  // 2025-11-25
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kMissingClientCapability = -32021;
inline constexpr int kUnsupportedVersion = -32022;

// `raw_id` is the JSON text of the id; empty leaves the id out. `data` is JSON text; empty leaves it out.
std::string error_message(std::string_view raw_id, int code, std::string_view text,
                          std::string_view data = {});

// An error that names one of our end reasons. Negative numbers mean "does not apply".
struct GatewayError {
  EndReason reason = EndReason::internal;
  std::string text;
  std::string upstream;
  std::string call_id;
  std::string route;  // the path of many servers as one, by which the call came to that server; else empty
  int64_t limit_ms = -1;
  int64_t elapsed_ms = -1;
  int64_t retry_after_ms = -1;
  // The server has it, or some of it: it may have done what was asked, and must not be asked again for that.
  bool sent = false;
};
// Its `data`, for errors with a code of the specification.
std::string gateway_data(const GatewayError& error);
std::string gateway_error(std::string_view raw_id, const GatewayError& error);

// −32022 with what this endpoint supports and what was asked for.
std::string unsupported_version(std::string_view raw_id, std::string_view requested,
                                const std::vector<std::string>& supported);

// The HTTP status for a server's final message, where no head was sent yet (behaviour.md 2).
int response_status(Era client_era, const Message& response);

// The reason in an error that a gateway of ours has made; nothing where none has.
std::optional<EndReason> named_reason(const Message& error);
// Why a gateway of ours behind us could not have its own server; nothing where the error says nothing of
// that.
std::optional<EndReason> gateway_reason(const Message& error);
// The integer of `error.code`, 0 when it is none.
int error_code(const Message& error);

}  // namespace lineward::mcp
