#include "protocol/http/head_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "protocol/http/char_class.h"
#include "protocol/http/header_list.h"

namespace lineward::http {

namespace {

constexpr size_t kMaxHostBytes = 255;
constexpr size_t kMaxIpv6Bytes = 45;

Unexpected<Error> refuse(int status, std::string text) {
  return {Error{.text = std::move(text), .code = status}};
}

bool is_valid_port(std::string_view port) {
  if (port.empty() || port.size() > 5 || !std::all_of(port.begin(), port.end(), is_digit)) return false;
  unsigned number = 0;
  for (char c : port)
    number = number * 10 + static_cast<unsigned>(c - '0');
  return number >= 1 && number <= 65535;
}

bool is_ipv6_char(char c) {
  return hex_value(c) >= 0 || c == ':' || c == '.';
}
bool is_host_name_char(char c) {
  return is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

// Narrower than the RFC's reg-name, which allows commas, quotes and percent codes: no real host has them, and
// each could be parsed as another host.
bool is_valid_host(std::string_view host) {
  if (host.empty() || host.size() > kMaxHostBytes + 6) return false;
  size_t name_end = 0;
  if (host.front() == '[') {
    size_t close = host.find(']');
    if (close == std::string_view::npos) return false;
    std::string_view address = host.substr(1, close - 1);
    if (address.size() > kMaxIpv6Bytes || std::count(address.begin(), address.end(), ':') < 2) return false;
    if (!std::all_of(address.begin(), address.end(), is_ipv6_char)) return false;
    name_end = close + 1;
  } else {
    name_end = std::min(host.find(':'), host.size());
    std::string_view name = host.substr(0, name_end);
    if (name.empty() || name.size() > kMaxHostBytes) return false;
    if (!std::all_of(name.begin(), name.end(), is_host_name_char)) return false;
  }
  if (name_end == host.size()) return true;
  return host[name_end] == ':' && is_valid_port(host.substr(name_end + 1));
}

Status<> check_version(std::string_view version) {
  if (version == "HTTP/1.1" || version == "HTTP/1.0") return Done{};
  bool well_formed = version.size() == 8 && version.substr(0, 5) == "HTTP/" && is_digit(version[5]) &&
                     version[6] == '.' && is_digit(version[7]);
  if (well_formed) return refuse(505, "Only HTTP/1.1 and HTTP/1.0 are served here.");
  return refuse(400, "The request line must end with the version HTTP/1.1 or HTTP/1.0 and nothing else.");
}

Status<> check_target(std::string_view target) {
  if (target.empty()) return refuse(400, "The request line must have exactly one space between its parts.");
  if (!split_target(target)) {
    return refuse(
        400,
        "The request target must be a path that starts with '/', or a URL of http with a host and a path.");
  }
  for (char c : target) {
    if (c == '#') return refuse(400, "The request target must not have a fragment.");
    if (!is_visible(c)) return refuse(400, "The request target may hold visible ASCII characters only.");
  }
  return Done{};
}

Status<> check_content_length(std::string_view value) {
  if (value.empty() || !std::all_of(value.begin(), value.end(), is_digit)) {
    return refuse(400, "Content-Length must be one plain decimal number.");
  }
  if (value.size() > kMaxLengthDigits) {
    return refuse(400, fmt::format("Content-Length must not have more than {} digits.", kMaxLengthDigits));
  }
  return Done{};
}

// Only `chunked` is supported. Other well-formed codings are unknown (501); a list in which chunked is not
// the single last element has no defined end of body (400).
Status<> check_transfer_encoding(std::string_view value) {
  if (equals_ignoring_case(value, "chunked")) return Done{};
  std::string_view rest = value;
  bool chunked_before = false;
  for (bool more = true; more;) {
    size_t comma = rest.find(',');
    std::string_view coding = trim_white_space(rest.substr(0, comma));
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
    if (chunked_before || !is_token(coding))
      return refuse(400, "Transfer-Encoding must be exactly 'chunked'.");
    chunked_before = equals_ignoring_case(coding, "chunked");
  }
  return refuse(501, "No transfer coding but 'chunked' is known here.");
}

struct FieldCounts {
  size_t all = 0;
  size_t host = 0;
  size_t content_length = 0;
  size_t transfer_encoding = 0;
};

Status<> check_field(std::string_view name, std::string_view value, FieldCounts& counts) {
  // A switch on the length keeps the usual field at a single comparison.
  switch (name.size()) {
    case 4:
      if (!equals_ignoring_case(name, "Host")) break;
      if (++counts.host > 1) return refuse(400, "Host must be there only once.");
      if (!is_valid_host(value))
        return refuse(400, "Host must be a host name or address with an optional port.");
      break;
    case 6:
      if (!equals_ignoring_case(name, "Expect")) break;
      if (!equals_ignoring_case(value, "100-continue")) {
        return refuse(417, "No expectation but '100-continue' can be met.");
      }
      break;
    case 14:
      if (!equals_ignoring_case(name, "Content-Length")) break;
      if (++counts.content_length > 1) return refuse(400, "Content-Length must be there only once.");
      return check_content_length(value);
    case 17:
      if (!equals_ignoring_case(name, "Transfer-Encoding")) break;
      if (++counts.transfer_encoding > 1) return refuse(400, "Transfer-Encoding must be there only once.");
      break;
    default: break;
  }
  return Done{};
}

Status<> check_field_line(std::string_view line, FieldCounts& counts, std::string_view& transfer_encoding) {
  if (line.front() == ' ' || line.front() == '\t')
    return refuse(400, "Folded header fields are not accepted.");
  size_t colon = line.find(':');
  if (colon == std::string_view::npos) return refuse(400, "Every header line must have a name and a colon.");
  std::string_view name = line.substr(0, colon);
  if (!is_token(name)) {
    return refuse(400, "A header name must be a token, with no white space between it and the colon.");
  }
  std::string_view value = trim_white_space(line.substr(colon + 1));
  const char* end = value.data() + value.size();
  for (const char* at = find_control(value.data(), end); at != end; at = find_control(at + 1, end)) {
    if (*at != '\t') return refuse(400, "A header value must not hold control characters.");
  }
  Status<> checked = check_field(name, value, counts);
  if (equals_ignoring_case(name, "Transfer-Encoding")) transfer_encoding = value;
  return checked;
}

}  // namespace

// A URL without a path means "/" (RFC 9112 3.2.1), which a view before a query cannot represent.
std::optional<Target> split_target(std::string_view target) {
  if (target.substr(0, 1) == "/") return Target{{}, target};
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!equals_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const size_t end = std::min(target.find('/'), target.size());
    const std::string_view authority = target.substr(0, end);
    if (!is_valid_host(authority)) return std::nullopt;
    return Target{authority, end == target.size() ? "/" : target.substr(end)};
  }
  return std::nullopt;
}

// The version is checked before the target, so that an HTTP/2 preface gets the right error.
Status<> check_request_line(std::string_view line, const RequestLimits& limits) {
  size_t method_end = std::min(line.find(' '), line.size());
  std::string_view method = line.substr(0, std::min(method_end, kMaxMethodBytes + 1));
  if (!is_token(method)) return refuse(400, "A request must start with a method name.");
  if (method.size() > kMaxMethodBytes) return refuse(501, "The method is not known here.");
  if (method_end == line.size())
    return refuse(400, "The request line must have a method, a target and a version.");

  std::string_view rest = line.substr(method_end + 1);
  size_t target_end = rest.find(' ');
  std::string_view target = rest.substr(0, target_end);
  if (target.size() > limits.target_bytes) {
    return refuse(414,
                  fmt::format("The request target must not have more than {} bytes.", limits.target_bytes));
  }
  if (target_end == std::string_view::npos) {
    return refuse(400, "The request line must have a method, a target and a version.");
  }
  Status<> version = check_version(rest.substr(target_end + 1));
  return version ? check_target(target) : version;
}

Status<> check_request_head(std::string_view block, const RequestLimits& limits) {
  if (block.size() > limits.head_bytes) {
    return refuse(431, fmt::format("The request head must not have more than {} bytes.", limits.head_bytes));
  }
  FieldCounts counts;
  std::string_view transfer_encoding;
  bool is_http_1_0 = false;
  std::string_view rest = block;
  for (bool first = true;; first = false) {
    size_t line_feed = rest.find('\n');
    if (line_feed == std::string_view::npos)
      return refuse(400, "The request head must end with an empty line.");
    if (line_feed == 0 || rest[line_feed - 1] != '\r')
      return refuse(400, "Every line must end with CR and LF.");
    std::string_view line = rest.substr(0, line_feed - 1);
    rest.remove_prefix(line_feed + 1);
    if (first) {
      Status<> checked = check_request_line(line, limits);
      if (!checked) return checked;
      is_http_1_0 = line.back() == '0';
      continue;
    }
    if (line.empty()) break;
    if (++counts.all > limits.fields) {
      return refuse(431, fmt::format("A request must not have more than {} header fields.", limits.fields));
    }
    Status<> checked = check_field_line(line, counts, transfer_encoding);
    if (!checked) return checked;
  }
  if (!rest.empty()) return refuse(400, "The request head must end with its empty line.");

  if (counts.host == 0 && !is_http_1_0) return refuse(400, "An HTTP/1.1 request must have a Host header.");
  if (counts.transfer_encoding == 0) return Done{};
  if (counts.content_length > 0) {
    return refuse(400, "Transfer-Encoding and Content-Length must not come together.");
  }
  if (is_http_1_0) return refuse(400, "Transfer-Encoding must not come in an HTTP/1.0 request.");
  return check_transfer_encoding(transfer_encoding);
}

}  // namespace lineward::http
