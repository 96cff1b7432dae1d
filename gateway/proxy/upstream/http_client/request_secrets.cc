#include "proxy/upstream/http_client/request_secrets.h"

#include <algorithm>
#include <vector>

#include "foundation/log/secret_set.h"
#include "protocol/http/header_list.h"

namespace lineward::upstream {
namespace {

// Headers that may be shown. Others are configured or the client's own, and stay hidden.
bool is_public(std::string_view name) {
  for (std::string_view known : {"Accept", "Content-Type", "User-Agent", "Last-Event-ID", "Mcp-Method",
                                 "Mcp-Name", "MCP-Protocol-Version", "traceparent"}) {
    if (http::equals_ignoring_case(name, known)) return true;
  }
  return http::equals_ignoring_case(name.substr(0, 10), "Mcp-Param-");
}

// The values of sent headers that must not be repeated.
class Carried {
 public:
  void add(std::string_view value) { values_.emplace_back(value); }
  // "Bearer KEY": a server may repeat it with its scheme or without.
  void add_header(std::string_view name, std::string_view value) {
    if (is_public(name)) return;
    add(value);
    add(value.substr(value.rfind(' ') + 1));
    if (!http::equals_ignoring_case(name, "Cookie")) return;
    for (std::string_view rest = value; !rest.empty();) {
      const std::string_view pair = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
      add(http::trim_white_space(pair.substr(pair.find('=') + 1)));
    }
  }
  std::string hidden_in(std::string_view text) const {
    constexpr size_t kShortestCarried = 6;  // shorter values occur in ordinary text
    return redaction::SecretSet(values_, kShortestCarried).hide(text, "***");
  }

 private:
  std::vector<std::string> values_;
};

}  // namespace

std::string redacted(std::string_view text, const HttpRequest& request, std::string_view target,
                     std::string_view authorization) {
  Carried carried;
  carried.add_header("Authorization", authorization);
  if (!request.target.empty()) target = request.target;
  const size_t query = target.find('?');
  if (query != std::string_view::npos) carried.add(target.substr(query + 1));
  for (const http::OutHeader& header : request.headers)
    carried.add_header(header.name, header.value);
  if (request.shared_headers != nullptr) {
    for (const http::OutHeader& header : request.shared_headers->all())
      carried.add_header(header.name, header.value);
  }
  for (std::string_view rest = request.lines; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\r'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 2));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    carried.add_header(line.substr(0, colon), http::trim_white_space(line.substr(colon + 1)));
  }
  return carried.hidden_in(text);
}

}  // namespace lineward::upstream
