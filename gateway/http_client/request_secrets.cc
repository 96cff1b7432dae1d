#include "http_client/request_secrets.h"

#include <algorithm>

#include "http/header_list.h"

namespace lineward::upstream {
namespace {

// What everybody may know of a request. Other headers are configured or the client's own: nothing of either
// is shown.
bool is_public(std::string_view name) {
  for (std::string_view known : {"Accept", "Content-Type", "User-Agent", "Last-Event-ID", "Mcp-Method",
                                 "Mcp-Name", "MCP-Protocol-Version", "traceparent"}) {
    if (http::equals_ignoring_case(name, known)) return true;
  }
  return http::equals_ignoring_case(name.substr(0, 10), "Mcp-Param-");
}

void black_out(std::string& text, std::string_view secret) {
  constexpr size_t kShortestSecret = 6;  // shorter ones are words that mean something else
  if (secret.size() < kShortestSecret) return;
  for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 3))
    text.replace(at, secret.size(), "***");
}

// "Bearer KEY": a server may say it with its scheme or without.
void black_out_header(std::string& text, std::string_view name, std::string_view value) {
  if (is_public(name)) return;
  black_out(text, value);
  black_out(text, value.substr(value.rfind(' ') + 1));
}

}  // namespace

std::string without_secrets(std::string text, const HttpRequest& request, std::string_view target,
                            std::string_view authorization) {
  black_out_header(text, "Authorization", authorization);
  if (!request.target.empty()) target = request.target;
  const size_t query = target.find('?');
  if (query != std::string_view::npos) black_out(text, target.substr(query + 1));
  for (const http::OutHeader& header : request.headers)
    black_out_header(text, header.name, header.value);
  if (request.shared_headers != nullptr) {
    for (const http::OutHeader& header : request.shared_headers->all())
      black_out_header(text, header.name, header.value);
  }
  for (std::string_view rest = request.lines; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\r'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 2));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    black_out_header(text, line.substr(0, colon), http::trim_white_space(line.substr(colon + 1)));
  }
  return text;
}

}  // namespace lineward::upstream
