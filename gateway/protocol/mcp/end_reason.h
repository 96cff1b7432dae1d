// The closed list of ways in which an exchange ends (behaviour.md 2), used word for word in errors, logs and
// metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lineward::mcp {

enum class EndReason : uint8_t {
  ok,
  tool_error,
  rpc_error,
  input_required,
  cancelled_client,
  client_too_slow,
  cancelled_operator,
  cancelled_drain,
  timeout_queue,
  timeout_connect,
  timeout_startup,
  timeout_request,
  timeout_max_duration,
  timeout_park,
  upstream_exited,
  upstream_unreachable,
  upstream_protocol,
  circuit_open,
  queue_full,
  rate_limited,
  unauthorized,
  forbidden,
  invalid_request,
  internal,
  count_
};

// The class of an end for metrics, logs, traces and the console.
enum class EndKind : uint8_t {
  success,
  error,    // the server's own error
  cancel,   // by the client, an operator or a drain
  cut,      // the client's stream was cut
  timeout,  // its name is timeout_LIMIT
  refusal,  // refused before the server received the request
  failure,
  count_
};

// Rules that depend on the reason; bits of EndReasonRow::traits.
enum EndTrait : uint8_t {
  kExpected = 1,         // a log line of level info; `lineward tail` shows no error
  kLackOfRoom = 2,       // temporarily at capacity, without a failure: a later retry may succeed
  kServerDown = 4,       // counts for the server's circuit breaker
  kClientRefused = 8,    // the client itself is refused, and always receives that as HTTP 401, 403 or 429
  kByPlugin = 16,        // plugins may refuse with it
  kExitUnavailable = 32  // `lineward call` exits with 69; with a timeout it exits with 124, else with 1
};

struct EndReasonRow {
  EndReason reason;
  std::string_view name;
  EndKind kind;
  int code;        // of the JSON-RPC error the client gets in HTTP 200; 0: the client gets no such error
  bool retryable;  // a retry makes sense if nothing was sent to the server (GatewayError::sent)
  uint8_t traits;
  std::string_view advice;  // of `lineward call`
};

inline constexpr std::array<EndReasonRow, static_cast<size_t>(EndReason::count_)> kEndReasons{{
    {EndReason::ok, "ok", EndKind::success, 0, false, kExpected, ""},
    {EndReason::tool_error, "tool_error", EndKind::error, 0, false, 0, ""},
    {EndReason::rpc_error, "rpc_error", EndKind::error, 0, false, 0, ""},
    {EndReason::input_required, "input_required", EndKind::success, 0, false, kExpected, ""},
    {EndReason::cancelled_client, "cancelled_client", EndKind::cancel, 0, false, kExpected, ""},
    {EndReason::client_too_slow, "client_too_slow", EndKind::cut, 0, false, 0, ""},
    {EndReason::cancelled_operator, "cancelled_operator", EndKind::cancel, 499, false, 0, ""},
    {EndReason::cancelled_drain, "cancelled_drain", EndKind::cancel, 503, false, kExitUnavailable,
     "the gateway is stopping; try again when it is back"},
    {EndReason::timeout_queue, "timeout_queue", EndKind::timeout, 504, true, kLackOfRoom,
     "the server is busy: lineward ps says with what"},
    {EndReason::timeout_connect, "timeout_connect", EndKind::timeout, 504, true, kServerDown,
     "is the server up, and reachable from here? lineward doctor"},
    {EndReason::timeout_startup, "timeout_startup", EndKind::timeout, 504, true, kServerDown,
     "lineward doctor says what its start does; timeouts.startup is the limit"},
    {EndReason::timeout_request, "timeout_request", EndKind::timeout, 504, false, 0,
     "--timeout 5m waits longer; a tool that reports progress is waited for"},
    {EndReason::timeout_max_duration, "timeout_max_duration", EndKind::timeout, 504, false, 0,
     "--max-duration 1h lets it run longer"},
    {EndReason::timeout_park, "timeout_park", EndKind::timeout, 504, false, 0,
     "answer its question sooner, or raise timeouts.park"},
    {EndReason::upstream_exited, "upstream_exited", EndKind::failure, 502, false, kServerDown,
     "lineward doctor says what its start does"},
    {EndReason::upstream_unreachable, "upstream_unreachable", EndKind::failure, 502, true,
     kServerDown | kExitUnavailable, "lineward doctor says what is wrong with it"},
    {EndReason::upstream_protocol, "upstream_protocol", EndKind::failure, 502, false, 0,
     "lineward doctor says what it does not keep to"},
    {EndReason::circuit_open, "circuit_open", EndKind::refusal, 503, true, kLackOfRoom | kExitUnavailable,
     "it failed several times and is left alone for a while; try again later"},
    {EndReason::queue_full, "queue_full", EndKind::refusal, 503, true, kLackOfRoom | kExitUnavailable,
     "the server is busy: lineward ps says with what; try again"},
    {EndReason::rate_limited, "rate_limited", EndKind::refusal, 429, true, kClientRefused | kByPlugin,
     "wait, and try again"},
    {EndReason::unauthorized, "unauthorized", EndKind::refusal, 401, true, kClientRefused | kByPlugin,
     "-H 'Authorization: Bearer ${env:TOKEN}' or --token-file FILE authenticates you"},
    {EndReason::forbidden, "forbidden", EndKind::refusal, 403, false, kClientRefused | kByPlugin,
     "these credentials may not do this: others, with -H or --token-file"},
    {EndReason::invalid_request, "invalid_request", EndKind::refusal, 400, false, kByPlugin, ""},
    {EndReason::internal, "internal", EndKind::failure, 500, false, kByPlugin, ""},
}};

static_assert(
    [] {
      for (size_t i = 0; i < kEndReasons.size(); ++i) {
        if (kEndReasons[i].reason != static_cast<EndReason>(i)) return false;
      }
      return true;
    }(),
    "each row stands at the place of its reason");

constexpr const EndReasonRow& row(EndReason reason) {
  return kEndReasons[static_cast<size_t>(reason)];
}
constexpr std::string_view name(EndReason reason) {
  return row(reason).name;
}
// Null: no reason has this name.
constexpr const EndReasonRow* end_reason(std::string_view name) {
  for (const EndReasonRow& one : kEndReasons) {
    if (one.name == name) return &one;
  }
  return nullptr;
}
constexpr bool is(EndReason reason, EndKind kind) {
  return row(reason).kind == kind;
}
constexpr bool has(EndReason reason, EndTrait trait) {
  return (row(reason).traits & trait) != 0;
}
constexpr bool is_lack_of_room(EndReason reason) {
  return has(reason, kLackOfRoom);
}
constexpr bool is_refusal_of_client(EndReason reason) {
  return has(reason, kClientRefused);
}

}  // namespace lineward::mcp
