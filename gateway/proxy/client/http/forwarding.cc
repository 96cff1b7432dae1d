#include "proxy/client/http/forwarding.h"

#include <functional>
#include <utility>

#include "proxy/client/http/admission.h"
#include "proxy/client/http/cookies.h"

namespace lineward::client {

core::HeaderFields headers_to_forward(const http::HeaderList& headers, const config::ForwardRules& rules,
                                      Mirrored mirrored) {
  core::HeaderFields out;
  for (const auto& header : headers.all()) {
    if (header.name.empty() || header.name.front() == config::kIdentityMark) continue;
    const bool repeats = mirrored == Mirrored::yes && core::repeats_message(header.name);
    if (!repeats && (!rules.passes(header.name) || http::named_by_connection(headers, header.name))) continue;
    // With two Authorization fields, the server could use the one that a proxy in between did not check.
    if (!repeats && http::equals_ignoring_case(header.name, "Authorization") &&
        headers.count("Authorization") > 1) {
      continue;
    }
    if (http::equals_ignoring_case(header.name, "Cookie")) {
      if (std::string cookies = without_state_cookie(header.value); !cookies.empty())
        out.emplace_back(header.name, std::move(cookies));
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

size_t authorization_of(const core::HeaderFields& forwarded) {
  for (const auto& [name, value] : forwarded) {
    if (http::equals_ignoring_case(name, "Authorization")) return std::hash<std::string>()(value) | 1;
  }
  return 0;
}

}  // namespace lineward::client
