#include "proxy/upstream/http_client/http_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "foundation/log/excerpt.h"
#include "protocol/http/char_class.h"
#include "protocol/http/header_list.h"

namespace lineward::upstream {
namespace {

bool visible(std::string_view text) {
  for (char c : text) {
    if (!http::is_visible(c) || c == '#') return false;
  }
  return true;
}

bool host_char(char c) {
  return http::is_alpha(c) || http::is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

Unexpected<Error> wrong(std::string_view text, std::string_view why) {
  return fail(fmt::format("'{}' is no URL of a server: {}", log::Excerpt(text, 200).string(), why));
}

// RFC 3986 5.2.4.
std::string without_dot_segments(std::string_view path) {
  std::vector<std::string_view> kept;
  bool open = false;  // the path ends in a segment that names a folder
  for (size_t at = 1; at <= path.size();) {
    size_t slash = std::min(path.find('/', at), path.size());
    std::string_view segment = path.substr(at, slash - at);
    open = segment == "." || segment == "..";
    if (segment == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (segment != ".") {
      kept.push_back(segment);
    }
    at = slash + 1;
  }
  std::string out;
  for (std::string_view segment : kept)
    out.append("/").append(segment);
  if (open || out.empty()) out += "/";
  return out;
}

bool has_scheme(std::string_view reference) {
  size_t colon = reference.find(':');
  return colon != std::string_view::npos && colon < reference.find_first_of("/?");
}

}  // namespace

Result<std::string> resolve_target(const HttpUrl& base, std::string_view reference) {
  constexpr size_t kMaxLength = 8 * 1024;
  if (reference.size() > kMaxLength) return fail(fmt::format("it is longer than {} bytes", kMaxLength));
  reference = http::trim_white_space(reference.substr(0, reference.find('#')));
  bool absolute = has_scheme(reference);
  if (absolute || reference.substr(0, 2) == "//") {
    std::string whole =
        absolute ? std::string(reference) : (base.tls ? "https:" : "http:") + std::string(reference);
    auto url = parse_http_url(whole);
    if (!url) return fail("it is no valid URL");
    bool same = url->tls == base.tls && url->port == base.port && url->unix_path == base.unix_path &&
                http::equals_ignoring_case(url->host, base.host);
    if (!same) return fail("it is on another origin");
    return url->target;
  }
  if (!visible(reference)) return fail("it holds characters that must be written as %XX");
  size_t query = std::min(reference.find('?'), reference.size());
  std::string_view path = reference.substr(0, query);
  std::string_view base_path = std::string_view(base.target).substr(0, base.target.find('?'));
  std::string merged(path);
  if (path.empty()) {
    if (reference.empty()) return base.target;
    merged = std::string(base_path);
  } else if (path.front() != '/') {
    merged = std::string(base_path.substr(0, base_path.rfind('/') + 1)) + merged;
  }
  return without_dot_segments(merged) + std::string(reference.substr(query));
}

bool same_origin(std::string_view one, std::string_view other) {
  auto a = parse_http_url(one);
  auto b = parse_http_url(other);
  return a && b && a->tls == b->tls && a->port == b->port && a->unix_path == b->unix_path &&
         http::equals_ignoring_case(a->host, b->host);
}

Result<HttpUrl> parse_http_url(std::string_view text) {
  HttpUrl url;
  std::string_view rest = text;
  size_t colon = rest.find(':');
  std::string_view scheme = rest.substr(0, colon);
  if (colon == std::string_view::npos) return wrong(text, "it starts with http://, https:// or unix:/");
  rest.remove_prefix(colon + 1);
  if (http::equals_ignoring_case(scheme, "unix")) {
    if (rest.substr(0, 2) == "//") rest.remove_prefix(2);
    size_t path = rest.find(":/");
    url.unix_path = std::string(rest.substr(0, path));
    url.target = path == std::string_view::npos ? "/mcp" : std::string(rest.substr(path + 1));
    url.host = url.host_header = "localhost";
    if (url.unix_path.empty() || url.unix_path.front() != '/')
      return wrong(text, "unix: needs an absolute path");
    if (!visible(url.target)) return wrong(text, "its path holds characters that must be written as %XX");
    return url;
  }
  url.tls = http::equals_ignoring_case(scheme, "https");
  if (!url.tls && !http::equals_ignoring_case(scheme, "http")) {
    return wrong(text, "it starts with http://, https:// or unix:/");
  }
  if (rest.substr(0, 2) != "//") return wrong(text, "its scheme is followed by //");
  rest.remove_prefix(2);
  size_t end = rest.find_first_of("/?");
  std::string_view authority = rest.substr(0, end);
  url.target = end == std::string_view::npos ? "/" : std::string(rest.substr(end));
  if (url.target.front() == '?') url.target.insert(0, "/");
  if (!visible(url.target))
    return wrong(text, "its path holds '#', or characters that must be written as %XX");
  if (authority.find('@') != std::string_view::npos) {
    return wrong(text, "it holds a user; put credentials into headers: Authorization");
  }
  std::string_view port;
  bool has_port = false;
  if (!authority.empty() && authority.front() == '[') {
    size_t close = authority.find(']');
    if (close == std::string_view::npos) return wrong(text, "its address has no ']'");
    url.host = std::string(authority.substr(1, close - 1));
    std::string_view behind = authority.substr(close + 1);
    has_port = !behind.empty();
    if (has_port && behind.front() != ':') return wrong(text, "something stands behind its ']'");
    if (has_port) port = behind.substr(1);
    for (char c : url.host) {
      if (http::hex_value(c) < 0 && c != ':' && c != '.') return wrong(text, "its address is not valid");
    }
  } else {
    size_t at = authority.find(':');
    url.host = std::string(authority.substr(0, at));
    has_port = at != std::string_view::npos;
    if (has_port) port = authority.substr(at + 1);
    for (char c : url.host) {
      if (!host_char(c)) return wrong(text, "its host name is not valid");
    }
  }
  if (url.host.empty() || url.host.size() > 255) return wrong(text, "it names no host");
  url.port = url.tls ? 443 : 80;
  if (has_port) {
    unsigned number = 0;
    auto [at, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc() || at != port.data() + port.size() || number == 0 || number > 65535) {
      return wrong(text, "its port is no number from 1 to 65535");
    }
    url.port = static_cast<uint16_t>(number);
  }
  bool usual = url.port == (url.tls ? 443 : 80);
  std::string host = url.host.find(':') != std::string::npos ? "[" + url.host + "]" : url.host;
  url.host_header = usual ? host : fmt::format("{}:{}", host, url.port);
  return url;
}

}  // namespace lineward::upstream
