// Takes the head of a request apart that this program wrote as HTTP/1.1, for an HTTP/2 stream. Its input is
// never a peer's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lineward::http {

struct StreamRequest {
  std::string_view method, path, authority;
  // Names in lower case; none of a connection's.
  std::vector<std::pair<std::string_view, std::string_view>> fields;
};

// `head`: with its empty line. The names in it are changed, and the result refers to it. Nullopt: it is no
// head.
std::optional<StreamRequest> stream_request(std::string& head);

}  // namespace lineward::http
