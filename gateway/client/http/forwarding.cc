#include "client/http/forwarding.h"

#include <functional>

#include "client/http/admission.h"

namespace lineward::client {
namespace {

constexpr std::string_view kParam = "Mcp-Param-";

bool repeats_body(std::string_view name) {
  if (name.empty() || (name.front() != 'M' && name.front() != 'm')) return false;
  return http::equals_ignoring_case(name.substr(0, kParam.size()), kParam) ||
         http::equals_ignoring_case(name, "Mcp-Name");
}

bool named_by_connection(const http::HeaderList& headers, std::string_view name) {
  for (const auto& header : headers.all()) {
    if (http::equals_ignoring_case(header.name, "Connection") && http::list_has_token(header.value, name))
      return true;
  }
  return false;
}

}  // namespace

core::HeaderFields headers_to_forward(const http::HeaderList& headers, const config::ForwardRules& rules,
                                      Mirrored mirrored) {
  core::HeaderFields out;
  for (const auto& header : headers.all()) {
    const bool repeats = mirrored == Mirrored::yes && repeats_body(header.name);
    if (!repeats && (!rules.passes(header.name) || named_by_connection(headers, header.name))) continue;
    // Two credentials: the server could take the one that somebody in between did not check.
    if (!repeats && http::equals_ignoring_case(header.name, "Authorization") &&
        headers.count("Authorization") > 1) {
      continue;
    }
    out.emplace_back(header.name, header.value);
  }
  return out;
}

core::SharedFields with_revision(const http::HeaderList& headers, core::SharedFields fields) {
  const std::string_view revision = legacy_revision_named(headers);
  if (revision.empty()) return fields;
  core::HeaderFields more = fields;
  more.emplace_back("MCP-Protocol-Version", revision);
  return more;
}

size_t credentials_of(const core::HeaderFields& forwarded) {
  std::string text;
  for (const auto& [name, value] : forwarded) {
    const bool trace =
        http::equals_ignoring_case(name, "traceparent") || http::equals_ignoring_case(name, "tracestate");
    if (!trace) text += value + '\n';
  }
  return std::hash<std::string>()(text);
}

}  // namespace lineward::client
