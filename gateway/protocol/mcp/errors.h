// JSON-RPC errors made by Lineward. Its own reasons use positive HTTP-shaped codes (the specification
// reserves −32768…−32000) with the details in data["io.lineward/gateway"]; see behaviour.md 2 and
// docs/errors.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/mcp/end_reason.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/revision.h"

namespace lineward::mcp {

inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kLegacyResourceNotFound = -32002;  // until 2025-11-25; since then kInvalidParams
inline constexpr int kUrlElicitationRequired = -32042;  // 2025-11-25
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kMissingClientCapability = -32021;
inline constexpr int kUnsupportedVersion = -32022;

// `raw_id` and `data` are JSON text; if empty they are omitted.
std::string error_message(std::string_view raw_id, int code, std::string_view text,
                          std::string_view data = {});

// An error with one of Lineward's end reasons. Negative numbers mean "does not apply".
struct GatewayError {
  EndReason reason = EndReason::internal;
  std::string text;
  std::string upstream;
  std::string call_id;
  std::string route;  // the aggregate's path by which the call reached that server; else empty
  int64_t limit_ms = -1;
  int64_t elapsed_ms = -1;
  int64_t retry_after_ms = -1;
  // At least a part was sent to the server: the request may have had an effect, and must not be repeated
  // because of this error.
  bool sent = false;
};
// Its `data`, for errors with a code of the specification.
std::string gateway_data(const GatewayError& error);
std::string gateway_error(std::string_view raw_id, const GatewayError& error);

// −32022 with the supported and the requested versions.
std::string unsupported_version(std::string_view raw_id, std::string_view requested,
                                const std::vector<std::string>& supported);

// The HTTP status for a server's final message, if no head was sent yet (behaviour.md 2).
int response_status(Era client_era, const Message& response);

// The reason in an error made by a Lineward gateway; empty for other errors.
std::optional<EndReason> named_reason(const Message& error);
// The reason why a Lineward gateway behind this one could not reach its server; empty if the error does not
// state one.
std::optional<EndReason> gateway_reason(const Message& error);
// The integer of `error.code`, or 0.
int error_code(const Message& error);

}  // namespace lineward::mcp
