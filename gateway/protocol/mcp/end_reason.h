// The closed list of ways in which an exchange ends (behaviour.md 2), used word for word in errors, logs and
// metrics.
#pragma once

#include <array>
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

struct EndReasonRow {
  EndReason reason;
  std::string_view name;
  int code;        // of the JSON-RPC error the client gets in HTTP 200; 0: the client gets no such error
  bool retryable;  // a retry makes sense if nothing was sent to the server (GatewayError::sent)
};

inline constexpr std::array<EndReasonRow, static_cast<size_t>(EndReason::count_)> kEndReasons{{
    {EndReason::ok, "ok", 0, false},
    {EndReason::tool_error, "tool_error", 0, false},
    {EndReason::rpc_error, "rpc_error", 0, false},
    {EndReason::input_required, "input_required", 0, false},
    {EndReason::cancelled_client, "cancelled_client", 0, false},
    {EndReason::client_too_slow, "client_too_slow", 0, false},
    {EndReason::cancelled_operator, "cancelled_operator", 499, false},
    {EndReason::cancelled_drain, "cancelled_drain", 503, false},
    {EndReason::timeout_queue, "timeout_queue", 504, true},
    {EndReason::timeout_connect, "timeout_connect", 504, true},
    {EndReason::timeout_startup, "timeout_startup", 504, true},
    {EndReason::timeout_request, "timeout_request", 504, false},
    {EndReason::timeout_max_duration, "timeout_max_duration", 504, false},
    {EndReason::timeout_park, "timeout_park", 504, false},
    {EndReason::upstream_exited, "upstream_exited", 502, false},
    {EndReason::upstream_unreachable, "upstream_unreachable", 502, true},
    {EndReason::upstream_protocol, "upstream_protocol", 502, false},
    {EndReason::circuit_open, "circuit_open", 503, true},
    {EndReason::queue_full, "queue_full", 503, true},
    {EndReason::rate_limited, "rate_limited", 429, true},
    {EndReason::unauthorized, "unauthorized", 401, true},
    {EndReason::forbidden, "forbidden", 403, false},
    {EndReason::invalid_request, "invalid_request", 400, false},
    {EndReason::internal, "internal", 500, false},
}};

constexpr const EndReasonRow& row(EndReason reason) {
  return kEndReasons[static_cast<size_t>(reason)];
}
// Temporarily at capacity, without a failure: a later retry may succeed.
constexpr bool is_lack_of_room(EndReason reason) {
  return reason == EndReason::queue_full || reason == EndReason::timeout_queue ||
         reason == EndReason::circuit_open;
}
// The client itself is refused, and always receives that as HTTP 401, 403 or 429.
constexpr bool is_refusal_of_client(EndReason reason) {
  return reason == EndReason::unauthorized || reason == EndReason::forbidden ||
         reason == EndReason::rate_limited;
}
constexpr std::string_view name(EndReason reason) {
  return row(reason).name;
}

}  // namespace lineward::mcp
