#include "protocol/http/stream_request.h"

#include <algorithm>
#include <cstddef>

#include "protocol/http/stream_fields.h"

namespace lineward::http {

std::optional<StreamRequest> stream_request(std::string& head) {
  StreamRequest out;
  const std::string_view text = head;
  size_t at = text.find("\r\n");
  const std::string_view first = text.substr(0, at);
  const size_t method_end = first.find(' '), path_end = first.rfind(' ');
  if (at == std::string_view::npos || method_end == path_end || first.substr(path_end) != " HTTP/1.1")
    return std::nullopt;
  out.method = first.substr(0, method_end);
  out.path = first.substr(method_end + 1, path_end - method_end - 1);
  out.fields.reserve(static_cast<size_t>(std::count(head.begin(), head.end(), '\n')));
  for (;;) {
    at += 2;
    const size_t end = text.find("\r\n", at);
    if (end == std::string_view::npos) return std::nullopt;
    if (end == at) return out;
    const size_t colon = text.find(": ", at);
    if (colon == std::string_view::npos || colon > end) return std::nullopt;
    for (size_t i = at; i < colon; ++i) {
      if (head[i] >= 'A' && head[i] <= 'Z') head[i] = static_cast<char>(head[i] + ('a' - 'A'));
    }
    const std::string_view name = text.substr(at, colon - at);
    const std::string_view value = text.substr(colon + 2, end - colon - 2);
    at = end;
    if (name == "host") {
      out.authority = value;
    } else if (!is_of_connections(name) && (name != "te" || value == "trailers")) {
      out.fields.emplace_back(name, value);
    }
  }
}

}  // namespace lineward::http
