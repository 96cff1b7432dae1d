#include "protocol/mcp/errors.h"

#include <fmt/format.h>

#include <charconv>

#include "foundation/json/json_member.h"

namespace lineward::mcp {

std::string error_message(std::string_view raw_id, int code, std::string_view text, std::string_view data) {
  std::string out = R"({"jsonrpc":"2.0")";
  if (!raw_id.empty()) out += fmt::format(R"(,"id":{})", raw_id);
  out += fmt::format(R"(,"error":{{"code":{},"message":{})", code, json::quote(text));
  if (!data.empty()) out += fmt::format(R"(,"data":{})", data);
  out += "}}";
  return out;
}

std::string gateway_data(const GatewayError& error) {
  const EndReasonRow& r = row(error.reason);
  std::string data = fmt::format(R"({{"io.lineward/gateway":{{"reason":"{}")", r.name);
  if (!error.upstream.empty()) data += fmt::format(R"(,"upstream":{})", json::quote(error.upstream));
  if (!error.route.empty()) data += fmt::format(R"(,"route":{})", json::quote(error.route));
  if (!error.call_id.empty()) data += fmt::format(R"(,"callId":{})", json::quote(error.call_id));
  if (error.limit_ms >= 0) data += fmt::format(R"(,"limitMs":{})", error.limit_ms);
  if (error.elapsed_ms >= 0) data += fmt::format(R"(,"elapsedMs":{})", error.elapsed_ms);
  if (error.retry_after_ms >= 0) data += fmt::format(R"(,"retryAfterMs":{})", error.retry_after_ms);
  data +=
      fmt::format(R"(,"retryable":{},"page":"docs/reasons/{}.md"}}}})", r.retryable && !error.sent, r.name);
  return data;
}

std::string gateway_error(std::string_view raw_id, const GatewayError& error) {
  return error_message(raw_id, row(error.reason).code, error.text, gateway_data(error));
}

std::string unsupported_version(std::string_view raw_id, std::string_view requested,
                                const std::vector<std::string>& supported) {
  std::string list;
  for (const auto& version : supported) {
    if (!list.empty()) list += ',';
    list += json::quote(version);
  }
  return error_message(raw_id, kUnsupportedVersion, "Unsupported protocol version",
                       fmt::format(R"({{"supported":[{}],"requested":{}}})", list, json::quote(requested)));
}

int error_code(const Message& error) {
  std::string_view raw = error.raw(Field::error_code);
  int code = 0;
  auto [end, fault] = std::from_chars(raw.data(), raw.data() + raw.size(), code);
  return fault == std::errc() && end == raw.data() + raw.size() ? code : 0;
}

std::optional<EndReason> named_reason(const Message& error) {
  const auto said = json::member(error.raw(Field::error_data), "io.lineward/gateway");
  if (!said) return std::nullopt;
  const EndReasonRow* known = end_reason(json::string_value(json::member(*said, "reason")));
  return known != nullptr && known->code != 0 ? std::optional(known->reason) : std::nullopt;
}

std::optional<EndReason> gateway_reason(const Message& error) {
  const auto reason = named_reason(error);
  return reason && (has(*reason, kServerDown) || has(*reason, kLackOfRoom)) ? reason : std::nullopt;
}

int response_status(Era client_era, const Message& response) {
  if (response.kind() != MessageKind::error || client_era == Era::legacy) return 200;
  switch (error_code(response)) {
    case kMethodNotFound: return 404;
    case kHeaderMismatch:
    case kMissingClientCapability:
    case kUnsupportedVersion: return 400;
    default: return 200;
  }
}

}  // namespace lineward::mcp
