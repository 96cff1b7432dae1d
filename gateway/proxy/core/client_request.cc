#include "proxy/core/client_request.h"

#include <charconv>
#include <utility>

namespace lineward::core {
namespace {

using mcp::Field;
using std::chrono::milliseconds;

std::optional<milliseconds> wish_in_meta(const mcp::Message& message) {
  std::string_view raw = message.raw(Field::meta_timeout_ms);
  int64_t value = 0;
  auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  if (raw.empty() || error != std::errc() || end != raw.data() + raw.size() || value <= 0)
    return std::nullopt;
  return milliseconds(value);
}

}  // namespace

std::string target_of(const mcp::Message& message) {
  if (message.is_string(Field::params_name)) return message.text(Field::params_name);
  if (message.is_string(Field::params_uri)) return message.text(Field::params_uri);
  return {};
}

ClientRequestPtr admitted(std::shared_ptr<ClientRequest> out, const mcp::Message& message,
                          std::string call_id) {
  out->call_id = std::move(call_id);
  out->raw_id = message.raw(Field::id);
  out->raw_token = message.raw(Field::meta_progress_token);
  out->method_name = message.method();
  out->target = target_of(message);
  if (auto wish = wish_in_meta(message)) out->wait = wish;
  if (mcp::may_ask(out->method)) out->capabilities = message.raw(Field::meta_client_capabilities);
  return out;
}

size_t bytes_of(const ClientRequest& request) {
  size_t sum = request.raw_id.size() + request.raw_token.size() + request.method_name.size() +
               request.target.size() + request.capabilities.size();
  for (const auto& [name, value] : request.seen)
    sum += name.size() + value.size();
  return sum;
}

}  // namespace lineward::core
