// The strict reader of a recording origin: one HTTP/1.1 request at a time, and nothing that two readers could
// take differently. Written from RFC 9110 and 9112 alone; shares no code with the gateway. Pure.
#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lineward::wire {

struct StrictRequest {
  std::string method, path, body;
  std::map<std::string, std::string> headers;  // names in lower case; repeated ones joined by ", "

  std::string header(const std::string& name) const;  // empty when absent
};

struct UncleanRequest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Takes one complete request from the front of `in`; nothing while more bytes are needed. Throws
// UncleanRequest, with a sentence, as soon as it is sure.
std::optional<StrictRequest> take_request(std::string& in);

}  // namespace lineward::wire
